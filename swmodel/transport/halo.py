"""Halos: each block padded with its neighbours' rows and columns, four messages for all fields together."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from ..state import State


def surround(fields, width: int, shift) -> tuple:
    """The fields with `width` rows and columns of the neighbours on each side, corners included.

    All fields travel in one slab per direction: first to the east and to the west, then, with the corners that came
    with those, to the north and to the south.

    Args:
        fields: arrays [..., ny, nx] of one shape, of this block.
        width: rows of neighbours.
        shift: a transport's shift.

    Returns:
        Tuple of arrays [..., ny + 2 width, nx + 2 width].
    """
    edges = [jnp.stack([f[..., part] for f in fields]) for part in (slice(-width, None), slice(width))]
    west, east = shift(edges[0], 1, +1), shift(edges[1], 1, -1)
    wide = [jnp.concatenate(parts, axis=-1) for parts in zip(west, fields, east, strict=True)]
    edges = [jnp.stack([f[..., part, :] for f in wide]) for part in (slice(-width, None), slice(width))]
    south, north = shift(edges[0], 0, +1), shift(edges[1], 0, -1)
    padded = [jnp.concatenate(parts, axis=-2) for parts in zip(south, wide, north, strict=True)]
    # Written out once: without the barrier XLA repeats the concatenation in every stencil that reads it, 2 x slower.
    return jax.lax.optimization_barrier(tuple(padded))


def pad(state: State, width: int, shift) -> State:
    """The State with `width` rows and columns of the neighbours on each side of its fields [ny, nx]."""
    return State(*surround(state, width, shift))


def surround_far(field, margin: int, shift):
    """A field with `margin` rows and columns of the cells around the block, however small the blocks are.

    Four messages for each row of the margin.

    Args:
        field: [ny, nx] of this block.
        shift: a transport's shift.

    Returns:
        Field [ny + 2 margin, nx + 2 margin].
    """
    ny, nx = field.shape
    for reach in range(margin):  # what is sent lies in the sender's block, or in the halo that it has by now
        west, east = shift(field[:, nx - 1 : nx], 1, +1), shift(field[:, 2 * reach : 2 * reach + 1], 1, -1)
        field = jnp.concatenate([west, field, east], axis=1)
    for reach in range(margin):
        south, north = shift(field[ny - 1 : ny], 0, +1), shift(field[2 * reach : 2 * reach + 1], 0, -1)
        field = jnp.concatenate([south, field, north], axis=0)
    return field
