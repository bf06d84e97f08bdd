"""Halos: each block padded with its neighbours' rows and columns, four messages for all fields together."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def last(field, width: int, axis: int, length=None):
    """The last `width` of the first `length` values along an axis; None: of all."""
    if length is None:
        length = field.shape[axis]
    return jax.lax.dynamic_slice_in_dim(field, length - width, width, axis)


def between(before, field, after, axis: int, length=None):
    """The first `length` values of a field along an axis (None: all), between `before` and `after`."""
    whole = jnp.concatenate([before, field, after], axis)
    if length is None:
        return whole
    return jax.lax.dynamic_update_slice_in_dim(whole, after, before.shape[axis] + length, axis)


def within(field, extent):
    """The field [..., ny, nx] with zeros beyond the rows and columns of `extent`; None: unchanged."""
    if extent is None:
        return field
    rows, columns = (jnp.arange(field.shape[axis]) < extent[axis] for axis in (-2, -1))
    return jnp.where(rows[:, None] & columns, field, 0)


def surround(fields, width: int, shift, extent=None) -> tuple:
    """The fields with `width` rows and columns of the neighbours on each side, corners included.

    All fields travel in one slab per direction: first to the east and the west, then to the north and the south, with
    the corners that have arrived.

    Args:
        fields: arrays [..., ny, nx] of one shape, of this block.
        width: rows of neighbours.
        shift: a transport's shift.
        extent: a transport's extent().

    Returns:
        Tuple of arrays [..., ny + 2 width, nx + 2 width].
    """
    rows, columns = extent or (None, None)
    edges = jnp.stack([last(f, width, -1, columns) for f in fields]), jnp.stack([f[..., :width] for f in fields])
    west, east = shift(edges[0], 1, +1), shift(edges[1], 1, -1)
    wide = [between(*parts, -1, columns) for parts in zip(west, fields, east, strict=True)]
    edges = jnp.stack([last(f, width, -2, rows) for f in wide]), jnp.stack([f[..., :width, :] for f in wide])
    south, north = shift(edges[0], 0, +1), shift(edges[1], 0, -1)
    padded = [between(*parts, -2, rows) for parts in zip(south, wide, north, strict=True)]
    # Written out once: without the barrier XLA repeats the concatenation in every stencil that reads it, 2 x slower.
    return jax.lax.optimization_barrier(tuple(padded))


def pad(state, width: int, shift, extent=None):
    """A tree of fields [ny, nx] with `width` rows and columns of the neighbours on each side of each."""
    fields, tree = jax.tree.flatten(state)
    return jax.tree.unflatten(tree, surround(fields, width, shift, extent))


def make_pad(width: int, transport):
    """The function of a block's tree of fields that gives it with `width` cells of the neighbours."""
    return lambda state: pad(state, width, transport.shift, transport.extent())


def surround_far(field, margin: int, shift, extent=None):
    """A field with `margin` rows and columns of the cells around the block, however small the blocks are.

    Four messages for each row of the margin.

    Args:
        field: [ny, nx] of this block.
        shift: a transport's shift.
        extent: a transport's extent().

    Returns:
        Field [ny + 2 margin, nx + 2 margin].
    """
    for axis, length in ((1, extent and extent[1]), (0, extent and extent[0])):
        length = field.shape[axis] if length is None else length
        for reach in range(margin):  # what is sent lies in the sender's block, or in the halo that it has by now
            ends = (jax.lax.dynamic_slice_in_dim(field, start, 1, axis) for start in (length - 1, 2 * reach))
            before, after = (shift(end, axis, step) for end, step in zip(ends, (+1, -1), strict=True))
            field = between(before, field, after, axis, None if extent is None else length + 2 * reach)
    return field
