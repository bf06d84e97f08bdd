"""A uniform current turns as u = U cos ft, v = - U sin ft, drag and wind included, to the order of the stepper."""

import numpy as np
import pytest

from swmodel.bench.known_answers.answer import simulate
from swmodel.cases import inertial

pytestmark = pytest.mark.slow

GRID = {"grid.nx": 5, "grid.ny": 3, "grid.dx": 1e6, "grid.dy": 1e6}


def error(overrides, steps):
    """Largest error of u and v after one inertial period in `steps` steps, as a part of the speed at the start."""
    simulation = simulate("inertial", {**GRID, "time.dt": inertial.PERIOD / steps, **overrides}, inertial.PERIOD)
    u, v = inertial.velocity(simulation.config, simulation.time)
    state = simulation.state
    assert np.abs(simulation.field("eta")).max() < 1e-12 * simulation.config.physics.depth
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
