"""4D-Var of small twin experiments: the cost and its derivatives, observation impacts, stops, and settings."""

import json
import math
import signal
from functools import partial

import jax
import netCDF4
import numpy as np
import pytest
from support.small_twin import letkf_config, smallest_twin, twin_config, winds_twin

from swmodel import Case, ConfigError, Simulation, load, resolve
from swmodel.assimilation import assimilate, checkpoint, experiment, settings
from swmodel.assimilation.cost import CostFunction
from swmodel.assimilation.experiment import make_problem, prepare_experiment
from swmodel.assimilation.gauss_newton import Limits, MinimiserState, minimise
from swmodel.assimilation.impact import observation_impact
from swmodel.errors import Stopped, UsageError
from swmodel.gradients import Problem
from swmodel.gradients.corrections import extend_corrections
from swmodel.gradients.quantities import parse_quantity

pytestmark = pytest.mark.slow

IMPACT_OPTIONS = {"run.steps": 10, "assimilation.impact": "eta:3.1e5,5.2e5", "assimilation.impact_days": 0.5}
EXACT_LIMITS = Limits(gradient_ratio=1e-9, max_outer=3, max_inner=200, residual_ratio=1e-8)


def ignore_event(*_):
    """Do nothing, in place of report, tick or watch."""


@pytest.fixture(scope="module")
def prepared_experiment(tmp_path_factory):
    """(experiment, folder) of a twin that estimates corrections of the wind and observation impacts on a forecast."""
    folder = tmp_path_factory.mktemp("twin")
    return prepare_experiment(winds_twin(**IMPACT_OPTIONS), folder, None), folder


@pytest.fixture(scope="module")
def cost_function(prepared_experiment):
    return CostFunction(prepared_experiment[0])


def test_gradient_of_the_cost_is_exact_and_its_hessian_is_symmetric(cost_function):
    """The Taylor slope is 2. The Hessian minus the identity is positive along a random direction."""
    w, d, e = (cost_function.background.noise(3, n) for n in range(3))
    cost, gradient = cost_function.cost_and_gradient(w)
    derivative, remainders = cost_function.dot(gradient, d), []
    for s in (1e-2, 1e-3):
        shifted, _ = cost_function.cost_and_gradient(jax.tree.map(lambda w, d, s=s: w + s * d, w, d))
        remainders.append(abs(shifted.total - cost.total - s * derivative))
    assert abs(math.log10(remainders[0] / remainders[1]) - 2) < 0.02
    hd, he = cost_function.hessian(w, d), cost_function.hessian(w, e)
    assert abs(cost_function.dot(e, hd) - cost_function.dot(d, he)) <= 1e-12 * abs(cost_function.dot(d, hd))
    assert cost_function.dot(d, hd) > cost_function.dot(d, d)


def test_continued_minimisation_has_the_same_bits(cost_function, prepared_experiment, tmp_path):
    """More outer iterations are accepted; other errors, other observations or another truth are refused."""
    transport, saved_iterations = cost_function.problem.transport, []

    def run(start, max_outer, report=ignore_event):
        limits = Limits(max_outer=max_outer, max_inner=3)
        functions = cost_function.cost_and_gradient, cost_function.hessian, cost_function.dot
        return minimise(*functions, start, limits, report=report)

    def save(event):
        if event.inner_iterations and event.step_fraction > 0:
            fields, metadata = assimilate.to_checkpoint(event.state, [{"cost": 1.0}])
            checkpoint.save(tmp_path, fields, metadata, winds_twin(), cost_function.observations, transport)
            saved_iterations.append(event.iteration)

    uninterrupted = run(MinimiserState(cost_function.zero_vector()), 2)
    run(MinimiserState(cost_function.zero_vector()), 1, save)
    longer_run, other_sigma = winds_twin(**{"assimilation.outer": 7}), winds_twin(**{"assimilation.sigma_eta": 3.0})
    fields, metadata = checkpoint.load(tmp_path, longer_run, cost_function.observations, transport)
    start, history = assimilate.from_checkpoint(fields, metadata)
    assert (saved_iterations, history) == ([1], [{"cost": 1.0}])
    jax.tree.map(np.testing.assert_array_equal, run(start, 2).state.w, uninterrupted.state.w)
    with pytest.raises(UsageError, match=r"assimilation.sigma_eta"):
        checkpoint.load(tmp_path, other_sigma, cost_function.observations, transport)
    with pytest.raises(UsageError, match="observations differ"):
        checkpoint.load(tmp_path, winds_twin(), cost_function.observations.select(slice(5)), transport)
    with pytest.raises(UsageError, match=r"(?s)twin.h5 .*case.lead"):
        prepare_experiment(winds_twin(**{"case.lead": 2.0}), prepared_experiment[1], None)


