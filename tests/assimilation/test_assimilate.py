"""4D-Var of small twins: its cost and derivatives, its impacts, which are those of the gain, stops, and settings."""

import json
import math
import os
import signal

import jax
import netCDF4
import numpy as np
import pytest
from support.small_twin import letkf_twin, small, twin
from support.small_weather import weather

import swmodel
from swmodel.assimilation import assimilate, checkpoint, experiment, settings
from swmodel.assimilation.cost import CostFunction
from swmodel.assimilation.experiment import prepare, problem_of
from swmodel.assimilation.gauss_newton import Limits, Progress, minimise
from swmodel.assimilation.impact import impact_of
from swmodel.config import ConfigError
from swmodel.errors import Stopped, UsageError
from swmodel.gradients.corrections import extended
from swmodel.gradients.quantities import parse
from swmodel.model.resolve import resolve

pytestmark = pytest.mark.slow

OF = {"assimilation.impact": "eta:3.1e5,5.2e5", "assimilation.impact_days": 0.5}
EXACT = Limits(gradient=1e-9, outer=3, inner=200, residual=1e-8)


def ignore(*_):
    """Report, tick or watch."""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """An experiment with corrections of the wind, in which the impact on a forecast is asked for; and its folder."""
    folder = tmp_path_factory.mktemp("twin")
    return prepare(weather(**OF), folder, None), folder


@pytest.fixture(scope="module")
def function(prepared):
    return CostFunction(prepared[0])


def test_cost_has_its_gradient_and_symmetric_hessian(function):
    """Taylor slope 2; the Hessian is positive, above the identity."""
    w, d, e = (function.background.noise(3, n) for n in range(3))
    cost, gradient = function.cost_and_gradient(w)
    slope, remainders = function.dot(gradient, d), []
    for s in (1e-2, 1e-3):
        moved, _ = function.cost_and_gradient(jax.tree.map(lambda w, d, s=s: w + s * d, w, d))
        remainders.append(abs(moved.total - cost.total - s * slope))
    assert abs(math.log10(remainders[0] / remainders[1]) - 2) < 0.02
    hd, he = function.hessian(w, d), function.hessian(w, e)
    assert abs(function.dot(e, hd) - function.dot(d, he)) <= 1e-12 * abs(function.dot(d, hd))
    assert function.dot(d, hd) > function.dot(d, d)


def test_continued_minimisation_has_the_same_bits(function, prepared, tmp_path):
    """Another experiment is not continued: other settings, other observations, another truth."""
    transport, saved = function.problem.transport, []

    def run(start, outer, save=ignore):
        limits = Limits(outer=outer, inner=3)
        return minimise(function.cost_and_gradient, function.hessian, function.dot, start, limits, report=save)

    def save(event):
        if event.inner and event.part > 0:
            kept = assimilate.kept(event.progress, [{"cost": 1.0}])
            checkpoint.save(tmp_path, *kept, weather(), function.observations, transport)
            saved.append(event.iteration)

    whole = run(Progress(function.start()), 2)
    run(Progress(function.start()), 1, save)
    longer = weather(**{"assimilation.outer": 7})
    start, history = assimilate.taken_up(*checkpoint.load(tmp_path, longer, function.observations, transport))
    assert (saved, history) == ([1], [{"cost": 1.0}])
    jax.tree.map(np.testing.assert_array_equal, run(start, 2).progress.w, whole.progress.w)
    with pytest.raises(UsageError, match=r"assimilation.sigma_eta"):
        checkpoint.load(tmp_path, weather(**{"assimilation.sigma_eta": 3.0}), function.observations, transport)
    with pytest.raises(UsageError, match="observations differ"):
        checkpoint.load(tmp_path, weather(), function.observations.where(slice(5)), transport)
    with pytest.raises(UsageError, match=r"(?s)twin.h5 .*case.lead"):
        prepare(weather(**{"case.lead": 2.0}), prepared[1], None)


def test_truth_and_first_guess_are_states_of_one_run(monkeypatch):
    """Also of a run in pieces, between which a function is called."""

    def config(**more):
        return small(**{"run.executor": "reference"} | more)

    def same(twin, *steps):
        simulation = swmodel.Simulation(config())
        for step, state in zip(steps, (twin.guess, twin.truth), strict=True):
            simulation.advance(step - simulation.step)
            np.testing.assert_equal(state, simulation.state)

    same(experiment.spin_up(config()), 18, 24)
    same(experiment.spin_up(config(**{"case.lead": 50.0})), 0, 24)
    monkeypatch.setattr(experiment, "length_of", lambda config: 5)
    ticks = []
    same(experiment.spin_up(config(), lambda: ticks.append(1)), 18, 24)
    assert len(ticks) == 4 + 2


def minimum(function, hessian, start, limits=EXACT):
    return minimise(function.cost_and_gradient, hessian, function.dot, Progress(start), limits).progress.w


def flat(w):
    return np.concatenate([np.ravel(w[name]) for name in sorted(w)])


def last(series):
    return series[-1]


