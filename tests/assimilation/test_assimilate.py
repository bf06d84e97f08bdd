"""4D-Var of small twins: cost and derivatives, impacts, which must be those of the gain, stops, and settings."""

import json
import math
import signal
from functools import partial

import jax
import netCDF4
import numpy as np
import pytest
from support.small_twin import letkf_config, smallest_twin, twin_config, weather_twin

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
    """An experiment with corrections of the wind and the impact on a forecast, and its folder."""
    folder = tmp_path_factory.mktemp("twin")
    return prepare_experiment(weather_twin(**IMPACT_OPTIONS), folder, None), folder


@pytest.fixture(scope="module")
def cost_function(prepared_experiment):
    return CostFunction(prepared_experiment[0])


def test_cost_has_its_gradient_and_symmetric_hessian(cost_function):
    """The Taylor slope is 2; the Hessian is larger than the identity."""
    w, d, e = (cost_function.background.noise(3, n) for n in range(3))
    cost, gradient = cost_function.cost_and_gradient(w)
    slope, remainders = cost_function.dot(gradient, d), []
    for s in (1e-2, 1e-3):
        moved, _ = cost_function.cost_and_gradient(jax.tree.map(lambda w, d, s=s: w + s * d, w, d))
        remainders.append(abs(moved.total - cost.total - s * slope))
    assert abs(math.log10(remainders[0] / remainders[1]) - 2) < 0.02
    hd, he = cost_function.hessian(w, d), cost_function.hessian(w, e)
    assert abs(cost_function.dot(e, hd) - cost_function.dot(d, he)) <= 1e-12 * abs(cost_function.dot(d, hd))
    assert cost_function.dot(d, hd) > cost_function.dot(d, d)


def test_continued_minimisation_has_the_same_bits(cost_function, prepared_experiment, tmp_path):
    """An experiment with other settings, observations or another truth is refused."""
    transport, saved = cost_function.problem.transport, []

    def run(start, outer, save=ignore_event):
        limits = Limits(max_outer=outer, max_inner=3)
        functions = cost_function.cost_and_gradient, cost_function.hessian, cost_function.dot
        return minimise(*functions, start, limits, report=save)

    def save(event):
        if event.inner_iterations and event.step_fraction > 0:
            kept = assimilate.to_checkpoint(event.state, [{"cost": 1.0}])
            checkpoint.save(tmp_path, *kept, weather_twin(), cost_function.observations, transport)
            saved.append(event.iteration)

    whole = run(MinimiserState(cost_function.zero_vector()), 2)
    run(MinimiserState(cost_function.zero_vector()), 1, save)
    longer, others = weather_twin(**{"assimilation.outer": 7}), weather_twin(**{"assimilation.sigma_eta": 3.0})
    kept = checkpoint.load(tmp_path, longer, cost_function.observations, transport)
    start, history = assimilate.from_checkpoint(*kept)
    assert (saved, history) == ([1], [{"cost": 1.0}])
    jax.tree.map(np.testing.assert_array_equal, run(start, 2).state.w, whole.state.w)
    with pytest.raises(UsageError, match=r"assimilation.sigma_eta"):
        checkpoint.load(tmp_path, others, cost_function.observations, transport)
    with pytest.raises(UsageError, match="observations differ"):
        checkpoint.load(tmp_path, weather_twin(), cost_function.observations.select(slice(5)), transport)
    with pytest.raises(UsageError, match=r"(?s)twin.h5 .*case.lead"):
        prepare_experiment(weather_twin(**{"case.lead": 2.0}), prepared_experiment[1], None)


def test_continued_twin_makes_each_run_once_with_the_memory_of_the_command(prepared_experiment, monkeypatch):
    """The problems of the first guess and of the truth, where states and observations are in the folder already."""
    made = []

    def record_problem(config, controls, observe, every, memory):
        made.append(memory)
        return Problem(config, controls, observe, every, memory)

    monkeypatch.setattr(experiment, "Problem", record_problem)
    _, folder = prepared_experiment
    prepare_experiment(weather_twin(**IMPACT_OPTIONS), folder, 10**9, derivatives=False)
    assert made == [10**9] * 2


def test_truth_and_first_guess_are_states_of_the_same_run(monkeypatch):
    """Also if the run is in pieces, between which a function is called."""

    def config(**more):
        return smallest_twin(**{"run.executor": "reference"} | more)

    def same(twin_config, *steps):
        simulation = Simulation(config())
        for step, state in zip(steps, (twin_config.guess, twin_config.truth), strict=True):
            simulation.advance(step - simulation.step)
            np.testing.assert_equal(state, simulation.state)

    same(experiment.spin_up(config()), 18, 24)
    same(experiment.spin_up(config(**{"case.lead": 50.0})), 0, 24)
    monkeypatch.setattr(experiment, "steps_per_piece", lambda config: 5)
    ticks = []
    same(experiment.spin_up(config(), lambda: ticks.append(1)), 18, 24)
    assert len(ticks) == 4 + 2


def find_minimum(function, hessian, start, limits=EXACT_LIMITS):
    return minimise(function.cost_and_gradient, hessian, function.dot, MinimiserState(start), limits).state.w


def flatten(w):
    return np.concatenate([np.ravel(w[name]) for name in sorted(w)])


def last_value(series):
    return series[-1]


