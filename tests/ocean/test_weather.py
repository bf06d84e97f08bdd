"""Wind and air pressure against what is known of them: drag laws, refusals, health."""

import contextlib

import numpy as np
import pytest
from support.made_cases import changed
from support.unchecked import unchecked

import swmodel
from swmodel.config.options.case import Case
from swmodel.errors import NumericalError

pytestmark = pytest.mark.slow

DENSITY, GRAVITY, DEPTH = 1025.0, 9.81, 20.0
QUIET = {
    "physics.gravity": GRAVITY, "physics.density": DENSITY, "physics.depth": DEPTH, "physics.f0": 0.0,
    "run.executor": "reference", "run.dtype": "float64", "time.stepper": "rk4",
}  # fmt: skip
BASIN = QUIET | {
    "grid.nx": 20, "grid.ny": 1, "grid.dx": 1e3, "grid.dy": 1e3, "grid.periodic_x": False, "grid.periodic_y": True,
    "time.dt": 20.0, "run.steps": 50,
}  # fmt: skip


class Still(Case):
    """Water that nothing moves yet."""


LAWS = {
    ("large_pond", 5.0): 1.15e-3,
    ("large_pond", 20.0): 1.79e-3,
    ("garratt", 5.0): 1.085e-3,
    ("garratt", 60.0): 3.5e-3,
}


@pytest.mark.parametrize(("law", "speed"), LAWS)
def test_a_wind_drags_as_its_law_says(law, speed):
    """One step of Euler from rest, with the wind from west-southwest: du = dt tau_x / (rho H)."""
    blown = changed(Still, u10=lambda config, at: 0.8 * speed + 0 * at.x, v10=lambda config, at: 0.6 * speed + 0 * at.x)
    open_ = {"grid.periodic_x": True, "time.stepper": "ab2", "grid.ny": 3, "time.dt": 10.0, "wind_drag.law": law}
    model = swmodel.Simulation(blown, BASIN | open_)
    model.advance(1)
    tau = 1.22 * LAWS[law, speed] * speed**2
    np.testing.assert_allclose(model.field("u"), 10.0 * 0.8 * tau / (DENSITY * DEPTH), rtol=1e-12)
    np.testing.assert_allclose(model.field("v"), 10.0 * 0.6 * tau / (DENSITY * DEPTH), rtol=1e-12)


@pytest.mark.promise("varying weather does not depend on calls or restarts")
@pytest.mark.fault("a storm, tide, inflow or tsunami is mistaken for a blow-up, or hides one")
def test_health_lets_weather_do_its_work_and_finds_a_blow_up_nevertheless():
    """A squall of 60 m/s with 80 hPa less in it is no blow-up; the same with a time step that is too long is one."""
    options = {"grid.nx": 24, "grid.ny": 20, "grid.dx": 4e4, "grid.dy": 4e4, "case.wind": 60.0, "case.deficit": 8000.0}
    options |= {"run.executor": "reference", "case.landfall": 3600.0}
    for change, outcome in (({}, contextlib.nullcontext()), ({"time.dt": 400.0}, pytest.raises(NumericalError))):
        model = swmodel.Simulation(unchecked(swmodel.load("hurricane", options | change, environ={})))
        health = model.health()
        with outcome:
            for _ in range(12):
                model.take_steps(10)
                health.check()