def test_continued_twin_makes_two_problems_with_the_memory_limit(prepared_experiment, monkeypatch):
    """One is that of the first guess, one that of the truth; the folder already contains states and observations."""
    memory_limits = []

    def record_problem(config, controls, observe, every, memory):
        memory_limits.append(memory)
        return Problem(config, controls, observe, every, memory)

    monkeypatch.setattr(experiment, "Problem", record_problem)
    _, folder = prepared_experiment
    prepare_experiment(winds_twin(**IMPACT_OPTIONS), folder, 10**9, derivatives=False)
    assert memory_limits == [10**9] * 2


def test_truth_and_first_guess_are_states_of_the_same_run(monkeypatch):
    """This also holds if the run is computed in pieces, between which a function is called."""

    def config(**overrides):
        return smallest_twin(**{"run.executor": "reference"} | overrides)

    def assert_states_at(twin_states, *steps):
        simulation = Simulation(config())
        for step, state in zip(steps, (twin_states.guess, twin_states.truth), strict=True):
            simulation.advance(step - simulation.step)
            np.testing.assert_equal(state, simulation.state)

    assert_states_at(experiment.spin_up(config()), 18, 24)
    assert_states_at(experiment.spin_up(config(**{"case.lead": 50.0})), 0, 24)
    monkeypatch.setattr(experiment, "steps_per_piece", lambda config: 5)
    ticks = []
    assert_states_at(experiment.spin_up(config(), lambda: ticks.append(1)), 18, 24)
    assert len(ticks) == 4 + 2


def find_minimum(cost, hessian, start, limits=EXACT_LIMITS):
    return minimise(cost.cost_and_gradient, hessian, cost.dot, MinimiserState(start), limits).state.w


def flatten(w):
    return np.concatenate([np.ravel(w[name]) for name in sorted(w)])


def last_value(series):
    return series[-1]


@pytest.mark.promise("observation impacts equal those of the gain matrix")
def test_impact_equals_that_of_the_gain_matrix_and_of_finite_differences(cost_function, prepared_experiment):
    """The gain comes from dense matrices, the differences from changing one observation. Impacts sum to the change."""
    inputs, _ = prepared_experiment
    problem, observations, config = inputs.problem, inputs.observations, inputs.problem.config
    w = find_minimum(cost_function, cost_function.hessian, cost_function.zero_vector())
    result = observation_impact(inputs, cost_function, w, cost_function.hessian, ignore_event, residual_ratio=1e-11)
    x = cost_function.controls_at(w)

    # The run that ends half a day after the window and observes the quantity, as a function of its controls.
    forecast_config = config.model_copy(update={"run": config.run.model_copy(update={"steps": config.run.steps + 6})})
    forecast, observer = make_problem(forecast_config, problem.names, forecast_config.run.steps, ignore_event)
    observer.operator = parse_quantity(IMPACT_OPTIONS["assimilation.impact"], config)

    (_, pull_back), identity = jax.vjp(inputs.operator.collect, problem.series(x)), np.eye(observations.size)
    columns = (cost_function.background_transpose(problem.adjoint(x, pull_back(unit)[0])) for unit in identity)
    rows = np.stack([*map(flatten, columns)])  # H M L, as in swmodel/assimilation/impact.py
    departure_covariance = rows @ rows.T + np.diag(observations.error**2)
    controls_by_run = (extend_corrections(controls, forecast.domain.setup) for controls in (inputs.first_guess, x))
    gradients = [forecast.value_and_gradient(controls, last_value)[1] for controls in controls_by_run]
    # The corrections after the window belong to the forecast only.
    mean_gradient = {name: 0.5 * (gradients[0][name] + gradients[1][name])[: len(x[name])] for name in x}
    expected = np.linalg.solve(departure_covariance, rows @ flatten(cost_function.background_transpose(mean_gradient)))
    np.testing.assert_allclose(result.sensitivity, expected, rtol=0, atol=1e-8 * np.abs(expected).max())

    index, values = int(np.argmax(np.abs(result.sensitivity))), []
    for sign in (1, -1):
        value = observations.value.copy()
        value[index] += sign * observations.error[index]
        cost = CostFunction(inputs._replace(observations=observations._replace(value=value)))
        controls = cost.controls_at(find_minimum(cost, cost_function.hessian, w, EXACT_LIMITS._replace(max_outer=1)))
        values.append(float(forecast.value(extend_corrections(controls, forecast.domain.setup), last_value)))
    quotient = (values[0] - values[1]) / (2 * observations.error[index])
    np.testing.assert_allclose(quotient, result.sensitivity[index], rtol=1e-5)
    np.testing.assert_allclose(result.impact.sum(), result.linear_change, rtol=1e-6)
    np.testing.assert_allclose(result.linear_change, result.analysis - result.background, rtol=1e-4)


