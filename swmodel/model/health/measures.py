"""What one pass over the state of a block finds, to be jitted."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from ...ocean.operators import Patch
from ...ocean.state import State
from ...parallel.transport.halo import within


class Static(NamedTuple):
    """Fields of the block that `measure_block` needs, each [y, x] or [1, 1]."""

    wet: Any
    depth: Any  # m
    linear_drag: Any  # s-1


class Measures(NamedTuple):
    """What one look finds on water, in a block, or in the whole domain of each run: numbers, or arrays [runs]."""

    low: float  # -min(h), m; infinity where h, u or v is not finite
    high: float  # max(h), m
    speed: float  # m s-1, largest
    wave_rate: float  # s-1, largest 2 sqrt(g h (1/dx² + 1/dy²)) + |u|/dx + |v|/dy
    drag_rate: float  # s-1, largest
    energy: float  # m3 s-2, sum over cells of h (u² + v²)/2 + g (h - depth)²/2


def scale(grid) -> float:
    """sqrt(1/dx² + 1/dy²), m-1."""
    return math.hypot(1 / grid.dx, 1 / grid.dy)


@lru_cache(maxsize=8)
def unusable(transport, margin: int = 0):
    """The function (State, wet) of a block -> number of cells, of all blocks, that no run can go on from.

    They are those in which h, u or v is not finite, and water without thickness: where `Measures.low` is not negative.
    Jitted, once for all runs with the same block; a state of NumPy arrays is looked at where it is, many times faster
    than it goes to a device.

    Args:
        margin: cells around the block that `wet` has.
    """

    def count(state: State, wet):
        wet = Patch(wet, (-margin, -margin)).on(state.h.shape)
        finite = [field - field == 0 for field in state]
        bad = ~(finite[0] & finite[1] & finite[2]) | (wet > 0) & ~(state.h > 0)
        return transport.sum(within(bad, transport.extent()).sum(dtype=state.h.dtype))

    jitted = transport.jit(count)

    def look(state: State, wet):
        if not isinstance(state.h, np.ndarray):
            return jitted(state, wet)
        with np.errstate(invalid="ignore"):
            return count(state, np.asarray(wet))

    return look


def measure_block(config, transport, margin: int = 0):
    """The function (State, Static) -> [Measures] of a block, to be jitted; the energy is summed.

    Args:
        margin: cells around the block that the Static has.
    """
    grid, physics = config.grid, config.physics
    waves = 4 * physics.gravity * scale(grid) ** 2

    def measures(state: State, static: Static):
        h, u, v = state
        static = Static(*(Patch(field, (-margin, -margin)).on(h.shape) for field in static))
        wet = within(jnp.broadcast_to(static.wet > 0, h.shape), transport.extent())
        finite = jnp.isfinite(h) & jnp.isfinite(u) & jnp.isfinite(v)
        low = jnp.where(finite, jnp.where(wet, -h, -jnp.inf), jnp.inf)
        square = u * u + v * v
        rate = jnp.sqrt(jnp.maximum(h, 0) * waves) + jnp.abs(u) / grid.dx + jnp.abs(v) / grid.dy
        drag = static.linear_drag
        if physics.quadratic_drag > 0:
            drag = drag + 2 * physics.quadratic_drag * jnp.sqrt(square) / h
        eta = h - static.depth
        energy = 0.5 * h * square + 0.5 * physics.gravity * eta * eta
        found = Measures(
            low=low.max(),
            high=jnp.where(wet, h, 0).max(),
            speed=jnp.sqrt(square.max()),
            wave_rate=jnp.where(wet, rate, 0).max(),
            drag_rate=jnp.where(wet, drag, 0).max(),
            energy=jnp.where(wet, energy, 0).sum(),
        )
        return jnp.stack(found)

    return measures
