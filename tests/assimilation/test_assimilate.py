"""4D-Var of a small twin: the cost has its gradient, the Hessian is symmetric, and the truth is found."""

import json
import math
import os
import re
import signal

import jax
import netCDF4
import numpy as np
import pytest
from support.small_twin import SMALL
from support.unchecked import unchecked

import swmodel
from swmodel.assimilation import assimilate, checkpoint, observations, settings
from swmodel.assimilation.cost import CostFunction
from swmodel.assimilation.experiment import prepare
from swmodel.assimilation.gauss_newton import Limits, Progress, minimise
from swmodel.config import ConfigError
from swmodel.errors import NumericalError, Stopped, UsageError
from swmodel.model.resolve import resolve
from swmodel.ocean.coordinates import points
from swmodel.plotting import plot
from swmodel.plotting.assimilation import picture
from swmodel.setup.positions.stencils import QUANTITIES

pytestmark = pytest.mark.slow


def small(**more):
    return resolve(swmodel.load("double_gyre_twin", SMALL | more, environ={}))


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    return prepare(small(), tmp_path_factory.mktemp("twin"), None)


@pytest.fixture(scope="module")
def function(experiment):
    return CostFunction(experiment)


def test_the_gradient_is_that_of_the_cost(function):
    w, d = function.background.noise(1, 0), function.background.noise(2, 0)
    cost, gradient = function.cost_and_gradient(w)
    slope, remainders = function.dot(gradient, d), []
    for s in (1e-2, 1e-3):
        moved, _ = function.cost_and_gradient(jax.tree.map(lambda w, d, s=s: w + s * d, w, d))
        remainders.append(abs(moved.total - cost.total - s * slope))
    assert abs(math.log10(remainders[0] / remainders[1]) - 2) < 0.02


def test_the_hessian_is_symmetric_and_positive(function):
    w, d, e = (function.background.noise(3, n) for n in range(3))
    hd, he = function.hessian(w, d), function.hessian(w, e)
    forth, back = function.dot(e, hd), function.dot(d, he)
    assert abs(forth - back) <= 1e-12 * abs(function.dot(d, hd))
    assert function.dot(d, hd) > function.dot(d, d)


def test_going_on_from_the_file_gives_the_bits_of_a_minimisation_in_one_go(function, tmp_path):
    config, transport, saved = small(), function.problem.transport, []

    def run(start, outer, save=lambda event: None):
        limits = Limits(outer=outer, inner=3)
        return minimise(function.cost_and_gradient, function.hessian, function.dot, start, limits, report=save)

    def save(event):
        if event.inner and event.part > 0:
            kept = assimilate.kept(event.progress, [{"cost": 1.0}])
            checkpoint.save(tmp_path, *kept, config, function.observations, transport)
            saved.append(event.iteration)

    whole = run(Progress(function.start()), 2)
    run(Progress(function.start()), 1, save)
    longer = small(**{"assimilation.outer": 7})
    start, history = assimilate.taken_up(*checkpoint.load(tmp_path, longer, function.observations, transport))
    assert (saved, history) == ([1], [{"cost": 1.0}])
    again = run(start, 2)
    for name, values in whole.progress.w.items():
        np.testing.assert_array_equal(again.progress.w[name], values)
    with pytest.raises(UsageError, match=r"assimilation.sigma_eta: 2.0 before, 3.0 now"):
        checkpoint.load(tmp_path, small(**{"assimilation.sigma_eta": 3.0}), function.observations, transport)
    fewer = function.observations.where(slice(5))
    with pytest.raises(UsageError, match="the observations differ"):
        checkpoint.load(tmp_path, config, fewer, transport)


def everywhere(config, truth):
    """Perfect observations of the whole first state."""
    rows, columns = np.arange(config.grid.ny), np.arange(config.grid.nx)
    parts = []
    for number, (name, location) in enumerate(zip(QUANTITIES, ("centre", "u", "v"), strict=True)):
        at = points(config.grid, location, rows, columns)
        x, y = (np.broadcast_to(axis, (rows.size, columns.size)) for axis in (at.x, at.y))
        inside = np.ones(x.shape, bool)
        inside[:, -1] &= location != "u"
        inside[-1, :] &= location != "v"
        n = inside.sum()
        error = np.full(n, (1e-2, 1e-4, 1e-4)[number])
        value = np.asarray(truth[name])[inside]
        parts.append((np.full(n, number, np.int8), np.zeros(n), x[inside], y[inside], value, error, np.full(n, "")))
    return observations.Observations(*(np.concatenate(fields) for fields in zip(*parts, strict=True)))