@pytest.mark.night
def test_stopped_assimilation_continues_and_leaves_its_files(tmp_path):
    """A signal stops it after one outer iteration. The impacts of stations on a quadratic quantity add up."""
    options = {"run.steps": 20, "assimilation.impact": "energy", "assimilation.outer": 2, "case.forecast": 0.0}
    config = winds_twin(**IMPACT_OPTIONS | options)

    def interrupt(event):
        if event["step"] == 1 and event["words"].startswith("J"):
            signal.raise_signal(signal.SIGTERM)

    with pytest.raises(Stopped):
        assimilate.compute(config, tmp_path, {}, interrupt, "", ignore_event)
    assimilate.compute(config, tmp_path, {"resume": True}, ignore_event, "", ignore_event)
    results = json.loads((tmp_path / "assimilation.json").read_text(), parse_constant=pytest.fail)
    stations, impact = results["stations"], results["impact"]
    assert [row["iteration"] for row in results["iterations"]] == [0, 1, 2]
    np.testing.assert_allclose(impact["linear"], impact["analysis"] - impact["background"], rtol=1e-4)
    np.testing.assert_allclose(sum(row["impact"] for row in stations), impact["sum"], rtol=1e-12)
    with netCDF4.Dataset(tmp_path / "analysis.nc") as file:
        assert sum(row["observations"] for row in stations) == file["observation_impact"].size
        np.testing.assert_allclose(file["observation_impact"][:].sum(), impact["sum"], rtol=1e-12)
        assert file["wind_x_correction_analysis"].dimensions == ("time", "y_c", "x_c")
        np.testing.assert_allclose(file["time"][:], [0, 50e3, 100e3, 150e3])


def resolved_config(case, **options):
    """The resolved configuration of a case, with an executor that needs no C++ compiler."""
    return resolve(load(case, {"run.executor": "xla"} | options, environ={}))


class TwinWithoutErrors(Case):
    """A twin experiment without options for the observation errors of its stations."""

    def prior_config(self, config):
        return config


#: (function that makes a configuration, options for it, pattern that the message must contain).
WRONG_SETTINGS = [
    (partial(resolved_config, "jet"), {"assimilation.controls": ["eta"]}, "assimilation.observations"),
    (partial(resolved_config, TwinWithoutErrors), {"time.dt": 60.0, "run.steps": 4}, "case: .* eta_error and seed"),
    (twin_config, {"assimilation.sigma_velocity": 0.0}, "assimilation.sigma_velocity: .* u and v"),
    (twin_config, {"assimilation.length": 0.0}, "assimilation.length"),
    (twin_config, {"assimilation.controls": ("eta", "eta")}, "assimilation.controls"),
    (twin_config, {"assimilation.controls": ()}, "assimilation.controls"),
    (twin_config, {"assimilation.controls": ("eta",)}, "assimilation.balanced: .*eta, u and v"),
    (twin_config, {"assimilation.observations": "/none.nc"}, "/none.nc"),
    (twin_config, {"assimilation.every_steps": 7}, "assimilation.every_steps: 7 .*30"),
    (twin_config, {"case.moorings": 0, "case.repeat": 1e6}, "case: no observation"),
    (twin_config, {"run.executor": "reference"}, "executor reference"),
    (twin_config, {"run.devices": 2}, "run.devices"),
    (winds_twin, {"assimilation.correction_every": "1 min"}, "assimilation.correction_every"),
    (winds_twin, {"assimilation.correction_every": "3 days"}, "assimilation.correction_every"),
    (winds_twin, {"assimilation.sigma_wind_correction": 0.0}, "wind_x_correction and wind_y_correction"),
    (winds_twin, {"assimilation.correction_length": 0.0, "assimilation.length": 0.0}, "eta, u, v, wind_x_correction"),
    (winds_twin, {"assimilation.impact": "speed"}, "^assimilation.impact speed"),
    (winds_twin, {"assimilation.impact": "eta:-1e9,0"}, "^assimilation.impact eta:-1e9,0"),
    (letkf_config, {"assimilation.cycle_steps": 7}, "assimilation.cycle_steps: 7 "),
    (letkf_config, {"assimilation.cycle_steps": 5}, "assimilation.cycle_steps: 5 .*every_steps"),
    (letkf_config, {"assimilation.localisation": 0.0}, "assimilation.localisation"),
    (letkf_config, {"assimilation.controls": ("eta", "gravity"), "assimilation.balanced": False}, "ls: .*gravity"),
    (letkf_config, {"assimilation.inflation": 0.9}, "assimilation.inflation"),
    (letkf_config, {"ensemble.members": 1}, "ensemble.members"),
    (letkf_config, {"ensemble.initial_eta": 1.0, "ensemble.initial_eta_length": 3e5}, "ensemble.initial_eta"),
    (letkf_config, {"ensemble.viscosity": 30.0}, "ensemble.viscosity"),
]


@pytest.mark.parametrize(("make_config", "options", "pattern"), WRONG_SETTINGS)
def test_message_names_the_wrong_assimilation_setting(make_config, options, pattern):
    with pytest.raises((ConfigError, UsageError), match=f"(?sm){pattern}"):
        settings.check_assimilation(make_config(**options))


@pytest.mark.parametrize("case", ["jet", "double_gyre", "seamount"])
def test_default_assimilation_settings_are_valid(case):
    config = resolved_config(case)
    values = settings.template_values(config) | {"controls": ("eta",), "observations": "there.nc"}
    options = config.assimilation.model_copy(update=values)
    assert list(settings.problems(config.model_copy(update={"assimilation": options}))) == []
