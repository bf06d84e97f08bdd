"""Halo exchange, which adds rows and columns of neighbours around a block, with all fields in the same messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

if TYPE_CHECKING:
    from .transport import Transport


def last_values(field, count: int, axis: int, length=None):
    """The last `count` of the first `length` values along an axis; length None: of all values."""
    if length is None:
        length = field.shape[axis]
    if isinstance(length, int):
        return jax.lax.slice_in_dim(field, length - count, length, axis=axis)
    return jax.lax.dynamic_slice_in_dim(field, length - count, count, axis)


def concatenate_halo(before, field, after, axis: int, length=None):
    """`before`, the first `length` values of a field along an axis (None: all), and `after`, joined along this axis."""
    joined = jnp.concatenate([before, field, after], axis)
    if length is None:
        return joined
    return jax.lax.dynamic_update_slice_in_dim(joined, after, before.shape[axis] + length, axis)


def zero_beyond(field, extent):
    """The field [..., ny, nx] with zeros beyond the numbers of rows and columns in `extent`; None: unchanged."""
    if extent is None:
        return field
    rows, columns = (jnp.arange(field.shape[axis]) < extent[axis] for axis in (-2, -1))
    return jnp.where(rows[:, None] & columns[None, :], field, 0)


def exchange_halos(fields, halo_width: int, transport: Transport) -> tuple:
    """The fields with `halo_width` rows and columns of the cells on each side of the block, corners included.

    All fields form one slab per direction, sent first to the east and west, then to the north and south with corners.
    If the smallest block is narrower than `halo_width`, the exchange is repeated with the slabs received before.
    Arrays [..., ny, nx] of one shape become [..., ny + 2 halo_width, nx + 2 halo_width].
    """
    extent = transport.extent()
    for axis in (-1, -2):
        length = fields[0].shape[axis] if extent is None else extent[axis]
        for reach in range(0, halo_width, transport.min_block_shape[axis]):
            step = min(transport.min_block_shape[axis], halo_width - reach)
            first = jnp.stack([jax.lax.slice_in_dim(f, 2 * reach, 2 * reach + step, axis=axis) for f in fields])
            before, after = transport.swap(
                first, jnp.stack([last_values(f, step, axis, length) for f in fields]), axis % 2
            )
            end = None if extent is None else length + 2 * reach
            fields = [concatenate_halo(*parts, axis, end) for parts in zip(before, fields, after, strict=True)]
    # The barrier keeps XLA from repeating the concatenation in every stencil that reads it: that takes twice as long.
    return jax.lax.optimization_barrier(tuple(fields))


def add_halo(state, halo_width: int, transport: Transport):
    """A tree of fields [ny, nx], each with `halo_width` rows and columns of the neighbours on each side."""
    fields, tree = jax.tree.flatten(state)
    return jax.tree.unflatten(tree, exchange_halos(fields, halo_width, transport))


def exchange_named_halos(fields_by_name: dict, halo_width: int, transport: Transport) -> dict:
    if not fields_by_name:
        return {}
    return dict(zip(fields_by_name, exchange_halos(list(fields_by_name.values()), halo_width, transport), strict=True))


def make_add_halo(halo_width: int, transport: Transport):
    """The function that pads a block's tree of fields with `halo_width` cells of the neighbours."""
    return lambda state: add_halo(state, halo_width, transport)
