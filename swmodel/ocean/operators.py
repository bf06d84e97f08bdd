"""Averages and differences on the C-grid, each named by where it lands.

    dx_f, mx_f    difference and mean in x that land on the east side: centre -> u face, v face -> corner
    dx_c, mx_c    the same, landing on the west side: u face -> centre, corner -> v face
    dy_f, my_f    north side: centre -> v face, u face -> corner
    dy_c, my_c    south side: v face -> centre, corner -> u face

Differences are per cell; the dynamics divide by dx and dy. They act on a `Patch`, an array that knows which cells of
its block it covers, so that fields of different reach combine without one index in the dynamics: the result covers the
cells that both have. What the halo cannot provide is never computed, and asking for it is an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .neighbours import difference, mean


@dataclass(frozen=True)
class Patch:
    """Values [..., y, x] on the cells from `start` = (row, column) on, counted from the block's first cell.

    An axis of length one holds the same value for every cell, whatever its start.
    """

    values: Any
    start: tuple[int, int]

    __array_ufunc__ = None  # a NumPy number times a Patch is a Patch

    def __add__(self, other):
        return combine(self, other, lambda a, b: a + b)

    def __sub__(self, other):
        return combine(self, other, lambda a, b: a - b)

    def __mul__(self, other):
        return combine(self, other, lambda a, b: a * b)

    def __truediv__(self, other):
        return combine(self, other, lambda a, b: a / b)

    def __radd__(self, other):
        return Patch(other + self.values, self.start)

    def __rsub__(self, other):
        return Patch(other - self.values, self.start)

    def __rmul__(self, other):
        return Patch(other * self.values, self.start)

    def __neg__(self):
        return Patch(-self.values, self.start)

    def map(self, function):
        """The patch with `function` applied to its values."""
        return Patch(function(self.values), self.start)

    def on(self, shape: tuple[int, int]):
        """The values on a block of `shape` = (rows, columns), its halo dropped.

        Raises:
            IndexError: the patch does not cover the block: the halo is too narrow for what was computed.
        """
        return self.cut((0, 0), shape).values

    def cut(self, first: tuple[int, int], last: tuple[int, int]):
        """The patch on cells first <= (row, column) < last; axes of length one stay as they are."""
        values = self.values
        for axis in (0, 1):
            length = values.shape[axis - 2]
            if length == 1 and last[axis] - first[axis] != 1:
                continue
            lower = first[axis] - self.start[axis]
            upper = last[axis] - self.start[axis]
            if length == 1:
                lower, upper = 0, 1
            if lower < 0 or upper > length:
                raise IndexError(f"cells {first} to {last} asked of a patch of {values.shape[-2:]} from {self.start}")
            if (lower, upper) != (0, length):
                values = values[..., lower:upper, :] if axis == 0 else values[..., lower:upper]
        return Patch(values, first)

    def moved(self, rows: int, columns: int):
        """The patch with every value assigned to the cell (rows, columns) further north and east."""
        return Patch(self.values, (self.start[0] + rows, self.start[1] + columns))


def combine(a: Patch, b, operation):
    """`operation` on the cells that both patches cover; b may be a number or an array without axes."""
    if not isinstance(b, Patch):
        return Patch(operation(a.values, b), a.start)
    first, last = [], []
    for axis in (0, 1):
        spans = [
            (p.start[axis], p.start[axis] + p.values.shape[axis - 2]) for p in (a, b) if p.values.shape[axis - 2] > 1
        ]
        spans = spans or [(a.start[axis], a.start[axis] + 1)]
        first.append(max(span[0] for span in spans))
        last.append(min(span[1] for span in spans))
    a, b = a.cut(tuple(first), tuple(last)), b.cut(tuple(first), tuple(last))
    return Patch(operation(a.values, b.values), tuple(first))


def east(a: Patch) -> Patch:
    """a[j, i+1] at (j, i)."""
    return a.moved(0, -1)


def west(a: Patch) -> Patch:
    """a[j, i-1] at (j, i)."""
    return a.moved(0, 1)


def north(a: Patch) -> Patch:
    """a[j+1, i] at (j, i)."""
    return a.moved(-1, 0)


def south(a: Patch) -> Patch:
    """a[j-1, i] at (j, i)."""
    return a.moved(1, 0)


def _land(a: Patch, operation, axis: int, side: int) -> Patch:
    """`operation` of neighbours along an axis, assigned to the first (side 0) or the second (side 1) of them."""
    values, start = a.values, list(a.start)
    if values.shape[axis - 2] == 1:
        both = (2, 1) if axis == 0 else (1, 2)
        return Patch(operation(values * np.ones(both, values.dtype), axis - 2), a.start)
    start[axis] += side
    return Patch(operation(values, axis - 2), tuple(start))


mx_f = partial(_land, operation=mean, axis=1, side=0)
mx_c = partial(_land, operation=mean, axis=1, side=1)
my_f = partial(_land, operation=mean, axis=0, side=0)
my_c = partial(_land, operation=mean, axis=0, side=1)
dx_f = partial(_land, operation=difference, axis=1, side=0)
dx_c = partial(_land, operation=difference, axis=1, side=1)
dy_f = partial(_land, operation=difference, axis=0, side=0)
dy_c = partial(_land, operation=difference, axis=0, side=1)
