"""4D-Var of small twins: its cost has gradient and Hessian, it continues, and impacts are those of the gain."""

import json
import math
import os
import signal

import jax
import netCDF4
import numpy as np
import pytest
from support.small_twin import small, twin
from support.small_weather import weather
from support.unchecked import unchecked

import swmodel
from swmodel.assimilation import assimilate, checkpoint, experiment
from swmodel.assimilation.cost import CostFunction
from swmodel.assimilation.experiment import prepare, problem_of
from swmodel.assimilation.gauss_newton import Limits, Progress, minimise
from swmodel.assimilation.impact import impact_of
from swmodel.errors import NumericalError, Stopped, UsageError
from swmodel.gradients.corrections import extended
from swmodel.gradients.quantities import parse
from swmodel.plotting import plot

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
    with pytest.raises(UsageError, match=r"assimilation.sigma_eta: 0.003 before, 3.0 now"):
        checkpoint.load(tmp_path, weather(**{"assimilation.sigma_eta": 3.0}), function.observations, transport)
    with pytest.raises(UsageError, match="observations differ"):
        checkpoint.load(tmp_path, weather(), function.observations.where(slice(5)), transport)
    with pytest.raises(UsageError, match=r"(?s)twin.h5 .*case.lead: 1.0 before, 2.0 now"):
        prepare(weather(**{"case.lead": 2.0}), prepared[1], None)


@pytest.mark.night
def test_blown_up_assimilation_leaves_its_numbers(tmp_path):
    prepare(twin(), tmp_path, None)
    seen, folder = tmp_path / "twin_observations.nc", tmp_path / "wild"
    wild = {"time.dt": 3e4, "assimilation.observations": str(seen), "case.forecast": 0.0}
    with pytest.raises(NumericalError, match="not finite"):
        assimilate.compute(unchecked(twin(**wild)), folder.mkdir() or folder, {}, ignore, "", ignore)
    results = json.loads((folder / "assimilation.json").read_text(), parse_constant=pytest.fail)
    assert (results["outcome"], results["iterations"]) == ("not finite", [])


def test_truth_and_first_guess_are_states_of_one_run(monkeypatch):
    """Also of a run in pieces, which can be stopped."""
    config, ticks = small(), []

    def run_to(step):
        simulation = swmodel.Simulation(config)
        simulation.advance(step)
        return simulation.state

    def same(*states):
        return all(np.array_equal(a, b) for a, b in zip(*states, strict=True))

    for length in (100, 5):
        monkeypatch.setattr(experiment, "length_of", lambda config, length=length: length)
        found = experiment.spin_up(config, lambda: ticks.append(1))
        assert same(found.truth, run_to(24))
        assert same(found.guess, run_to(18))
    assert len(ticks) == 2 + 6  # 18 and 6 steps, by 5
    longer = experiment.spin_up(small(**{"case.lead": 50.0}))
    assert same(longer.guess, run_to(0))
    with pytest.raises(Stopped):
        experiment.spin_up(config, lambda: (_ for _ in ()).throw(Stopped))


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

    with pytest.raises(Stopped, match="SIGTERM after 1 outer"):
        assimilate.compute(config, tmp_path, {}, interrupt, "", ignore)
    assimilate.compute(config, tmp_path, {"resume": True}, ignore, "", ignore)
    results = json.loads((tmp_path / "assimilation.json").read_text(), parse_constant=pytest.fail)
    stations, impact = results["stations"], results["impact"]
    assert [row["iteration"] for row in results["iterations"]] == [0, 1, 2]
    assert results["misfit"]["analysis"] < results["misfit"]["background"]
    np.testing.assert_allclose(impact["linear"], impact["analysis"] - impact["background"], rtol=1e-4)
    np.testing.assert_allclose(sum(row["impact"] for row in stations), impact["sum"], rtol=1e-12)
    with netCDF4.Dataset(tmp_path / "analysis.nc") as file:
        assert sum(row["observations"] for row in stations) == file["observation_impact"].size
        np.testing.assert_allclose(file["observation_impact"][:].sum(), impact["sum"], rtol=1e-12)
        assert file["wind_x_correction_analysis"].dimensions == ("time", "y_c", "x_c")
        np.testing.assert_allclose(file["time"][:], [0, 50e3, 100e3, 150e3])
        increment = file["eta_analysis"][:] - file["eta_background"][:]
        np.testing.assert_array_equal(file["eta_increment"][:], increment)
    for words in ("outer iterations", "impact of"):
        assert words in assimilate.summary(tmp_path)
    assert plot(tmp_path) == tmp_path / "assimilation.png"
    assert plot(tmp_path, "eta_increment") == tmp_path / "analysis-eta_increment.png"
