"""The wind-driven gyre with linear drag comes to Stommel's (1948) steady state."""

import numpy as np
import pytest

from swmodel.bench.known_answers.answer import simulate, whole
from swmodel.bench.known_answers.flows import streamfunction
from swmodel.cases import stommel

BASIN = {"grid.nx": 50, "grid.ny": 50, "grid.dx": 2e4, "grid.dy": 2e4, "physics.linear_drag": 1.6e-6}
SCALED = {"grid.ny": 31, "grid.dx": 1e4, "grid.dy": 3e4, "grid.origin": "middle", "physics.linear_drag": 1.2e-6}


@pytest.mark.parametrize(
    "overrides",
    [
        {"physics.f0": -5e-5, "case.wind": -0.01},
        {**SCALED, "physics.gravity": 1.0, "physics.depth": 500.0, "case.wind": 1e-3},
    ],
)
def test_streamfunction_is_stommels(overrides):
    simulation = simulate("stommel", {**BASIN, **overrides}, 60 * 86400.0)
    corners, grid = whole(simulation.config, "corner"), simulation.config.grid
    x, y = (corners.i + 1) * grid.dx, (corners.j + 1) * grid.dy
    exact = stommel.streamfunction(simulation.config, x, y)

    np.testing.assert_allclose(streamfunction(simulation), exact, rtol=0, atol=0.01 * np.abs(exact).max())
