"""The wind-driven gyre with lateral friction comes to Munk's (1950) steady state."""

import numpy as np
import pytest

import swmodel
from swmodel.bench.known_answers.answer import simulate, whole
from swmodel.bench.known_answers.flows import streamfunction
from swmodel.cases import munk

LONG = {"grid.nx": 120, "grid.ny": 20, "grid.dx": 20e3, "grid.dy": 50e3, "physics.f0": 5e-5}


def middle_of(config):
    return config.grid.ny * config.grid.dy / 2


def test_streamfunction_is_munks_and_the_current_turns_where_he_says():
    """Along the middle of a long basin with three cells in the boundary layer."""
    simulation = simulate("munk", LONG, 110 * 86400.0)
    config, middle = simulation.config, simulation.config.grid.ny // 2 - 1
    x, psi, v = whole(config, "corner").x[0], streamfunction(simulation)[middle], simulation.state.v[middle]
    exact = munk.streamfunction(config, x, middle_of(config))
    first = np.flatnonzero((v[:-1] > 0) & (v[1:] <= 0))[0]
    zero = x[first] - config.grid.dx * (0.5 - v[first] / (v[first] - v[first + 1]))

    assert munk.boundary_layer_width(config) >= 2.999 * config.grid.dx
    np.testing.assert_allclose(psi, exact, rtol=0, atol=0.025 * exact.max())
    assert zero == pytest.approx(2 * np.pi * munk.boundary_layer_width(config) / np.sqrt(3), rel=0.03)


def test_solution_has_munks_limit_in_a_wide_basin():
    config = swmodel.load("munk", {"grid.nx": 4000, "grid.ny": 4000, "grid.dx": 20e3, "grid.dy": 20e3}, environ={})
    width = munk.boundary_layer_width(config)
    x = np.linspace(0, 10 * width, 100001)
    psi = munk.streamfunction(config, x, middle_of(config))

    assert x[psi.argmax()] == pytest.approx(2 * np.pi * width / np.sqrt(3), rel=2e-3)


def test_solution_meets_the_walls_without_slip():
    config = swmodel.load("munk", environ={})
    Lx, step = config.grid.nx * config.grid.dx, 1e-4 * munk.boundary_layer_width(config)
    psi = munk.streamfunction(config, np.array([0.0, step, Lx / 2, Lx - step, Lx]), middle_of(config))

    assert np.abs(psi[[0, -1]]).max() < 1e-10 * psi[2]
    assert np.abs(psi[[1, -2]]).max() < 1e-7 * psi[2]
