"""The wind-driven gyre with lateral friction comes to Munk's (1950) steady state."""

import numpy as np
import pytest
from support.known_answers import simulate, streamfunction, whole

import swmodel
from swmodel.cases import munk

DAY = 86400.0
LONG = {"grid.nx": 120, "grid.ny": 20, "grid.dx": 20e3, "grid.dy": 50e3, "physics.f0": 5e-5}


@pytest.fixture(scope="module")
def settled():
    """(config, x of the corners, streamfunction and v along the middle) of a long basin with three cells in delta."""
    simulation = simulate("munk", LONG, 110 * DAY)
    config, middle = simulation.config, simulation.config.grid.ny // 2 - 1
    assert munk.boundary_layer_width(config) >= 2.999 * config.grid.dx
    x = whole(config, "corner").x[0]
    return config, x, streamfunction(simulation)[middle], simulation.state.v[middle]


def middle_of(config):
    return config.grid.ny * config.grid.dy / 2


def test_streamfunction_is_munks(settled):
    config, x, psi, _ = settled
    exact = munk.streamfunction(config, x, middle_of(config))

    np.testing.assert_allclose(psi, exact, rtol=0, atol=0.025 * exact.max())


def test_current_turns_where_munk_says(settled):
    config, x, _, v = settled
    first = np.flatnonzero((v[:-1] > 0) & (v[1:] <= 0))[0]
    zero = x[first] - config.grid.dx * (0.5 - v[first] / (v[first] - v[first + 1]))

    assert zero == pytest.approx(munk.zero_crossing(config), rel=0.03)


def test_streamfunction_overshoots_the_interior(settled):
    config, x, psi, _ = settled
    most = psi.argmax()

    assert psi[most] / munk.interior(config, x[most], middle_of(config)) == pytest.approx(munk.overshoot(), rel=0.02)


def test_solution_has_munks_limits_in_a_wide_basin():
    config = swmodel.load("munk", {"grid.nx": 4000, "grid.ny": 4000, "grid.dx": 20e3, "grid.dy": 20e3}, environ={})
    x = np.linspace(0, 10 * munk.boundary_layer_width(config), 100001)
    psi = munk.streamfunction(config, x, middle_of(config))
    most = psi.argmax()

    assert x[most] == pytest.approx(munk.zero_crossing(config), rel=2e-3)
    assert psi[most] / munk.interior(config, x[most], middle_of(config)) == pytest.approx(munk.overshoot(), rel=1e-3)


@pytest.mark.parametrize("overrides", [{}, LONG, {"physics.gravity": 1.0, "physics.beta": 1e-10, "grid.ny": 7}])
def test_solution_meets_the_walls_without_slip(overrides):
    config = swmodel.load("munk", overrides, environ={})
    Lx, step = config.grid.nx * config.grid.dx, 1e-4 * munk.boundary_layer_width(config)
    walls = munk.streamfunction(config, np.array([0.0, Lx]), middle_of(config))
    beside = munk.streamfunction(config, np.array([step, Lx - step]), middle_of(config))
    largest = munk.streamfunction(config, np.linspace(0, Lx, 200), middle_of(config)).max()

    assert np.abs(walls).max() < 1e-10 * largest
    assert np.abs(beside).max() < 1e-7 * largest
