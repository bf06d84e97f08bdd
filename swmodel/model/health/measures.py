"""What one pass over the state of a block finds, to be jitted."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ...config.extremes import damping
from ...ocean.patch import Patch
from ...ocean.state import State
from ...ocean.terms import TERMS
from ...parallel.transport.halo import within
from ...parallel.transport.programs import jitted


class Static(NamedTuple):
    """Fields of the block that `measure_block` needs, each [y, x] or [1, 1]."""

    wet: Any
    depth: Any  # m
    params: Any  # coefficients by name


class Measures(NamedTuple):
    """What one look finds on water, in a block, or in the whole domain of each run: numbers, or arrays [runs]."""

    low: float  # -min(h), m; infinity where a field is not finite
    high: float  # max(h), m
    speed: float  # m s-1, largest
    wave_rate: float  # s-1, largest 2 sqrt(g h (1/dx² + 1/dy²)) + |u|/dx + |v|/dy
    drag_rate: float  # s-1, largest
    energy: float  # m3 s-2, sum over cells of h (u² + v²)/2 + g (h - depth)²/2


def scale(grid) -> float:
    """sqrt(1/dx² + 1/dy²), m-1."""
    return math.hypot(1 / grid.dx, 1 / grid.dy)


def make_count(margin: int, transport):
    """The function (State, wet) of a block -> number of cells, of all blocks, that no run can go on from.

    They are those in which a field is not finite, and water without thickness: where `Measures.low` is not negative.

    Args:
        margin: cells around the block that `wet` has.
    """

    def count(state: State, wet):
        wet = Patch(wet, (-margin, -margin)).on(state.h.shape)
        finite = [field - field == 0 for field in state]
        bad = ~functools.reduce(operator.and_, finite) | (wet > 0) & ~(state.h > 0)
        return transport.sum(within(bad, transport.extent()).sum(dtype=state.h.dtype))

    return count


def unusable(state: State, wet, margin: int, transport):
    """The number of cells that `make_count` counts: arrays of the blocks, as all arrays of jitted programs.

    A state of NumPy arrays is looked at where it is, many times faster than it goes to a device.
    """
    if not isinstance(state.h, np.ndarray):
        return jitted(make_count, margin, transport)(state, wet)
    with np.errstate(invalid="ignore"):
        return make_count(margin, transport)(state, np.asarray(wet))


def make_measure(grid, physics, terms, margin: int, transport):
    """The function (State, Static) -> [Measures] of a block, to be jitted; the energy is summed.

    Args:
        grid, physics: of the configuration.
        terms: names of those that are switched on.
        margin: cells around the block that the Static has.
    """
    acting = [TERMS[name] for name in terms]
    waves = 4 * physics.gravity * scale(grid) ** 2

    def measures(state: State, static: Static):
        h, u, v = state[:3]
        static = jax.tree.map(lambda field: Patch(field, (-margin, -margin)).on(h.shape), static)
        wet = within(jnp.broadcast_to(static.wet > 0, h.shape), transport.extent())
        finite = functools.reduce(operator.and_, map(jnp.isfinite, state))
        low = jnp.where(finite, jnp.where(wet, -h, -jnp.inf), jnp.inf)
        square = u * u + v * v
        rate = jnp.sqrt(jnp.maximum(h, 0) * waves) + jnp.abs(u) / grid.dx + jnp.abs(v) / grid.dy
        drag = jnp.zeros_like(h) + damping(acting, static.params | {"h": h, "u": u, "v": v}, grid)
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
