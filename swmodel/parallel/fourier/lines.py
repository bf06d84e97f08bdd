"""Conversion of blocks of the grid to whole lines and back, by all-to-alls on the rings of the layout.

In a jitted program a block has an array [..., rows, columns]. For lines along x, the blocks of a row of the layout
divide their rows: each gets a few rows with all columns. For lines along y, all blocks divide the coefficients in x.
First the blocks of a row of the layout do so and return to their rows, then those of a column.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from ..transport import Transport


class Lines(NamedTuple):
    """The conversion for a grid of ny x nx cells; `numbers`: coefficients of a line along x."""

    transport: Transport
    ny: int
    nx: int
    numbers: int

    @property
    def share(self) -> int:
        """The number of whole rows of a block; the last blocks have fewer, with zeros added."""
        return -(-self.transport.shape[0] // self.transport.layout[1])

    def along_x(self, fields):
        """[..., rows, columns] of a block to [..., share, nx]."""
        px, columns = self.transport.layout[1], -(-self.nx // self.transport.layout[1])
        rows = filled(filled(fields, -2, px * self.share), -1, columns)
        parts = rows.reshape(*rows.shape[:-2], px, self.share, columns)
        return collect(turned(self.transport.transpose(parts, 1), -3, -2), self.nx)

    def blocks(self, lines):
        """The transpose of `along_x`."""
        parts = turned(spread(lines, self.transport.layout[1]), -2, -3)
        parts = self.transport.transpose(parts, 1)
        rows = parts.reshape(*parts.shape[:-3], -1, parts.shape[-1])
        return rows[..., : self.transport.shape[0], : self.transport.shape[1]]

    def along_y(self, lines):
        """[..., share, numbers] of lines along x to [..., columns, ny]."""
        (py, px), (rows, _) = self.transport.layout, self.transport.shape
        parts = spread(lines, py * px)
        columns = parts.shape[-1]
        parts = turned(parts.reshape(*parts.shape[:-2], py, px, columns), -2, -4)
        parts = self.transport.transpose(parts.reshape(*parts.shape[:-2], py * columns), 1)
        parts = parts.reshape(*parts.shape[:-3], px * self.share, py, columns)[..., :rows, :, :]
        parts = filled(turned(parts, -2, -3), -2, -(-self.ny // py))
        parts = self.transport.transpose(parts, 0)
        return collect(turned(parts, -1, -3), self.ny)

    def back_from_y(self, lines):
        """The transpose of `along_y`."""
        (py, px), (rows, _) = self.transport.layout, self.transport.shape
        parts = self.transport.transpose(turned(spread(lines, py), -3, -1), 0)[..., :rows, :]
        columns = parts.shape[-1]
        parts = filled(turned(parts, -3, -2), -3, px * self.share)
        parts = parts.reshape(*parts.shape[:-3], px, self.share, py * columns)
        parts = self.transport.transpose(parts, 1)
        parts = turned(parts.reshape(*parts.shape[:-1], py, columns), -4, -2)
        return collect(parts.reshape(*parts.shape[:-3], py * px, columns), self.numbers)


def turned(array, source: int, destination: int):
    """jnp.moveaxis as a separate loop: in a fused loop of XLA it would read memory in strides."""
    alone = jax.lax.optimization_barrier
    return alone(jnp.moveaxis(alone(array), source, destination))


def spread(array, parts: int):
    """[..., n] in the parts of `decomposition.split`, short ones with a zero: [..., parts, ceil(n / parts)]."""
    n, room = array.shape[-1], -(-array.shape[-1] // parts)
    longer = n - parts * (room - 1)
    first = array[..., : longer * room].reshape(*array.shape[:-1], longer, room)
    if longer == parts:
        return first
    rest = array[..., longer * room :].reshape(*array.shape[:-1], parts - longer, room - 1)
    return jnp.concatenate([first, filled(rest, -1, room)], -2)


def collect(array, n: int):
    """The transpose of `spread`: [..., parts, ceil(n / parts)] to [..., n]."""
    parts, room = array.shape[-2:]
    longer = n - parts * (room - 1)
    first = array[..., :longer, :].reshape(*array.shape[:-2], longer * room)
    if longer == parts:
        return first
    rest = array[..., longer:, : room - 1].reshape(*array.shape[:-2], (parts - longer) * (room - 1))
    return jnp.concatenate([first, rest], -1)


def filled(array, axis: int, length: int):
    """The array with zeros after the end of an axis, up to a length."""
    missing = [(0, 0)] * array.ndim
    missing[axis] = (0, length - array.shape[axis])
    return jnp.pad(array, missing)
