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
from ...parallel.transport.halo import zero_beyond
from ...parallel.transport.programs import cached_jit
from ...setup.checks.extremes import process_rates

#: Cells per step along an axis that water crosses only in a blow-up.
MAX_CELLS_PER_STEP = 3.0


class Measures(NamedTuple):
    """The largest values on water: numbers of a block, or arrays [runs] of the whole domain of each run."""

    neg_min_h: float  # -min(h), m; infinity where a field is not finite
    max_h: float  # m
    speed: float  # m s-1
    crossing: float  # s-1, of |u|/dx and |v|/dy: cells that the water crosses
    wave_rate: float  # s-1, as are the following rates: `setup.checks.extremes.process_rates`
    drag_rate: float
    friction_rate: float
    transport_rate: float
    concentration: float  # largest |C/h| of any dissolved substance


#: Added to the thickness of a run with drying, which may be zero, m.
DRYING_OFFSET = 1e-30
#: The rates among them, which limit the time step.
RATES = tuple(name for name in Measures._fields if name.endswith("_rate"))


def blocks_of(domain):
    """For each block of this process: its Grid, NumPy arrays in Patches, and its shape."""
    margin = domain.scheme.margin
    pieces = domain.transport.get_blocks(domain.grid, margin)
    return [
        (as_patches(grid, margin), block.shape) for grid, block in zip(pieces, domain.transport.blocks, strict=True)
    ]


def make_unusable_count(margin: int, drying: bool, transport):
    """The function (State, wet) of a block -> number of unusable cells in all blocks.

    These are cells with a field that is not finite, and water without thickness: there `neg_min_h` is not negative.
    `wet` has `margin` cells around the block.
    """

    def count(state: State, wet):
        wet = Patch(wet, (-margin, -margin)).block_values(state.h.shape)
        finite = [field - field == 0 for field in state]
        has_thickness = state.h >= 0 if drying else state.h > 0
        bad = ~functools.reduce(operator.and_, finite) | (wet > 0) & ~has_thickness
        return transport.sum(zero_beyond(bad, transport.extent()).sum(dtype=state.h.dtype))

    return count


def count_unusable_cells(state: State, wet, scheme, transport):
    """The number of cells that `make_unusable_count` counts, in arrays of the blocks.

    NumPy counts states of NumPy arrays, as a copy to a device takes many times longer.
    """
    if not isinstance(state.h, np.ndarray):
        return cached_jit(make_unusable_count, scheme.margin, scheme.drying, transport)(state, wet)
    with np.errstate(invalid="ignore"):
        return make_unusable_count(scheme.margin, scheme.drying, transport)(state, np.asarray(wet))


def make_measures(scheme, margin: int, transport):
    """The function (State, (Grid, Params)) -> [Measures] of a block; Grid and Params have `margin` cells around it."""

    def measures(state: State, static):
        h = state.h
        grid, params = jax.tree.map(lambda field: Patch(field, (-margin, -margin)).block_values(h.shape), static)
        wet = zero_beyond(jnp.broadcast_to(grid.wet > 0, h.shape), transport.extent())
        finite = functools.reduce(operator.and_, map(jnp.isfinite, state))
        u, v, dx, dy = jnp.abs(state.u), jnp.abs(state.v), grid.dx.centre, grid.dy.centre
        dissolved = (jnp.abs(concentration_of(name, state)) for name in tracers_in(state._fields))
        rates = process_rates(scheme, params | {"h": h, "u": u, "v": v}, dx, dy)

        positive_thickness = h + DRYING_OFFSET if scheme.drying else h

        def largest(values):
            return jnp.where(wet, values, 0).max().astype(h.dtype)

        results = Measures(
            neg_min_h=jnp.where(finite, jnp.where(wet, -positive_thickness, -jnp.inf), jnp.inf).max(),
            max_h=largest(h),
            speed=jnp.sqrt((u * u + v * v).max()),
            crossing=largest(jnp.maximum(u / dx, v / dy)),
            **{name: largest(rates[name]) for name in RATES},
            concentration=largest(functools.reduce(jnp.maximum, dissolved, jnp.zeros_like(h))),
        )
        return jnp.stack(results)

    return measures
