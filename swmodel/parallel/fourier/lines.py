"""Conversion of blocks of the grid to whole lines and back, by all-to-alls along the axes of the layout.

In a jitted program a block has an array [..., rows, columns]. For lines along x, the blocks of a row of the layout
divide their rows among themselves: each gets a few rows with all columns. For lines along y, all blocks divide the
coefficients in x among themselves. From lines along x to lines along y, an all-to-all in each row of the layout is
followed by one in each column.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from ..transport import Transport


class LineTransposition(NamedTuple):
    """The conversion for a grid of ny x nx cells; `n_coefficients`: number of coefficients of a line along x."""

    transport: Transport
    ny: int
    nx: int
    n_coefficients: int

    @property
    def rows_per_block(self) -> int:
        """The number of lines along x that a block gets; if the last blocks get fewer, lines of zeros are added."""
        return -(-self.transport.shape[0] // self.transport.layout[1])

    def blocks_to_x_lines(self, fields):
        """[..., rows, columns] of a block to [..., rows_per_block, nx]."""
        px, columns = self.transport.layout[1], -(-self.nx // self.transport.layout[1])
        rows = pad_axis_end(pad_axis_end(fields, -2, px * self.rows_per_block), -1, columns)
        parts = rows.reshape(*rows.shape[:-2], px, self.rows_per_block, columns)
        return join_last_axis(moveaxis_unfused(self.transport.transpose(parts, 1), -3, -2), self.nx)

    def x_lines_to_blocks(self, lines):
        """The inverse of `blocks_to_x_lines`, which is also its transpose."""
        parts = moveaxis_unfused(split_last_axis(lines, self.transport.layout[1]), -2, -3)
        parts = self.transport.transpose(parts, 1)
        rows = parts.reshape(*parts.shape[:-3], -1, parts.shape[-1])
        return rows[..., : self.transport.shape[0], : self.transport.shape[1]]

    def x_lines_to_y_lines(self, lines):
        """[..., rows_per_block, n_coefficients] to [..., ceil(n_coefficients / blocks), ny], lines along y."""
        (py, px), (rows, _) = self.transport.layout, self.transport.shape
        parts = split_last_axis(lines, py * px)
        columns = parts.shape[-1]
        parts = moveaxis_unfused(parts.reshape(*parts.shape[:-2], py, px, columns), -2, -4)
        parts = self.transport.transpose(parts.reshape(*parts.shape[:-2], py * columns), 1)
        parts = parts.reshape(*parts.shape[:-3], px * self.rows_per_block, py, columns)[..., :rows, :, :]
        parts = pad_axis_end(moveaxis_unfused(parts, -2, -3), -2, -(-self.ny // py))
        parts = self.transport.transpose(parts, 0)
        return join_last_axis(moveaxis_unfused(parts, -1, -3), self.ny)

    def y_lines_to_x_lines(self, lines):
        """The inverse of `x_lines_to_y_lines`, which is also its transpose."""
        (py, px), (rows, _) = self.transport.layout, self.transport.shape
        parts = self.transport.transpose(moveaxis_unfused(split_last_axis(lines, py), -3, -1), 0)[..., :rows, :]
        columns = parts.shape[-1]
        parts = pad_axis_end(moveaxis_unfused(parts, -3, -2), -3, px * self.rows_per_block)
        parts = parts.reshape(*parts.shape[:-3], px, self.rows_per_block, py * columns)
        parts = self.transport.transpose(parts, 1)
        parts = moveaxis_unfused(parts.reshape(*parts.shape[:-1], py, columns), -4, -2)
        return join_last_axis(parts.reshape(*parts.shape[:-3], py * px, columns), self.n_coefficients)


def moveaxis_unfused(array, source: int, destination: int):
    """jnp.moveaxis as a separate loop, because a fused loop of XLA would read memory in strides."""
    barrier = jax.lax.optimization_barrier
    return barrier(jnp.moveaxis(barrier(array), source, destination))


def split_last_axis(array, n_parts: int):
    """[..., n] split as by `decomposition.split_evenly`: [..., parts, ceil(n/parts)], with a zero after short parts."""
    n, max_length = array.shape[-1], -(-array.shape[-1] // n_parts)
    n_longer = n - n_parts * (max_length - 1)
    first = array[..., : n_longer * max_length].reshape(*array.shape[:-1], n_longer, max_length)
    if n_longer == n_parts:
        return first
    rest = array[..., n_longer * max_length :].reshape(*array.shape[:-1], n_parts - n_longer, max_length - 1)
    return jnp.concatenate([first, pad_axis_end(rest, -1, max_length)], -2)


def join_last_axis(array, n: int):
    """The inverse of `split_last_axis`: [..., parts, ceil(n / parts)] to [..., n]."""
    n_parts, max_length = array.shape[-2:]
    n_longer = n - n_parts * (max_length - 1)
    first = array[..., :n_longer, :].reshape(*array.shape[:-2], n_longer * max_length)
    if n_longer == n_parts:
        return first
    rest = array[..., n_longer:, : max_length - 1].reshape(*array.shape[:-2], (n_parts - n_longer) * (max_length - 1))
    return jnp.concatenate([first, rest], -1)


def pad_axis_end(array, axis: int, length: int):
    padding = [(0, 0)] * array.ndim
    padding[axis] = (0, length - array.shape[axis])
    return jnp.pad(array, padding)