@pytest.mark.night
def test_perfect_observations_everywhere_give_the_truth(experiment, tmp_path):
    """One run of the task, stopped by a signal after its first outer iteration, and gone on with."""
    seen = everywhere(small(), experiment.truth)
    observations.write(tmp_path / "seen.nc", seen, small())
    sure = {"assimilation.sigma_eta": 1e4, "assimilation.sigma_velocity": 1e2, "assimilation.length": 1e3}
    more = {"assimilation.balanced": False, "assimilation.observations": str(tmp_path / "seen.nc"), "run.steps": 2}
    config = small(**sure, **more, **{"assimilation.gradient": 1e-8, "assimilation.outer": 6})
    events = []

    def interrupt(event):
        events.append(event["words"])
        if event["step"] == 1 and event["words"].startswith("J"):
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(Stopped, match="stopped by SIGTERM after 1 outer iterations"):
        assimilate.compute(config, tmp_path, {}, interrupt, "", lambda function: None)
    assimilate.compute(config, tmp_path, {"resume": True}, lambda event: None, "", lambda function: None)
    results = json.loads((tmp_path / "assimilation.json").read_text(), parse_constant=pytest.fail)
    assert results["twin"]["controls"]["eta"]["analysis"]["unobserved"] is None  # there is no such place
    assert results["misfit"]["analysis"] < 1e-4
    assert [row["iteration"] for row in results["iterations"]][:2] == [0, 1]
    for control, of in results["twin"]["controls"].items():
        assert of["analysis"]["everywhere"] < 1e-4 * of["background"]["everywhere"], control
    with netCDF4.Dataset(tmp_path / "analysis.nc") as file:
        np.testing.assert_allclose(file["eta_analysis"][:], experiment.truth["eta"], atol=1e-4)
        increment = file["eta_analysis"][:] - file["eta_background"][:]
        np.testing.assert_array_equal(file["eta_increment"][:], increment)
    assert (tmp_path / "assimilation.png").stat().st_size > 10000
    table = assimilate.summary(tmp_path)
    assert "outer iterations: cost" in table
    assert all(re.search(r"-> +\S+ m( s-1)? +\S+ of it", line) for line in table.splitlines() if "of it" in line)
    assert re.search(r"u everywhere .* m s-1 ", table)
    assert plot(tmp_path) == tmp_path / "assimilation.png"
    assert plot(tmp_path, "eta_increment") == tmp_path / "analysis-eta_increment.png"
    with netCDF4.Dataset(tmp_path / "analysis.nc") as file:
        labels = [axes.get_ylabel() for figure in [picture(file)] for axes in figure.axes]
        assert file["eta_truth"].long_name == "downward displacement of the interface, truth"
    what = "downward displacement of the interface"
    labels = {label.replace("\n", " ") for label in labels}
    assert {f"{what.capitalize()} (m)", f"Rms error of {what} (m)", "Rms error of current (m s⁻¹)"} <= labels


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"assimilation.sigma_eta": 0.0}, "assimilation.sigma_eta"),
        ({"assimilation.sigma_velocity": 0.0}, "errors of u and v"),
        ({"assimilation.length": 0.0}, "assimilation.length"),
        ({"assimilation.controls": ("eta", "eta")}, "assimilation.controls"),
        ({"assimilation.controls": ("eta",)}, "assimilation.balanced: needs eta, u and v"),
        ({"assimilation.controls": ()}, "assimilation.controls"),
        ({"assimilation.observations": "/none.nc"}, "/none.nc"),
        ({"assimilation.every_steps": 7}, "assimilation.every_steps: 7 does not divide the 30 steps"),
        ({"case.moorings": 0, "case.repeat": 1e6}, "case: no observation in the window"),
        ({"run.executor": "reference"}, "executor reference"),
        ({"run.devices": 2}, "run.devices"),
    ],
)
def test_what_is_missing_or_wrong_is_said(changes, message):
    with pytest.raises((ConfigError, UsageError), match=f"(?s){message}"):
        settings.check_assimilation(small(**changes))


def test_without_observations_there_is_nothing_to_assimilate():
    with pytest.raises(ConfigError, match="assimilation.observations: give an observation file"):
        settings.check_assimilation(resolve(swmodel.load("jet", {"assimilation.controls": ["eta"]}, environ={})))


@pytest.mark.parametrize("case", ["jet", "double_gyre", "seamount"])
def test_the_settings_to_start_from_suit_the_case(case):
    config = resolve(swmodel.load(case, environ={}))
    values = settings.template_of(config) | {"controls": ("eta",), "observations": "there.nc"}
    options = config.assimilation.model_copy(update=values)
    assert list(settings.problems(config.model_copy(update={"assimilation": options}))) == []


@pytest.mark.night
def test_another_twin_experiment_is_not_gone_on_with(experiment, tmp_path):
    folder = tmp_path / "twin"
    prepare(small(), folder.mkdir() or folder, None)
    with pytest.raises(UsageError, match=r"(?s)twin.h5 .*another assimilation.*case.lead: 30.0 before, 1.0 now"):
        prepare(small(**{"case.lead": 1.0}), folder, None)


@pytest.mark.night
def test_a_run_that_blows_up_says_so_and_leaves_its_numbers(experiment, tmp_path):
    observations.write(tmp_path / "seen.nc", everywhere(small(), experiment.truth), small())
    wild = {"time.dt": 3e4, "assimilation.observations": str(tmp_path / "seen.nc"), "case.forecast": 0.0}
    with pytest.raises(NumericalError, match="ended early .not finite.*the cost did not decrease"):
        assimilate.compute(unchecked(small(**wild)), tmp_path, {}, lambda event: None, "", lambda function: None)
    results = json.loads((tmp_path / "assimilation.json").read_text(), parse_constant=pytest.fail)
    assert results["outcome"] == "not finite"
    assert results["iterations"] == []
