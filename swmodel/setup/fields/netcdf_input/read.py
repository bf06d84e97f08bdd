"""A field is found in its file, checked, and read in part, as it lies on the grid."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from . import times
from .axes import Axes, arrange
from .dataset import CFDataset, numeric, open_file
from .degrees import interpolated, nearest, reach_of
from .errors import InputError, remark
from .source import Source, find, parse
from .units import FACTORS, SYNONYMS

#: Gaps of at most so many rows or columns of a file are read rather than skipped, where it is finer than the grid.
READ_OVER = 64


class GridVariable(NamedTuple):
    """A variable of an open file as it lies on the grid.

    Attributes:
        values: function of an index to its values in the file.
        chosen: {axis: index} of the axes that are not those of the grid.
        axes: those of the grid.
        factor: of its values, for the units of the model; negative where the file has the field positive upward and
            the model downward.
        grid: section of the configuration.
    """

    values: Callable[[Any], np.ndarray]
    chosen: dict[int, int]
    axes: Axes
    factor: float
    grid: Any

    @property
    def pole(self) -> tuple[float, float] | None:
        """The pole about which its axes lie: that of the grid where it has no longitudes; None: that of the Earth."""
        return self.axes.along.pole if self.axes.along else self.grid.pole

    def read(self, rows, columns, fill=None) -> np.ndarray:
        """Values in rows and columns of the grid; see `read_field`."""
        rows, columns = np.asarray(rows), np.asarray(columns)
        if self.axes.along:
            return interpolated(self.read_finer, self.axes.along, rows, columns, fill)
        sizes = (self.grid.ny, self.grid.nx)
        turned = zip((rows, columns), sizes, self.axes.turned, strict=True)
        return self.read_cells(*(size - 1 - numbers if turn else numbers for numbers, size, turn in turned))

    def distances(self, rows, columns, wanted: np.ndarray) -> tuple[np.ndarray, float]:
        """How far the values are that stand for missing ones at points `wanted` of the grid, and may be, degrees."""
        if not (along := self.axes.along):
            return np.full(wanted.sum(), np.inf), 0.0
        return nearest(self.read_finer, along, rows, columns, wanted)[1], reach_of(along)

    def read_finer(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Values in rows and columns of a file that may be finer than the grid."""
        return self.read_cells(rows, columns, READ_OVER)

    def read_cells(self, rows: np.ndarray, columns: np.ndarray, over: int = 1) -> np.ndarray:
        """Values in rows and columns of the file, in any order, which are read in `runs`."""
        spans = runs(rows, over), runs(columns, over)
        values = np.block([[read_window(self, y, x) for x in spans[1]] for y in spans[0]])
        held = (np.concatenate([np.arange(part.start, part.stop) for part in parts]) for parts in spans)
        return values[np.ix_(*(np.searchsorted(have, want) for have, want in zip(held, (rows, columns), strict=True)))]


def read_window(field: GridVariable, rows: slice, columns: slice) -> np.ndarray:
    """Values of a window of the file [rows, columns], float64, NaN where missing."""
    index = field.chosen | dict(zip(field.axes.numbers, (rows, columns), strict=True))
    values = field.factor * np.asarray(field.values(tuple(index[axis] for axis in sorted(index))), np.float64)
    return values.T if field.axes.numbers[0] > field.axes.numbers[1] else values


def runs(numbers: np.ndarray, over: int = 1) -> list[slice]:
    """Slices that together hold each of `numbers` once, in rising order.

    Those that are not more than `over` apart are in one slice, with what is between them.
    """
    unique = np.unique(numbers)
    parts = np.split(unique, np.flatnonzero(np.diff(unique) > over) + 1)
    return [slice(int(part[0]), int(part[-1]) + 1) for part in parts]


@contextmanager
def opened(text: str, row, grid) -> Iterator[GridVariable]:
    """The GridVariable that an entry of [input] stands for, checked; its file is open inside `with`."""
    source = parse(text)
    with open_file(source.path, f"input.{row.name}: ") as dataset:
        yield on_grid(dataset, source, row, grid)


def read_field(text: str, row, grid, rows, columns, fill=None) -> np.ndarray:
    """Values of one variable in the given rows and columns of the grid, float64; missing values become NaN.

    Only runs of neighbouring rows and columns are read: a block that reaches round the ring costs no more than another.

    Args:
        text: "FILE" (the variable is found by its standard name) or "FILE:NAME", with "@RECORD" where there are
            several; see `source.Source`.
        row: of VARIABLES, which says which standard name, location and units are wanted.
        grid: section of the configuration.
        rows, columns: numbers within the grid, in any order.
        fill: see `degrees.interpolated`.
    """
    with opened(text, row, grid) as field:
        return field.read(rows, columns, fill)


def pole_in(text: str, row, grid) -> tuple[float, float] | None:
    """The pole about which a variable of a file lies; see `GridVariable.pole`. The file is opened once."""
    return kept_pole(text, row, grid, parse(text).stamps())


@lru_cache(maxsize=256)
def kept_pole(text: str, row, grid, stamps) -> tuple[float, float] | None:
    """See `pole_in`."""
    with opened(text, row, grid) as field:
        return field.pole


def on_grid(dataset: CFDataset, source: Source, row, grid) -> GridVariable:
    """The GridVariable that a Source stands for, checked; `dataset` is its file."""
    found, values = find(dataset, source, row)
    place = f"input.{row.name}: {found.name} in {source.path}"
    if not numeric(found):
        raise InputError(f"{place} does not hold numbers")
    axes = arrange(dataset, found, row, grid, place)
    if 0 in found.shape:
        raise InputError(f"{place} has no records")
    factor = factor_of(found, row, place)
    others = tuple(axis for axis in range(found.ndim) if axis not in axes.numbers)
    return GridVariable(values, times.choose(dataset, found, others, source.record, place), axes, factor, grid)


def factor_of(found, row, place: str) -> float:
    """The factor of a GridVariable."""
    units, sign = found.attrs.get("units", ""), sign_of(found, row, place)
    if units in SYNONYMS[row.units]:
        return sign
    if units in FACTORS.get(row.units, {}):
        return sign * FACTORS[row.units][units]
    if not units:
        raise InputError(f'{place} has no units; it needs "{row.units}"')
    raise InputError(f'{place} is in "{units}"; convert it to "{row.units}"')


def sign_of(found, row, place: str) -> float:
    """What values are multiplied by: -1 where the attribute `positive` of a field that is positive downward is "up"."""
    if not row.downward or found.attrs.get("positive", "").lower() != "up":
        return 1.0
    remark(f"{place} is positive upward, so its sign is changed")
    return -1.0
