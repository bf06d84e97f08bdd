"""A uniform current turns as u = U cos ft, v = - U sin ft, drag and wind included, to the order of the stepper."""

import numpy as np
import pytest
from support.known_answers import simulate

import swmodel
from swmodel.cases import inertial

GRID = {"grid.nx": 5, "grid.ny": 3, "grid.dx": 1e6, "grid.dy": 1e6}


def error(overrides, steps):
    """Largest error of u and v after one inertial period in `steps` steps, as a part of the speed at the start."""
    simulation = simulate("inertial", {**GRID, "time.dt": inertial.PERIOD / steps, **overrides}, inertial.PERIOD)
    u, v = inertial.velocity(simulation.config, simulation.time)
    state = simulation.state
    return max(np.abs(state.u - u).max(), np.abs(state.v - v).max()) / simulation.config.case.speed


@pytest.mark.parametrize(
    "forces",
    [
        {"physics.linear_drag": 3e-5},
        {"physics.quadratic_drag": 0.01},
        {"physics.linear_drag": 2e-5, "physics.quadratic_drag": 0.02, "physics.f0": -1e-4},
        {"physics.linear_drag": 3e-5, "case.wind": 0.2, "physics.gravity": 1.0},
        {"physics.f0": 0.0, "case.wind": 0.2},
    ],
)
def test_drag_and_wind(forces):
    assert error(forces, 100) < 1e-6


def test_sea_level_stays_flat():
    simulation = simulate("inertial", GRID, inertial.PERIOD)

    assert np.abs(simulation.field("eta")).max() < 1e-13 * simulation.config.physics.depth


def test_formula_without_rotation_is_that_of_each_law():
    def speed(**overrides):
        names = {"f0": "physics.f0", "r": "physics.linear_drag", "C": "physics.quadratic_drag", "wind": "case.wind"}
        values = {names[key]: value for key, value in {"f0": 0.0, **overrides}.items()}
        return inertial.velocity(swmodel.load("inertial", values, environ={}), 1e5)[0]

    assert speed(r=1e-5) == pytest.approx(0.5 * np.exp(-1))
    assert speed(C=0.01) == pytest.approx(0.5 / (1 + 0.01 * 0.5 * 1e5 / 100))
    assert speed(r=1e-5, wind=0.1) - speed(r=1e-5) == pytest.approx(0.1 / (1025 * 100 * 1e-5) * (1 - np.exp(-1)))
