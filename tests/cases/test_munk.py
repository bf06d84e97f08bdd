"""Munk's (1950) solution of the wind-driven gyre with lateral friction."""

import numpy as np
import pytest

import swmodel
from swmodel.cases import munk

pytestmark = pytest.mark.slow


def middle_of(config):
    return config.grid.ny * config.grid.dy / 2


def test_solution_has_munks_limit_in_a_wide_basin():
    config = swmodel.load("munk", {"grid.nx": 4000, "grid.ny": 4000, "grid.dx": 20e3, "grid.dy": 20e3}, environ={})
    width = munk.boundary_layer_width(config)
    x = np.linspace(0, 10 * width, 100001)
    psi = munk.streamfunction(config, x, middle_of(config))

    assert width >= 2.999 * config.grid.dx
    assert x[psi.argmax()] == pytest.approx(2 * np.pi * width / np.sqrt(3), rel=2e-3)


def test_solution_meets_the_walls_without_slip():
    config = swmodel.load("munk", environ={})
    Lx, step = config.grid.nx * config.grid.dx, 1e-4 * munk.boundary_layer_width(config)
    psi = munk.streamfunction(config, np.array([0.0, step, Lx / 2, Lx - step, Lx]), middle_of(config))

    assert np.abs(psi[[0, -1]]).max() < 1e-10 * psi[2]
    assert np.abs(psi[[1, -2]]).max() < 1e-7 * psi[2]
