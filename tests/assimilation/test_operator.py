"""The observation operator: exact for linear fields, the same bits on every layout, with its exact adjoint."""

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
WHOLE = block(0, (1, 1), NY, NX)


def make(mask=None, rings=(False, False), **more):
    """A configuration with the given land; rings in (y, x)."""
    fields = {"mask": np.ones((NY, NX)) if mask is None else mask}
    options = {"grid__periodic_y": rings[0], "grid__periodic_x": rings[1], "time__dt": DT, "run__steps": STEPS}
    return configuration(NY, NX, fields, **(options | more))


def data(quantity, x, y, time=0.0):
    """Observations of quantities, by number, without values."""
    x, y, number = np.asarray(x, float), np.asarray(y, float), np.asarray(quantity, np.int8)
    return Observations(*np.broadcast_arrays(number, np.asarray(time, float), x, y, np.nan, 1.0, ""))


def scattered(config, n, margin=0.0, seed=0):
    """n data of random quantities, times and places, `margin` cells from the edges of the domain."""
    rng, (west, east, south, north) = np.random.default_rng(seed), edges(config.grid)
    x = rng.uniform(west + margin * config.grid.dx, east - margin * config.grid.dx, n)
    y = rng.uniform(south + margin * config.grid.dy, north - margin * config.grid.dy, n)
    return data(rng.integers(0, 3, n), x, y, rng.uniform(0, STEPS * DT, n))


def seen(observations, config, fields):
    """What one process that has all of the fields {eta, u, v} sees; they do not change in time."""
    depth = np.full((NY, NX), 50.0)
    observe = operator(observations, config, WHOLE, STEPS)
    state = State(fields["eta"] + depth, fields["u"], fields["v"])
    return np.asarray(observe.collect(series_of(observe, jax.tree.map(lambda f: jnp.stack([f, f]), state), depth)))


@partial(jax.jit, static_argnums=0)
def series_of(observe, states, depth):
    """What `observe` gives of states with a leading axis of samples."""

    def share(k):
        return observe.observe(SimpleNamespace(state=jax.tree.map(lambda field: field[k], states), depth=depth), k)

    return jax.lax.map(share, jnp.arange(len(states.h)))


def linear(name, x, y):
    """A linear field of order one over 50 km."""
    return {"eta": 1, "u": -2, "v": 3}[name] * 0.1 + 2e-5 * x - 3e-5 * y


def evaluated(config):
    """The linear fields {eta, u, v} at their points, [ny, nx]."""
    at = {q: points(config.grid, VARIABLES[q].location, range(NY), range(NX)) for q in QUANTITIES}
    return {q: np.broadcast_to(linear(q, at[q].x, at[q].y), (NY, NX)).astype(float) for q in QUANTITIES}


@pytest.mark.parametrize("origin", ["edge", "centre", "middle"])
def test_linear_fields_are_interpolated_exactly(origin):
    config = make(grid__origin=origin)
    at = scattered(config, 200, margin=1.0)
    expected = np.array([linear(QUANTITIES[q], x, y) for q, x, y in zip(at.quantity, at.x, at.y, strict=True)])
    np.testing.assert_allclose(seen(at, config, evaluated(config)), expected, rtol=0, atol=1e-13)


def test_at_walls_nearest_cells_count_and_flow_vanishes():
    config = make()
    fields = {name: 1.0 + field for name, field in evaluated(config).items()}
    fields["u"][:, -1] = fields["v"][-1] = 0.0
    dx, dy = config.grid.dx, config.grid.dy
    west = data([0, 1, 2], [0.2 * dx, 0.2 * dx, 0.2 * dx], [2.5 * dy, 2.5 * dy, 3 * dy])
    expected = [fields["eta"][2, 0], 0.2 * fields["u"][2, 0], fields["v"][2, 0]]
    np.testing.assert_allclose(seen(west, config, fields), expected, rtol=1e-14)
    corner = data([0, 1, 2], 3 * [(NX - 0.1) * dx], 3 * [(NY - 0.2) * dy])
    expected = [fields["eta"][-1, -1], 0.1 * fields["u"][-1, -2], 0.2 * fields["v"][-2, -1]]
    np.testing.assert_allclose(seen(corner, config, fields), expected, rtol=1e-13)


def test_dry_cell_leaves_its_weight_to_the_others():
    mask = np.ones((NY, NX))
    mask[3, 4] = 0
    config = make(mask)
    fields = evaluated(config)
    x, y = (4.5 - 0.25) * config.grid.dx, (3.5 - 0.25) * config.grid.dy
    weights, eta = np.array([1 / 16, 3 / 16, 3 / 16]), fields["eta"]
    expected = weights @ [eta[2, 3], eta[2, 4], eta[3, 3]] / weights.sum()
    np.testing.assert_allclose(seen(data(0, [x], [y]), config, fields), [expected], rtol=1e-13)


def test_observation_is_of_the_sample_nearest_in_time():
    """In the order of the file."""
    config = make()
    time = np.array([STEPS * DT, 0.0, 1.4 * EVERY * DT, 1.6 * EVERY * DT, 0.49 * EVERY * DT, 0.5 * EVERY * DT])
    observe = operator(data(0, np.full(6, 20e3), np.full(6, 20e3), time), config, WHOLE, EVERY)
    zero = np.zeros((4, NY, NX))
    states = State(zero + np.arange(4.0)[:, None, None], zero, zero)
    found = observe.collect(series_of(observe, states, zero[0]))
    np.testing.assert_allclose(found, [3, 0, 1, 2, 0, 1], rtol=1e-14)


def test_blocks_have_the_bits_of_one_and_the_exact_adjoint():
    """<H x, y> = <x, H^T y> to round-off, for the sum over the blocks; no gradient on land or on closed faces."""
    rng = np.random.default_rng(3)
    mask = (rng.random((NY, NX)) > 0.2).astype(float)
    config = make(mask, rings=(False, True))
    at = scattered(config, 300)
    at = at.where(stencils(config, at.quantity, at.x, at.y).reached)
    history, depth = State(*rng.standard_normal((3, STEPS // EVERY + 1, NY, NX))), rng.random((NY, NX))

    def pulled(part):
        observe, cut = operator(at, config, part, EVERY), (..., *(slice(a.start, a.stop) for a in (part.y, part.x)))
        states = jax.tree.map(lambda field: jnp.asarray(field[cut]), history)
        series, pull = jax.vjp(lambda states: series_of(observe, states, depth[cut]), states)
        bar = np.random.default_rng(5).standard_normal(series.shape)
        (gradient,) = pull(jnp.asarray(bar))
        linear = series - series_of(observe, jax.tree.map(jnp.zeros_like, states), depth[cut])
        left, right = np.vdot(linear, bar), sum(np.vdot(a, b) for a, b in zip(states, gradient, strict=True))
        assert (np.asarray(gradient.h)[:, mask[cut] == 0] == 0).all()
        return observe, series, left, right, gradient

    whole, expected, *_, gradient = pulled(WHOLE)
    assert (np.asarray(gradient.u)[:, (mask * np.roll(mask, -1, 1)) == 0] == 0).all()
    assert (np.asarray(gradient.v)[:, -1] == 0).all()
    _, parts, left, right, _ = zip(*(pulled(part) for part in blocks((3, 2), NY, NX)), strict=True)
    assert {part.shape for part in parts} == {expected.shape}, "every process computes arrays of the same shapes"
    np.testing.assert_array_equal(sum(parts), expected)
    np.testing.assert_array_equal(whole.collect(sum(parts)), whole.collect(expected))
    assert abs(sum(left) - sum(right)) < 1e-12 * abs(sum(left))