@pytest.mark.promise("impacts are those of the gain")
def test_impact_equals_that_of_the_gain_matrix_and_of_finite_differences(cost_function, prepared_experiment):
    """The gain comes from dense matrices, differences from moving one observation; impacts sum to the change."""
    inputs, _ = prepared_experiment
    problem, observations, config = inputs.problem, inputs.observations, inputs.problem.config
    w = find_minimum(cost_function, cost_function.hessian, cost_function.zero_vector())
    found = observation_impact(inputs, cost_function, w, cost_function.hessian, ignore_event, residual_ratio=1e-11)
    x = cost_function.controls_at(w)

    # The run until half a day after the window, which observes the quantity, as a function of its controls.
    longer = config.model_copy(update={"run": config.run.model_copy(update={"steps": config.run.steps + 6})})
    forecast, observer = make_problem(longer, problem.names, longer.run.steps, ignore_event)
    observer.operator = parse_quantity(IMPACT_OPTIONS["assimilation.impact"], config)

    _, back = jax.vjp(inputs.operator.collect, problem.series(x))
    unit = np.eye(observations.size)
    columns = (cost_function.background_transpose(problem.adjoint(x, back(one)[0])) for one in unit)
    rows = np.stack([*map(flatten, columns)])  # H M L
    covariance = rows @ rows.T + np.diag(observations.error**2)
    extended = (extend_corrections(at, forecast.domain.setup) for at in (inputs.first_guess, x))
    both = [forecast.value_and_gradient(at, last_value)[1] for at in extended]
    slope = {name: 0.5 * (both[0][name] + both[1][name])[: len(x[name])] for name in x}  # without later records
    expected = np.linalg.solve(covariance, rows @ flatten(cost_function.background_transpose(slope)))
    np.testing.assert_allclose(found.sensitivity, expected, rtol=0, atol=1e-8 * np.abs(expected).max())

    chosen, values = int(np.argmax(np.abs(found.sensitivity))), []
    for side in (1, -1):
        value = observations.value.copy()
        value[chosen] += side * observations.error[chosen]
        moved = CostFunction(inputs._replace(observations=observations._replace(value=value)))
        at = moved.controls_at(find_minimum(moved, cost_function.hessian, w, EXACT_LIMITS._replace(max_outer=1)))
        values.append(float(forecast.value(extend_corrections(at, forecast.domain.setup), last_value)))
    quotient = (values[0] - values[1]) / (2 * observations.error[chosen])
    np.testing.assert_allclose(quotient, found.sensitivity[chosen], rtol=1e-5)
    np.testing.assert_allclose(found.impact.sum(), found.linear_change, rtol=1e-6)
    np.testing.assert_allclose(found.linear_change, found.analysis - found.background, rtol=1e-4)


@pytest.mark.night
def test_stopped_assimilation_continues_and_leaves_its_files(tmp_path):
    """A signal stops it after its first outer iteration; the stations' impacts on a quadratic quantity add up."""
    options = {"run.steps": 20, "assimilation.impact": "energy", "assimilation.outer": 2, "case.forecast": 0.0}
    config = weather_twin(**IMPACT_OPTIONS | options)

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


def resolved_config(case, **changes):
    """The resolved configuration of a case, with an executor that needs no C++ compiler."""
    return resolve(load(case, {"run.executor": "xla"} | changes, environ={}))


class TwinWithoutErrors(Case):
    """A twin experiment that does not say how large the errors of its stations are."""

    def prior_config(self, config):
        return config


#: What makes a configuration, with which options, and what the message must contain.
REFUSED = [
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
    (weather_twin, {"assimilation.correction_every": "1 min"}, "assimilation.correction_every"),
    (weather_twin, {"assimilation.correction_every": "3 days"}, "assimilation.correction_every"),
    (weather_twin, {"assimilation.sigma_wind_correction": 0.0}, "wind_x_correction and wind_y_correction"),
    (weather_twin, {"assimilation.correction_length": 0.0, "assimilation.length": 0.0}, "eta, u, v, wind_x_correction"),
    (weather_twin, {"assimilation.impact": "speed"}, "^assimilation.impact speed"),
    (weather_twin, {"assimilation.impact": "eta:-1e9,0"}, "^assimilation.impact eta:-1e9,0"),
    (letkf_config, {"assimilation.cycle_steps": 7}, "assimilation.cycle_steps: 7 "),
    (letkf_config, {"assimilation.cycle_steps": 5}, "assimilation.cycle_steps: 5 .*every_steps"),
    (letkf_config, {"assimilation.localisation": 0.0}, "assimilation.localisation"),
    (letkf_config, {"assimilation.controls": ("eta", "gravity"), "assimilation.balanced": False}, "ls: .*gravity"),
    (letkf_config, {"assimilation.inflation": 0.9}, "assimilation.inflation"),
    (letkf_config, {"ensemble.members": 1}, "ensemble.members"),
    (letkf_config, {"ensemble.initial_eta": 1.0, "ensemble.initial_eta_length": 3e5}, "ensemble.initial_eta"),
    (letkf_config, {"ensemble.viscosity": 30.0}, "ensemble.viscosity"),
]


@pytest.mark.parametrize(("config", "changes", "words"), REFUSED)
def test_wrong_settings_are_refused_by_name(config, changes, words):
    with pytest.raises((ConfigError, UsageError), match=f"(?sm){words}"):
        settings.check_assimilation(config(**changes))


@pytest.mark.parametrize("case", ["jet", "double_gyre", "seamount"])
def test_default_assimilation_settings_are_valid(case):
    config = resolved_config(case)
    values = settings.template_values(config) | {"controls": ("eta",), "observations": "there.nc"}
    options = config.assimilation.model_copy(update=values)
    assert list(settings.problems(config.model_copy(update={"assimilation": options}))) == []
