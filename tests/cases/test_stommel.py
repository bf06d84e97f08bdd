"""The wind-driven gyre with linear drag comes to Stommel's (1948) steady state."""

import numpy as np
import pytest
from support.known_answers import simulate, streamfunction, whole

import swmodel
from swmodel.cases import stommel

DAY = 86400.0
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
    simulation = simulate("stommel", {**BASIN, **overrides}, 60 * DAY)
    corners, grid = whole(simulation.config, "corner"), simulation.config.grid
    x, y = (corners.i + 1) * grid.dx, (corners.j + 1) * grid.dy
    exact = stommel.streamfunction(simulation.config, x, y)

    assert stommel.boundary_layer_width(simulation.config) >= 4 * grid.dx
    np.testing.assert_allclose(streamfunction(simulation), exact, rtol=0, atol=0.01 * np.abs(exact).max())


@pytest.mark.parametrize("overrides", [{}, {"grid.ny": 5}, {"physics.beta": 0.0}])
def test_streamfunction_solves_the_linear_equation(overrides):
    config = swmodel.load("stommel", {**BASIN, **overrides}, environ={})
    grid, physics, d = config.grid, config.physics, 500.0
    Lx, Ly = grid.nx * grid.dx, grid.ny * grid.dy
    x, y = np.linspace(0.01, 0.99, 40) * Lx, np.linspace(0.01, 0.99, 7)[:, None] * Ly
    psi = {(j, i): stommel.streamfunction(config, x + i * d, y + j * d) for j in (-1, 0, 1) for i in (-1, 0, 1)}
    laplacian = (psi[0, 1] + psi[0, -1] + psi[1, 0] + psi[-1, 0] - 4 * psi[0, 0]) / d**2
    slope = (psi[0, 1] - psi[0, -1]) / (2 * d)
    curl = -config.case.wind * np.pi / Ly * np.sin(np.pi * y / Ly) / (physics.density * physics.depth)

    residual = physics.linear_drag * laplacian + physics.beta * slope - curl
    assert np.abs(residual).max() < 1e-3 * np.abs(curl).max()
    assert np.abs(stommel.streamfunction(config, np.array([0.0, Lx]), y)).max() < 1e-12 * np.abs(psi[0, 0]).max()
