"""The observation operator: exact for linear fields, of order two, the same on every layout, with a true adjoint."""

from functools import partial
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.random_case import configuration

from swmodel.assimilation.interpolation import operator
from swmodel.assimilation.observations import Observations
from swmodel.ocean.coordinates import edges, points
from swmodel.ocean.state import State
from swmodel.ocean.table import VARIABLES
from swmodel.parallel.decomposition import block, blocks
from swmodel.setup.positions.stencils import QUANTITIES, stencils

pytestmark = pytest.mark.slow

NY, NX = 9, 11
DT, STEPS, EVERY = 20.0, 12, 4


def make(ny=NY, nx=NX, mask=None, rings=(False, False), **more):
    """A configuration of ny x nx cells with the given land; rings in (y, x)."""
    fields = {"mask": np.ones((ny, nx)) if mask is None else mask}
    options = {"grid__periodic_y": rings[0], "grid__periodic_x": rings[1], "time__dt": DT, "run__steps": STEPS}
    return configuration(ny, nx, fields, **(options | more))


def data(quantity, x, y, time=0.0):
    """Observations of a quantity, or of quantity numbers, without values."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    number = np.asarray(QUANTITIES.index(quantity) if isinstance(quantity, str) else quantity)
    fields = np.broadcast_arrays(number.astype(np.int8), np.asarray(time, float), x, y, np.nan, 1.0, "")
    return Observations(*fields)


def scattered(config, n, margin=0.0, seed=0):
    """n data of random quantities, times and places, `margin` cells from the edges of the domain."""
    rng, (west, east, south, north) = np.random.default_rng(seed), edges(config.grid)
    x = rng.uniform(west + margin * config.grid.dx, east - margin * config.grid.dx, n)
    y = rng.uniform(south + margin * config.grid.dy, north - margin * config.grid.dy, n)
    return data(rng.integers(0, 3, n), x, y, rng.uniform(0, STEPS * DT, n))


def seen(observations, config, fields):
    """What one process that has all of the fields {eta, u, v} sees; they do not change in time."""
    depth = np.full(fields["eta"].shape, 50.0)
    observe = operator(observations, config, block(0, (1, 1), config.grid.ny, config.grid.nx), STEPS)
    state = State(fields["eta"] + depth, fields["u"], fields["v"])
    return np.asarray(observe.collect(series_of(observe, jax.tree.map(lambda f: jnp.stack([f, f]), state), depth)))


@partial(jax.jit, static_argnums=0)
def series_of(observe, states, depth):
    """What `observe` gives of states with a leading axis of samples."""

    def share(k):
        return observe.observe(SimpleNamespace(state=jax.tree.map(lambda field: field[k], states), depth=depth), k)

    return jax.lax.map(share, jnp.arange(len(states.h)))


def evaluated(config, function):
    """Fields {eta, u, v} of a function of (name, x, y) at their points, [ny, nx]."""
    shape = (config.grid.ny, config.grid.nx)
    at = {q: points(config.grid, VARIABLES[q].location, range(shape[0]), range(shape[1])) for q in QUANTITIES}
    return {q: np.broadcast_to(function(q, at[q].x, at[q].y), shape).astype(float) for q in QUANTITIES}


def linear(name, x, y):
    """A linear field of order one over 50 km."""
    return {"eta": 1, "u": -2, "v": 3}[name] * 0.1 + 2e-5 * x - 3e-5 * y


@pytest.mark.parametrize(("origin", "quantity"), [("edge", "eta"), ("centre", "u"), ("middle", "v")])
def test_linear_fields_are_interpolated_exactly(origin, quantity):
    config = make(grid__origin=origin)
    at = scattered(config, 200, margin=1.0)._replace(quantity=np.full(200, QUANTITIES.index(quantity)))
    found = seen(at, config, evaluated(config, linear))
    np.testing.assert_allclose(found, linear(quantity, at.x, at.y), rtol=0, atol=1e-13)


def test_at_walls_sea_level_and_flow_along_them_are_those_of_the_nearest_cells_and_flow_across_goes_to_zero():
    config = make()
    fields = evaluated(config, lambda name, x, y: 1.0 + linear(name, x, y))
    fields["u"][:, -1] = fields["v"][-1] = 0.0
    dx, dy = config.grid.dx, config.grid.dy
    west = data([0, 1, 2], [0.2 * dx, 0.2 * dx, 0.2 * dx], [2.5 * dy, 2.5 * dy, 3 * dy])
    expected = [fields["eta"][2, 0], 0.2 * fields["u"][2, 0], fields["v"][2, 0]]
    np.testing.assert_allclose(seen(west, config, fields), expected, rtol=1e-14)
    corner = data([0, 1, 2], 3 * [(NX - 0.1) * dx], 3 * [(NY - 0.2) * dy])
    expected = [fields["eta"][-1, -1], 0.1 * fields["u"][-1, -2], 0.2 * fields["v"][-2, -1]]
    np.testing.assert_allclose(seen(corner, config, fields), expected, rtol=1e-13)


def test_a_dry_cell_leaves_the_weights_to_the_others():
    mask = np.ones((NY, NX))
    mask[3, 4] = 0
    config = make(mask=mask)
    fields = evaluated(config, linear)
    x, y = (4.5 - 0.25) * config.grid.dx, (3.5 - 0.25) * config.grid.dy
    weights, eta = np.array([1 / 16, 3 / 16, 3 / 16]), fields["eta"]
    expected = weights @ [eta[2, 3], eta[2, 4], eta[3, 3]] / weights.sum()
    np.testing.assert_allclose(seen(data("eta", [x], [y]), config, fields), [expected], rtol=1e-13)


@pytest.mark.parametrize("layout", [(1, 3), (3, 2)])
def test_the_shares_of_the_blocks_add_up_to_the_bits_of_one_block(layout):
    rng = np.random.default_rng(3)
    config = make(mask=(rng.random((NY, NX)) > 0.2).astype(float), rings=(False, True))
    at = scattered(config, 300)
    history = [State(*rng.standard_normal((3, NY, NX))) for _ in range(STEPS // EVERY + 1)]
    depth = rng.random((NY, NX))

    def share(part):
        observe = operator(at, config, part, EVERY)
        cut = np.s_[part.y.start : part.y.stop, part.x.start : part.x.stop]
        states = jax.tree.map(lambda *values: jnp.stack([value[cut] for value in values]), *history)
        return observe, series_of(observe, states, depth[cut])

    whole, expected = share(block(0, (1, 1), NY, NX))
    parts = [share(part)[1] for part in blocks(layout, NY, NX)]
    assert {part.shape for part in parts} == {expected.shape}, "every process computes arrays of the same shapes"
    total = sum(parts)
    np.testing.assert_array_equal(total, expected)
    np.testing.assert_array_equal(whole.collect(total), whole.collect(expected))


def test_each_observation_is_of_the_sample_nearest_in_time_in_the_order_of_the_file():
    config = make()
    time = np.array([STEPS * DT, 0.0, 1.4 * EVERY * DT, 1.6 * EVERY * DT, 0.49 * EVERY * DT, 0.5 * EVERY * DT])
    at = data("eta", np.full(6, 20e3), np.full(6, 20e3), time)
    observe = operator(at, config, block(0, (1, 1), NY, NX), EVERY)
    zero = np.zeros((4, NY, NX))
    states = State(zero + np.arange(4.0)[:, None, None], zero, zero)
    found = observe.collect(series_of(observe, states, zero[0]))
    np.testing.assert_allclose(found, [3, 0, 1, 2, 0, 1], rtol=1e-14)


@pytest.mark.parametrize("layout", [(1, 1), (2, 2)])
def test_the_transpose_is_the_adjoint_and_reaches_water_only(layout):
    """<H x, y> = <x, H^T y> to round-off, for the sum over the blocks; no gradient on land or on closed faces."""
    rng = np.random.default_rng(4)
    mask = (rng.random((NY, NX)) > 0.3).astype(float)
    config = make(mask=mask, rings=(True, False))
    at = scattered(config, 300)
    at = at.where(stencils(config, at.quantity, at.x, at.y).reached)
    left = right = 0.0
    for part in blocks(layout, NY, NX):
        observe = operator(at, config, part, EVERY)

        states = State(*rng.standard_normal((3, STEPS // EVERY + 1, *part.shape)))
        series, pull = jax.vjp(lambda s, o=observe, at=part: series_of(o, s, np.zeros(at.shape)), states)
        bar = np.random.default_rng(5).standard_normal(series.shape)
        (gradient,) = pull(jnp.asarray(bar))
        left += np.vdot(series, bar)
        right += sum(np.vdot(a, b) for a, b in zip(states, gradient, strict=True))
        wet = mask[part.y.start : part.y.stop, part.x.start : part.x.stop]
        assert (np.asarray(gradient.h)[:, wet == 0] == 0).all()
        if layout == (1, 1):
            assert (np.asarray(gradient.u)[:, (mask * np.roll(mask, -1, 1)) == 0] == 0).all()
            assert (np.asarray(gradient.u)[:, :, -1] == 0).all()
    assert abs(left - right) < 1e-12 * abs(left)
