"""Numbers that describe the health of a state, computed in one pass over a block by traceable functions."""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Any, NamedTuple

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

if TYPE_CHECKING:
    from ...ocean.scheme import Scheme
    from ...parallel.transport.transport import Transport

#: Largest number of cells per step that water may cross along an axis; it crosses more only in a blow-up.
MAX_CELLS_PER_STEP = 3.0


class Measures(NamedTuple):
    """The largest values on water: numbers for a block, or arrays [runs] for the whole domain of each run."""

    neg_min_h: Any  # -min(h), m; infinity where a field is not finite
    max_h: Any  # m
    speed: Any  # m s-1
    crossing: Any  # |u|/dx or |v|/dy, s-1: cells that the water crosses per second
    wave_rate: Any  # this and the following rates in s-1: `setup.checks.extremes.process_rates`
    drag_rate: Any
    friction_rate: Any
    transport_rate: Any
    concentration: Any  # |C/h| of any tracer


#: Added to the thickness in runs with drying, m, so that water of zero thickness counts as positive.
DRYING_OFFSET = 1e-30
RATES = tuple(name for name in Measures._fields if name.endswith("_rate"))


def blocks_of(domain):
    """For each block of this process its Grid, NumPy arrays in Patches, and its shape."""
    halo = domain.scheme.static_halo
    pairs = zip(domain.transport.get_blocks(domain.grid, halo), domain.transport.blocks, strict=True)
    return [(as_patches(grid, halo), block.shape) for grid, block in pairs]


def make_unusable_count(halo: int, drying: bool, transport: Transport):
    """The function (State, wet) of a block -> number of unusable cells in all blocks; `wet` has a halo.

    In an unusable cell a field is not finite, or water has a negative or, without drying, zero thickness.
    """

    def count(state: State, wet):
        wet = Patch(wet, (-halo, -halo)).block_values(state.h.shape)
        finite = [field - field == 0 for field in state]
        has_thickness = state.h >= 0 if drying else state.h > 0
        bad = ~functools.reduce(operator.and_, finite) | (wet > 0) & ~has_thickness
        return transport.sum(zero_beyond(bad, transport.extent()).sum(dtype=state.h.dtype))

    return count


def count_unusable_cells(state: State, wet, scheme: Scheme, transport: Transport):
    """The number of unusable cells; NumPy counts those in NumPy arrays, because copies to a device take much longer."""
    if not isinstance(state.h, np.ndarray):
        return cached_jit(make_unusable_count, scheme.static_halo, scheme.drying, transport)(state, wet)
    with np.errstate(invalid="ignore"):
        return make_unusable_count(scheme.static_halo, scheme.drying, transport)(state, np.asarray(wet))


def make_measures(scheme: Scheme, halo: int, transport: Transport):
    """The function (State, (Grid, Params)) -> Measures of a block, as one array; Grid and Params have a `halo`."""

    def measures(state: State, static):
        h = state.h
        grid, params = jax.tree.map(lambda field: Patch(field, (-halo, -halo)).block_values(h.shape), static)
        wet = zero_beyond(jnp.broadcast_to(grid.wet > 0, h.shape), transport.extent())
        finite = functools.reduce(operator.and_, map(jnp.isfinite, state))
        u, v, dx, dy = jnp.abs(state.u), jnp.abs(state.v), grid.dx.centre, grid.dy.centre
        concentrations = (jnp.abs(concentration_of(name, state)) for name in tracers_in(state._fields))
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
            concentration=largest(functools.reduce(jnp.maximum, concentrations, jnp.zeros_like(h))),
        )
        return jnp.stack(results)

    return measures
