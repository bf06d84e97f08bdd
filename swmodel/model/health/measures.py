"""The measures of one pass over the state of a block, as traceable functions."""

from __future__ import annotations

import functools
import operator
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...ocean.grid import as_patches
from ...ocean.patch import Patch
from ...ocean.state import State
from ...ocean.terms.tracer import concentration_of, tracers_in
from ...parallel.transport.halo import within
from ...parallel.transport.programs import jitted
from ...setup.checks.extremes import rates_of

#: Cells per step along an axis that water crosses only in a blow-up.
CELLS = 3.0


class Measures(NamedTuple):
    """The largest values on water: numbers of a block, or arrays [runs] of the whole domain of each run."""

    neg_min_h: float  # -min(h), m; infinity where a field is not finite
    max_h: float  # m
    speed: float  # m s-1
    crossing: float  # s-1, of |u|/dx and |v|/dy: cells that the water crosses
    wave_rate: float  # s-1, as are the following rates: `setup.checks.extremes.rates_of`
    drag_rate: float
    friction_rate: float
    transport_rate: float
    concentration: float  # largest |C/h| of any dissolved substance


#: Added to the thickness of a run with drying, which may be zero, m.
DRY = 1e-30
#: The rates among them, which limit the time step.
RATES = tuple(name for name in Measures._fields if name.endswith("_rate"))


def blocks_of(domain):
    """For each block of this process: its Grid, NumPy arrays in Patches, and its shape."""
    margin = domain.scheme.margin
    pieces = domain.transport.pieces(domain.grid, margin)
    return [
        (as_patches(grid, margin), block.shape) for grid, block in zip(pieces, domain.transport.blocks, strict=True)
    ]


def make_count(margin: int, drying: bool, transport):
    """The function (State, wet) of a block -> number of unusable cells in all blocks.

    These are cells with a field that is not finite, and water without thickness: there `neg_min_h` is not negative.
    `wet` has `margin` cells around the block.
    """

    def count(state: State, wet):
        wet = Patch(wet, (-margin, -margin)).on(state.h.shape)
        finite = [field - field == 0 for field in state]
        enough = state.h >= 0 if drying else state.h > 0
        bad = ~functools.reduce(operator.and_, finite) | (wet > 0) & ~enough
        return transport.sum(within(bad, transport.extent()).sum(dtype=state.h.dtype))

    return count


def unusable(state: State, wet, scheme, transport):
    """The number of cells that `make_count` counts, in arrays of the blocks.

    NumPy counts states of NumPy arrays, as a copy to a device takes many times longer.
    """
    if not isinstance(state.h, np.ndarray):
        return jitted(make_count, scheme.margin, scheme.drying, transport)(state, wet)
    with np.errstate(invalid="ignore"):
        return make_count(scheme.margin, scheme.drying, transport)(state, np.asarray(wet))


def make_measure(scheme, margin: int, transport):
    """The function (State, (Grid, Params)) -> [Measures] of a block; Grid and Params have `margin` cells around it."""

    def measures(state: State, static):
        h = state.h
        grid, params = jax.tree.map(lambda field: Patch(field, (-margin, -margin)).on(h.shape), static)
        wet = within(jnp.broadcast_to(grid.wet > 0, h.shape), transport.extent())
        finite = functools.reduce(operator.and_, map(jnp.isfinite, state))
        u, v, dx, dy = jnp.abs(state.u), jnp.abs(state.v), grid.dx.centre, grid.dy.centre
        dissolved = (jnp.abs(concentration_of(name, state)) for name in tracers_in(state._fields))
        rates = rates_of(scheme, params | {"h": h, "u": u, "v": v}, dx, dy)

        enough = h + DRY if scheme.drying else h

        def largest(values):
            return jnp.where(wet, values, 0).max().astype(h.dtype)

        found = Measures(
            neg_min_h=jnp.where(finite, jnp.where(wet, -enough, -jnp.inf), jnp.inf).max(),
            max_h=largest(h),
            speed=jnp.sqrt((u * u + v * v).max()),
            crossing=largest(jnp.maximum(u / dx, v / dy)),
            **{name: largest(rates[name]) for name in RATES},
            concentration=largest(functools.reduce(jnp.maximum, dissolved, jnp.zeros_like(h))),
        )
        return jnp.stack(found)

    return measures
