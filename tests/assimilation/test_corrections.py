"""4D-Var with errors of the model: corrections of the wind are found with the state, and need right settings."""

import numpy as np
import pytest
from support.small_weather import weather

import swmodel
from swmodel.assimilation import settings
from swmodel.assimilation.background import Background
from swmodel.assimilation.cost import CostFunction
from swmodel.assimilation.experiment import prepare, problem_of
from swmodel.assimilation.gauss_newton import Limits, Progress, minimise
from swmodel.config import ConfigError
from swmodel.errors import UsageError
from swmodel.model.resolve import resolve

pytestmark = pytest.mark.slow


def ignore(*_):
    """Tick."""


def test_without_them_the_analysis_is_worse(tmp_path):
    """The errors at the end of the window, of analyses with and without corrections of an unknown wind."""
    winds = {"case.weather": 1e-3, "assimilation.sigma_wind_correction": 1e-3, "forcing.every": 50e3}
    network = {"case.eta_error": 3e-4, "case.velocity_error": 3e-5, "case.separation": 5e5, "case.moorings": 3}
    experiment = prepare(weather(**winds, **network), tmp_path, None)
    problem, setup, errors = experiment.problem, experiment.problem.domain.setup, settings.errors_of(weather(**winds))
    known = {name: errors[name] for name in ("eta", "u", "v")}
    strong = Background(setup, problem.transport, setup.grid(problem.block), known)

    def last(x):
        return np.asarray(list(problem.states(x, problem.steps))[-1].h)

    off = {}
    for name, background in (("strong", strong), ("weak", experiment.background)):
        function = CostFunction(experiment._replace(background=background))
        start = Progress(function.start())
        found = minimise(function.cost_and_gradient, function.hessian, function.dot, start, Limits(outer=1, inner=100))
        off[name] = found.cost.misfit, np.std(last(function.at(found.progress.w)) - last(experiment.truth))
    assert off["weak"][0] < 2 < off["strong"][0]
    assert off["weak"][1] < 0.5 * off["strong"][1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"assimilation.correction_every": "1 min"}, "correction_every: must be from a time step, 7200 s, to the"),
        ({"assimilation.correction_every": "3 days"}, "correction_every: .*to the window of 144000 s, not 259200 s"),
        ({"assimilation.sigma_wind_correction": 0.0}, "errors of wind_x_correction and wind_y_correction"),
        ({"assimilation.length": 0.0}, "assimilation.length: must be above 0 m, for the errors of eta, u, v$"),
        ({"assimilation.correction_length": 0.0, "assimilation.length": 0.0}, "eta, u, v, wind_x_correction"),
        ({"run.devices": 2}, "run.devices"),
    ],
)
def test_what_is_missing_or_wrong_is_reported(changes, message):
    with pytest.raises((ConfigError, UsageError), match=f"(?m){message}"):
        settings.check_assimilation(weather(**changes))


def test_a_correction_without_its_forcing_is_reported():
    with pytest.raises(UsageError, match="outside_level_correction: no effect in this run"):
        problem_of(weather(), ["outside_level_correction"], 5, ignore)


@pytest.mark.night
def test_surges_from_outside_are_found_from_gauges(tmp_path):
    """The level of the water outside an open side, and so the sea within."""
    coarse = {"grid.nx": 9, "grid.ny": 5, "grid.dx": 45e3, "grid.dy": 51.2e3, "time.dt": 1200.0, "run.steps": 108}
    coarse["output.stations"] = [{"name": f"{x:g} {y:g}", "x": x, "y": y} for x in (90e3, 340e3) for y in (24e3, 232e3)]
    config = resolve(swmodel.load("gulf_surge", coarse | {"run.dtype": "float64"}, environ={}))
    experiment = prepare(config, tmp_path, None)
    function, (base, truth) = CostFunction(experiment), (experiment.base, experiment.truth)
    limits = Limits(outer=2, inner=60)
    found = minimise(function.cost_and_gradient, function.hessian, function.dot, Progress(function.start()), limits)
    x, steps = function.at(found.progress.w), experiment.problem.steps

    def sea(x):
        return np.asarray(list(experiment.problem.states(x, steps))[-1].h)

    def mouth(x):
        return np.asarray(x["outside_level_correction"])[:, :, -1]

    for part in (sea, mouth):
        assert np.std(part(x) - part(truth)) < 0.25 * np.std(part(base) - part(truth))
