"""Patch: an array together with the range of cells of its block that it covers.

Patches that cover different cells are combined without indices: the result covers their common cells. Cells beyond the
halo are never computed, and reading them is an error. NumPy's functions act on Patches of any type of array: JAX
computes `np.sqrt(u**2)` if the Patch u holds an array of JAX.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias, Union

import numpy as np
from numpy.typing import ArrayLike

#: What a Patch can be combined with: another Patch, a number, or an array of one number.
Operand: TypeAlias = Union["Patch", ArrayLike]


class BeyondHalo(IndexError):
    """A Patch does not cover the requested cells."""


def binary_method(operation: Callable[..., Any]) -> Callable[[Patch, Operand], Patch]:
    return lambda self, other: combine(operation, self, other)


def reflected_method(operation: Callable[..., Any]) -> Callable[[Patch, Operand], Patch]:
    return lambda self, other: combine(operation, other, self)


@dataclass(frozen=True, eq=False)
class Patch:
    """Values [..., y, x] on the cells from `start` = (row, column) on, counted from the block's first cell.

    An axis of length one has the same value for every cell, at any start.
    """

    values: Any
    start: tuple[int, int]

    __add__ = binary_method(operator.add)
    __sub__ = binary_method(operator.sub)
    __mul__ = binary_method(operator.mul)
    __truediv__ = binary_method(operator.truediv)
    __pow__ = binary_method(operator.pow)
    __radd__ = reflected_method(operator.add)
    __rsub__ = reflected_method(operator.sub)
    __rmul__ = reflected_method(operator.mul)
    __rtruediv__ = reflected_method(operator.truediv)
    __lt__ = binary_method(operator.lt)
    __le__ = binary_method(operator.le)
    __gt__ = binary_method(operator.gt)
    __ge__ = binary_method(operator.ge)
    __eq__ = binary_method(operator.eq)  # type: ignore[assignment]  # cell by cell
    __ne__ = binary_method(operator.ne)  # type: ignore[assignment]  # cell by cell
    __and__ = binary_method(operator.and_)
    __or__ = binary_method(operator.or_)
    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> NoReturn:
        raise TypeError("a field cannot decide a branch; use np.where(condition, a, b)")

    def __neg__(self) -> Patch:
        return self.map(operator.neg)

    def __abs__(self) -> Patch:
        return self.map(operator.abs)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Patch:
        """Apply a function of NumPy cell by cell, so that also a NumPy number times a Patch is a Patch."""
        if method != "__call__" or options:
            raise TypeError(f"np.{ufunc.__name__} of a Patch takes only Patches and numbers")
        operation = OPERATORS.get(ufunc.__name__) or array_function(ufunc.__name__)
        return combine(operation, *inputs)

    def __array_function__(self, function: Callable, types: Any, args: tuple, options: dict) -> Patch:
        """np.where(condition, a, b), cell by cell."""
        if function.__name__ != "where" or options or len(args) != 3:
            raise TypeError(f"np.{function.__name__} is not available for Patches")
        return combine(array_function("where"), *args)

    def map(self, function: Callable[[Any], Any]) -> Patch:
        """The patch with `function` applied to its values. TypeError: it changes the number of rows or columns."""
        mapped = function(self.values)
        if (shape := mapped.shape[-2:]) != self.values.shape[-2:]:
            raise TypeError(f"map: the function changes shape {tuple(self.values.shape[-2:])} to {tuple(shape)}")
        return Patch(mapped, self.start)

    def block_values(self, shape: tuple[int, int]) -> Any:
        """The values on a block of `shape` = (rows, columns), without its halo. BeyondHalo: they are not covered."""
        return self.cut((0, 0), shape).values

    def cut(self, start: tuple[int, int], stop: tuple[int, int]) -> Patch:
        """The patch on cells start <= (row, column) < stop; axes of length one stay. BeyondHalo: as `block_values`."""
        return Patch(self.values_on(start, stop), start)

    def values_on(self, start: tuple[int, int], stop: tuple[int, int]) -> Any:
        """The values of `cut`."""
        values = self.values
        for axis in (0, 1):
            length = values.shape[axis - 2]
            if length == 1:
                continue
            lower = start[axis] - self.start[axis]
            upper = stop[axis] - self.start[axis]
            if lower < 0 or upper > length:
                raise BeyondHalo(f"cells {start} to {stop} are beyond a Patch of {values.shape[-2:]} from {self.start}")
            if lower > 0 or upper < length:
                values = values[..., lower:upper, :] if axis == 0 else values[..., lower:upper]
        return values

    def shift(self, rows: int, columns: int) -> Patch:
        """The patch with every value assigned to the cell (rows, columns) further north and east."""
        return Patch(self.values, (self.start[0] + rows, self.start[1] + columns))


#: The functions of NumPy for which Python has an operator.
OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": operator.pow,
    "negative": operator.neg,
    "absolute": operator.abs,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "logical_and": operator.and_,
    "logical_or": operator.or_,
    "square": lambda a: a * a,
}


def array_function(name: str) -> Callable[..., Any]:
    """The function of that name in the library of its arrays: NumPy, JAX or the native step."""

    def function(*arrays: Any) -> Any:
        array = next(array for array in arrays if hasattr(array, "__array_namespace__"))
        return getattr(array.__array_namespace__(), name)(*arrays)

    return function


def combine(operation: Callable[..., Any], *operands: Any) -> Patch:
    """`operation` on the common cells of the Patches.

    The other operands are numbers, or arrays of one number. TypeError: an array has more numbers.
    """
    patches = []
    for operand in operands:
        if isinstance(operand, Patch):
            patches.append(operand)
        elif max(getattr(operand, "shape", ()), default=1) > 1:
            raise TypeError(f"an array of shape {operand.shape} cannot be combined with a Patch: its cells are unknown")
    rows, columns = common_range(patches, 0), common_range(patches, 1)
    start, stop = zip(rows, columns, strict=True)
    values = [each.values_on(start, stop) if isinstance(each, Patch) else each for each in operands]
    # A NumPy number could raise the precision of arrays; a Python number does not.
    return Patch(operation(*[each.item() if isinstance(each, np.generic) else each for each in values]), start)


def common_range(patches: list[Patch], axis: int) -> tuple[int, int]:
    """The common cells [first, last) of the Patches along an axis; those of length one cover all cells."""
    first = last = None
    for patch in patches:
        start, length = patch.start[axis], patch.values.shape[axis - 2]
        if length > 1:
            first = start if first is None else max(first, start)
            last = start + length if last is None else min(last, start + length)
    if first is None or last is None:
        return patches[0].start[axis], patches[0].start[axis] + 1
    return first, last


def neighbour_x(a: Patch, n: int) -> Patch:
    """a[j, i+n] at (j, i)."""
    return a.shift(0, -n)


def neighbour_y(a: Patch, n: int) -> Patch:
    """a[j+n, i] at (j, i)."""
    return a.shift(-n, 0)


def east(a: Patch) -> Patch:
    """a[j, i+1] at (j, i)."""
    return a.shift(0, -1)


def west(a: Patch) -> Patch:
    """a[j, i-1] at (j, i)."""
    return a.shift(0, 1)


def north(a: Patch) -> Patch:
    """a[j+1, i] at (j, i)."""
    return a.shift(-1, 0)


def south(a: Patch) -> Patch:
    """a[j-1, i] at (j, i)."""
    return a.shift(1, 0)
