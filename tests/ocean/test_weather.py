"""Wind and air pressure against what is known of them: set-up, inverse barometer, a pressure that moves, drag laws."""

import contextlib
import math

import numpy as np
import pytest
from support.made_cases import changed
from support.unchecked import unchecked

import swmodel
from swmodel.config.options.case import Case
from swmodel.errors import NumericalError

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


def largest_speed(case, options, steps):
    model = swmodel.Simulation(case, options)
    model.advance(steps)
    return np.abs(model.field("u")).max(), model.field("eta")


def test_a_steady_wind_is_held_by_the_slope_that_it_sets_up():
    """(H + eta)² = C + 2 tau x / (rho g), exactly on the grid too; 2 Pa over 20 km in 20 m."""
    tau = 2.0
    level = changed(
        Still,
        wind_x=lambda config, at: tau + 0 * at.x,
        eta=lambda config, at: np.sqrt(DEPTH**2 + 2 * tau * at.x / (DENSITY * GRAVITY)) - DEPTH,
    )
    speed, eta = largest_speed(level, BASIN, 50)
    assert speed < 1e-13
    assert np.ptp(eta) == pytest.approx(0.18803, rel=1e-4)


def test_sea_level_is_9_95_mm_lower_where_the_air_weighs_1_hpa_more():
    under = changed(
        Still,
        air_pressure=lambda config, at: 101300.0 + 500.0 * np.sin(at.x / 3e3),
        eta=lambda config, at: -500.0 * np.sin(at.x / 3e3) / (DENSITY * GRAVITY),
    )
    speed, eta = largest_speed(under, BASIN, 50)
    assert speed < 1e-13
    assert np.abs(eta).max() / 5.0 == pytest.approx(9.95e-3, rel=1e-2)


def error_under_a_moving_pressure(nx):
    """Largest error of eta = - (p / rho g) / (1 - U²/gH) under a pressure wave that moves at U, after one period."""
    length, U, amplitude = 100e3, 6.0, 1.0
    k, factor = 2 * np.pi / length, 1 / (1 - U**2 / (GRAVITY * DEPTH))

    class Moving(Case):
        def air_pressure(self, config, at, t):
            return amplitude * np.cos(k * (at.x - U * t))

        def eta(self, config, at):
            return -amplitude * np.cos(k * at.x) * factor / (DENSITY * GRAVITY)

        def u(self, config, at):
            return U * self.eta(config, at) / DEPTH

    steps = 8 * nx
    model = swmodel.Simulation(Moving, QUIET | {
        "grid.nx": nx, "grid.ny": 1, "grid.dx": length / nx, "grid.dy": 1e4, "grid.periodic_y": True,
        "time.dt": length / U / steps, "forcing.every": length / U / nx, "run.steps": steps,
    })  # fmt: skip
    model.advance(steps)
    at = (np.arange(nx) + 0.5) * length / nx
    x = at - at[0] + model.config.grid.dx * 0.5
    exact = -amplitude * np.cos(k * x) * factor / (DENSITY * GRAVITY)
    return np.abs(model.field("eta")[0] - exact).max() / np.abs(exact).max()


def test_a_pressure_that_moves_lifts_more_at_second_order():
    errors = [error_under_a_moving_pressure(nx) for nx in (16, 32)]
    assert errors[1] < 0.02
    assert math.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.15)


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
