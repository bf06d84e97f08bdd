"""An array that knows which cells of its block it covers.

Fields of different reach combine without one index in the dynamics: the result covers the cells that both have. What
the halo cannot provide is never computed, and asking for it is an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


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