@pytest.mark.promise("impacts are those of the gain")
def test_impact_is_that_of_the_gain_and_of_a_quotient(function, prepared):
    """The gain of dense matrices; moving one observation; and the sum is the change of the forecast."""
    inputs, _ = prepared
    problem, observations, config = inputs.problem, inputs.observations, inputs.problem.config
    w = minimum(function, function.hessian, function.start())
    found, x = impact_of(inputs, function, w, function.hessian, ignore, residual=1e-11), function.at(w)

    # The run with the half day after the window, which observes the quantity, as a function of its controls.
    longer = config.model_copy(update={"run": config.run.model_copy(update={"steps": config.run.steps + 6})})
    forecast, observer = problem_of(longer, problem.names, longer.run.steps, ignore)
    observer.operator = parse(OF["assimilation.impact"], config)

    _, back = jax.vjp(inputs.operator.collect, problem.series(x))
    unit = np.eye(observations.size)
    rows = np.stack([flat(function.back(problem.adjoint(x, back(one)[0]))) for one in unit])  # H M L
    covariance = rows @ rows.T + np.diag(observations.error**2)
    both = [forecast.value_and_gradient(extended(at, forecast.domain.setup), last)[1] for at in (inputs.base, x)]
    slope = {name: 0.5 * (both[0][name] + both[1][name])[: len(x[name])] for name in x}  # without later records
    expected = np.linalg.solve(covariance, rows @ flat(function.back(slope)))
    np.testing.assert_allclose(found.sensitivity, expected, rtol=0, atol=1e-8 * np.abs(expected).max())

    chosen, values = int(np.argmax(np.abs(found.sensitivity))), []
    for side in (1, -1):
        value = observations.value.copy()
        value[chosen] += side * observations.error[chosen]
        moved = CostFunction(inputs._replace(observations=observations._replace(value=value)))
        at = moved.at(minimum(moved, function.hessian, w, EXACT._replace(outer=1)))
        values.append(float(forecast.value(extended(at, forecast.domain.setup), last)))
    quotient = (values[0] - values[1]) / (2 * observations.error[chosen])
    np.testing.assert_allclose(quotient, found.sensitivity[chosen], rtol=1e-5)
    np.testing.assert_allclose(found.impact.sum(), found.linear, rtol=1e-6)
    np.testing.assert_allclose(found.linear, found.analysis - found.background, rtol=1e-4)


@pytest.mark.night
def test_stopped_assimilation_continues_and_leaves_its_files(tmp_path):
    """By a signal after its first outer iteration; stations share the impact on a quadratic quantity."""
    config = weather(**OF | {"assimilation.impact": "energy", "assimilation.outer": 2, "case.forecast": 0.0})

    def interrupt(event):
        if event["step"] == 1 and event["words"].startswith("J"):
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(Stopped):
        assimilate.compute(config, tmp_path, {}, interrupt, "", ignore)
    assimilate.compute(config, tmp_path, {"resume": True}, ignore, "", ignore)
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


def loaded(case, **changes):
    """The resolved configuration of a case; its executor needs no C++ compiler."""
    return resolve(swmodel.load(case, {"run.executor": "xla"} | changes, environ={}))


def jet(**changes):
    return loaded("jet", **{"assimilation.controls": ["eta"]} | changes)


#: The configuration, what is changed in it, and what the message must name.
REFUSED = [
    (jet, {}, "assimilation.observations"),
    (twin, {"assimilation.sigma_velocity": 0.0}, "assimilation.sigma_velocity: .* u and v"),
    (twin, {"assimilation.length": 0.0}, "assimilation.length"),
    (twin, {"assimilation.controls": ("eta", "eta")}, "assimilation.controls"),
    (twin, {"assimilation.controls": ()}, "assimilation.controls"),
    (twin, {"assimilation.controls": ("eta",)}, "assimilation.balanced: .*eta, u and v"),
    (twin, {"assimilation.observations": "/none.nc"}, "/none.nc"),
    (twin, {"assimilation.every_steps": 7}, "assimilation.every_steps: 7 .*30"),
    (twin, {"case.moorings": 0, "case.repeat": 1e6}, "case: no observation"),
    (twin, {"run.executor": "reference"}, "executor reference"),
    (twin, {"run.devices": 2}, "run.devices"),
    (weather, {"assimilation.correction_every": "1 min"}, "assimilation.correction_every"),
    (weather, {"assimilation.correction_every": "3 days"}, "assimilation.correction_every"),
    (weather, {"assimilation.sigma_wind_correction": 0.0}, "wind_x_correction and wind_y_correction"),
    (weather, {"assimilation.correction_length": 0.0, "assimilation.length": 0.0}, "eta, u, v, wind_x_correction"),
    *((weather, {"assimilation.impact": of}, f"^assimilation.impact {of}") for of in ("speed", "eta:no", "eta:-1e9,0")),
    (letkf_twin, {"assimilation.cycle_steps": 7}, "assimilation.cycle_steps: 7 "),
    (letkf_twin, {"assimilation.cycle_steps": 5}, "assimilation.cycle_steps: 5 .*every_steps"),
    (letkf_twin, {"assimilation.localisation": 0.0}, "assimilation.localisation"),
    (letkf_twin, {"assimilation.controls": ("eta", "gravity"), "assimilation.balanced": False}, "controls: .*gravity"),
    (letkf_twin, {"assimilation.inflation": 0.9}, "assimilation.inflation"),
    (letkf_twin, {"ensemble.members": 1}, "ensemble.members"),
    (letkf_twin, {"ensemble.initial_eta": 1.0, "ensemble.initial_eta_length": 3e5}, "ensemble.initial_eta"),
    (letkf_twin, {"ensemble.viscosity": 30.0}, "ensemble.viscosity"),
]


@pytest.mark.parametrize(("config", "changes", "words"), REFUSED)
def test_settings_are_refused_by_name(config, changes, words):
    with pytest.raises((ConfigError, UsageError), match=f"(?sm){words}"):
        settings.check_assimilation(config(**changes))


@pytest.mark.parametrize("case", ["jet", "double_gyre", "seamount"])
def test_default_assimilation_settings_are_valid(case):
    config = loaded(case)
    values = settings.template_of(config) | {"controls": ("eta",), "observations": "there.nc"}
    options = config.assimilation.model_copy(update=values)
    assert list(settings.problems(config.model_copy(update={"assimilation": options}))) == []
