"""Nothing happens at rest beside open sides, and air pressure pumps no water through them."""

import numpy as np
import pytest
from support.open_sides import G
from support.random_case import configuration, random_fields
from support.stepping import after

import swmodel


def test_at_rest_nothing_happens():
    """Over rough ground, with islands and the sea level that is given outside."""
    fields = random_fields(9, 11) | {"eta": np.full((9, 11), 0.3), "u": np.zeros((9, 11)), "v": np.zeros((9, 11))}
    fields = {name: fields[name] for name in ("depth", "mask", "eta", "u", "v")}
    sides = {"open_sides__sides": ("west", "east", "south", "north"), "open_sides__level": 0.3}
    config = configuration(9, 11, fields, grid__periodic_x=False, physics__f0=1e-4, **sides)
    h, u, v = after("reference", config, 200)[:3]
    assert max(np.abs(u).max(), np.abs(v).max()) < 1e-13


def test_under_air_that_differs_from_place_to_place_nothing_happens_either():
    """Over rough ground, with islands: sea level is as by a barometer on both sides, with a sponge and without."""
    pressure = 101325.0 + 800 * np.random.default_rng(3).standard_normal((9, 11))
    eta = 0.3 - (pressure - 101325.0) / (1025.0 * G)
    fields = {name: values for name, values in random_fields(9, 11).items() if name in ("depth", "mask")}
    fields |= {"air_pressure": pressure, "eta": eta}
    sides = {"open_sides__sides": ("west", "east", "south", "north"), "open_sides__level": 0.3}
    for sponge in ({}, {"sponge__rate": 1e-3, "sponge__width": 1e4}):
        config = configuration(9, 11, fields, grid__periodic_x=False, **sides, **sponge)
        h, u, v = after("reference", config, 200)[:3]
        assert max(np.abs(u).max(), np.abs(v).max()) < 1e-13


def after_a_storm(speed, pressure):
    """Sea level over that of a barometer with a moving storm, where a low has come in through a side by a half.

    Largest difference over the height of the storm's sea level; it is 1/(1 - speed²/gH) of a barometer's inside.
    """
    nx, dx, width, low, deep = 40, 15e3, 80e3, -3000.0, 1000.0

    class Storm(swmodel.Case):
        def air_pressure(self, config, at, t):
            away = (at.x + 3.5 * width - speed * t) / width
            return 101325.0 + low * np.exp(-0.5 * away**2)

    options = {
        **{"grid.nx": nx, "grid.ny": 3, "grid.dx": dx, "grid.dy": dx, "grid.periodic_x": False},
        **{"grid.periodic_y": True, "physics.depth": deep, "time.stepper": "rk4", "time.dt": 100.0},
        **{"open_sides.sides": ["west", "east"], "open_sides.pressure": pressure, "forcing.every": 600.0},
        **{"run.steps": round(4 * width / speed / 100.0), "run.executor": "reference", "run.dtype": "float64"},
    }
    simulation = swmodel.Simulation(swmodel.load(Storm, options, environ={}))
    simulation.advance(simulation.config.run.steps)
    x = (np.arange(nx) + 0.5) * dx
    away = (x + 3.5 * width - speed * simulation.time) / width
    height = -low / (1025.0 * G)
    expected = height * np.exp(-0.5 * away**2) / (1 - speed**2 / (G * deep))
    return np.abs(simulation.field("eta")[1] - expected)[1:-1].max() / height


def test_a_storm_that_crosses_a_side_pumps_no_water():
    """But for F/(1 - F)/2 of its height, F = speed/sqrt(gH), as the current under it is not given outside."""
    for speed in (10.0, 20.0):
        froude = speed / np.sqrt(G * 1000.0)
        assert after_a_storm(speed, 101325.0) == pytest.approx(froude / (1 - froude) / 2, rel=0.05)
    assert after_a_storm(20.0, "none") > 0.4
