"""The equatorial soliton keeps its speed and leaves through the open side."""

import numpy as np
import pytest

import swmodel
from swmodel.cases import soliton

COARSE = {"grid.nx": 60, "grid.ny": 36, "grid.dx": soliton.L / 3, "grid.dy": soliton.L / 3}
NEAR = COARSE | {"case.start": -4.0}


def after(overrides, units):
    """The case after so many units of time."""
    config = swmodel.load("soliton", NEAR | {"run.executor": "reference"} | overrides, environ={})
    simulation = swmodel.Simulation(config)
    simulation.advance(round(units * soliton.T / simulation.dt))
    return simulation


def crest(simulation):
    """Where sea level is highest along the row of the northern crest, radii."""
    eta = simulation.field("eta").max(axis=0)
    near = slice(eta.argmax() - 1, eta.argmax() + 2)
    x = (np.arange(eta.size) - 0.5 * (eta.size - 1)) * simulation.config.grid.dx / soliton.L
    a, b, _ = np.polyfit(x[near], eta[near], 2)
    return -b / (2 * a)


def energy(simulation):
    """Sum of g eta²/2 + H (u² + v²)/2."""
    eta, u, v = (simulation.field(name) for name in ("eta", "u", "v"))
    return (0.5 * simulation.config.physics.gravity * eta**2 + 50.0 * (u**2 + v**2)).sum()


def test_it_travels_at_its_speed():
    simulation = after(
        {"case.start": 1.0, "grid.nx": 80, "grid.ny": 56, "grid.dx": soliton.L / 5, "grid.dy": soliton.L / 5}, 2
    )
    start = crest(simulation)
    simulation.advance(round(6 * soliton.T / simulation.dt))
    assert (start - crest(simulation)) / 6 == pytest.approx(1 / 3 + 0.395 * 0.395**2, rel=0.05)


def test_it_leaves_better_than_a_sponge_before_a_wall_swallows_it():
    begin = energy(after({}, 0))
    left = {sides: energy(after({"open_sides.sides": sides}, 50)) / begin for sides in ((), ("west", "east"))}
    assert left["west", "east"] < 0.002
    assert left["west", "east"] < 0.5 * left[()]
