"""What one pass over the state of a block measures, to be jitted."""

from __future__ import annotations

import functools
import operator
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...ocean.grid import Grid, as_patches
from ...ocean.patch import Patch
from ...ocean.state import State
from ...ocean.table import row_of
from ...parallel.transport.halo import within
from ...parallel.transport.programs import jitted
from ...setup.checks.extremes import rates_of


class Static(NamedTuple):
    """What the measures need and what does not change in a block: its Grid, and coefficients by name."""

    grid: Grid
    params: dict


class Measures(NamedTuple):
    """What is measured on water: numbers of a block, or of the whole domain of each run, arrays [runs]."""

    neg_min_h: float  # -min(h), m; infinity where a field is not finite
    max_h: float  # m
    speed: float  # m s-1, largest
    wave_rate: float  # s-1, largest, as are the following rates: `setup.checks.extremes.rates_of`
    drag_rate: float
    friction_rate: float
    transport_rate: float
    concentration: float  # largest in size of what is dissolved, C/h of any
    energy: float  # m5 s-2, sum over cells of area (h (u² + v²)/2 + g (h - depth)²/2)


#: The rates among them, which limit the time step.
RATES = tuple(name for name in Measures._fields if name.endswith("_rate"))


def blocks_of(domain):
    """For each block of this process: Grid and Params, NumPy arrays in Patches, and its shape."""
    margin = domain.scheme.margin
    pieces = domain.transport.pieces((domain.grid, domain.params), margin)
    for fields, block in zip(pieces, domain.transport.blocks, strict=True):
        yield *(as_patches(each, margin) for each in fields), block.shape


def make_count(margin: int, transport):
    """The function (State, wet) of a block -> number of cells, in all blocks, with which no run can go on.

    These are cells in which a field is not finite, and water without thickness: there `neg_min_h` is not negative.
    `wet` has `margin` cells around the block.
    """

    def count(state: State, wet):
        wet = Patch(wet, (-margin, -margin)).on(state.h.shape)
        finite = [field - field == 0 for field in state]
        bad = ~functools.reduce(operator.and_, finite) | (wet > 0) & ~(state.h > 0)
        return transport.sum(within(bad, transport.extent()).sum(dtype=state.h.dtype))

    return count


def unusable(state: State, wet, margin: int, transport):
    """The number of cells that `make_count` counts, in arrays of the blocks.

    A state of NumPy arrays is counted in NumPy: copying it to a device takes many times longer.
    """
    if not isinstance(state.h, np.ndarray):
        return jitted(make_count, margin, transport)(state, wet)
    with np.errstate(invalid="ignore"):
        return make_count(margin, transport)(state, np.asarray(wet))


def make_measure(gravity: float, terms, margin: int, transport):
    """The function (State, Static) -> [Measures] of a block, to be jitted; the energy is summed.

    Args:
        terms: those that are switched on.
        margin: cells around the block that the Static has.
    """

    def measures(state: State, static: Static):
        h, u, v = state[:3]
        grid, params = jax.tree.map(lambda field: Patch(field, (-margin, -margin)).on(h.shape), static)
        wet = within(jnp.broadcast_to(grid.wet > 0, h.shape), transport.extent())
        finite = functools.reduce(operator.and_, map(jnp.isfinite, state))
        neg_min_h = jnp.where(finite, jnp.where(wet, -h, -jnp.inf), jnp.inf)
        square, eta = u * u + v * v, h - grid.depth
        dissolved = (jnp.abs(C / h) for name, C in state._asdict().items() if row_of(name).content)
        values = params | {"h": h, "u": jnp.abs(u), "v": jnp.abs(v)}
        rates = rates_of(terms, values, grid.dx.centre, grid.dy.centre)
        energy = grid.area.centre * (0.5 * h * square + 0.5 * gravity * eta * eta)
        found = Measures(
            neg_min_h=neg_min_h.max(),
            max_h=jnp.where(wet, h, 0).max(),
            speed=jnp.sqrt(square.max()),
            **{name: jnp.where(wet, rates[name], 0).max().astype(h.dtype) for name in RATES},
            concentration=jnp.where(wet, functools.reduce(jnp.maximum, dissolved, jnp.zeros_like(h)), 0).max(),
            energy=jnp.where(wet, energy, 0).sum(),
        )
        return jnp.stack(found)

    return measures
