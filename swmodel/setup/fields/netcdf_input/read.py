"""A field is found in its file, checked, and read in part, as it lies on the grid."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from . import records, zarr_store
from .attributes import FACTORS, SYNONYMS, attribute, numeric
from .axes import Axes, arrange
from .degrees import interpolated, nearest, reach_of
from .errors import InputError, remark
from .source import find, parse

#: Gaps of at most so many rows or columns of a file are read rather than skipped, where it is finer than the grid.
READ_OVER = 64

#: netCDF4 must not be used by two threads at once: records are read ahead, while an executor may read others.
_ONE_THREAD = threading.RLock()


class Field(NamedTuple):
    """A variable of an open file as a field of the grid.

    Attributes:
        variable: that of the file.
        chosen: {axis: index} of the axes that are not those of the grid.
        axes: those of the grid.
        factor: of its values, for the units of the model; negative where the file has the field positive upward and
            the model downward.
    """

    variable: Any
    chosen: dict[int, int]
    axes: Axes
    factor: float

    def pole(self, grid) -> tuple[float, float] | None:
        """The pole about which its axes lie: that of the grid where it has no longitudes; None: that of the Earth."""
        return self.axes.along.pole if self.axes.along else grid.pole


def read_field(source: str, variable, grid, rows, columns, fill=None) -> np.ndarray:
    """Values of one variable in the given rows and columns of the grid, float64; missing values become NaN.

    Only runs of neighbouring rows and columns are read: a block that reaches round the ring costs no more than another.

    Args:
        source: "FILE" (the variable is found by its standard name) or "FILE:NAME", with "@RECORD" where there are
            several; see `source.Source`.
        variable: the entry of VARIABLES that says which standard name, location and units are wanted.
        grid: section of the configuration.
        rows, columns: numbers within the grid, in any order.
        fill: see `degrees.interpolated`.

    Raises:
        InputError: the file, the variable, its shape, coordinates, record or units are not as wanted.
    """
    with opened(source, variable, grid) as field:
        return values_of(field, grid, rows, columns, fill)


def values_of(field: Field, grid, rows, columns, fill=None) -> np.ndarray:
    """Values of a Field in the given rows and columns; see `read_field`."""
    if field.axes.along:
        read = partial(read_cells, field, over=READ_OVER)
        return interpolated(read, field.axes.along, np.asarray(rows), np.asarray(columns), fill)
    turned_y, turned_x = field.axes.turned
    return read_cells(field, in_file(rows, grid.ny, turned_y), in_file(columns, grid.nx, turned_x))


def pole_in(source: str, variable, grid) -> tuple[float, float] | None:
    """See `Field.pole`, of a variable of a file.

    Raises:
        InputError: as `read_field`.
    """
    return kept_pole(source, variable, grid, stamp([parse(source).path]))


@lru_cache(maxsize=256)
def kept_pole(source: str, variable, grid, stamp) -> tuple[float, float] | None:
    """See `pole_in`; the file is opened once."""
    with opened(source, variable, grid) as field:
        return field.pole(grid)


def stamp(paths) -> tuple:
    """What tells the files of these names from later ones."""
    return tuple(zarr_store.stamp(path) if os.path.isdir(path) else of_file(path) for path in paths)


def of_file(path: str) -> tuple[int, int] | None:
    """What tells a file from a later one of its name; None where there is none."""
    found = os.stat(path) if os.path.isfile(path) else None
    return found and (found.st_mtime_ns, found.st_size)


def distances(source: str, variable, grid, rows, columns, wanted: np.ndarray) -> tuple[np.ndarray, float]:
    """How far the values are that stand for missing ones at some points of the grid, and may be, degrees of arc.

    Args:
        wanted: [rows, columns], the points.

    Raises:
        InputError: as `read_field`.
    """
    with opened(source, variable, grid) as field:
        if not field.axes.along:
            return np.full(wanted.sum(), np.inf), 0.0
        read = partial(read_cells, field, over=READ_OVER)
        return nearest(read, field.axes.along, rows, columns, wanted)[1], reach_of(field.axes.along)


def read_cells(field: Field, rows: np.ndarray, columns: np.ndarray, over: int = 1) -> np.ndarray:
    """Values in rows and columns of the file, in any order, which are read in `runs`."""
    spans = runs(rows, over), runs(columns, over)
    values = np.block([[read_window(field, y, x) for x in spans[1]] for y in spans[0]])
    held = (np.concatenate([np.arange(part.start, part.stop) for part in parts]) for parts in spans)
    return values[np.ix_(*(np.searchsorted(have, want) for have, want in zip(held, (rows, columns), strict=True)))]


def in_file(numbers, count: int, turned: bool) -> np.ndarray:
    """The numbers of rows or columns in the file."""
    numbers = np.asarray(numbers)
    return count - 1 - numbers if turned else numbers


def read_window(field: Field, rows: slice, columns: slice) -> np.ndarray:
    """Values of a window of the file [rows, columns], float64, NaN where missing."""
    index = field.chosen | dict(zip(field.axes.numbers, (rows, columns), strict=True))
    values = field.variable[tuple(index[axis] for axis in range(field.variable.ndim))]
    values = field.factor * np.ma.filled(np.ma.asarray(values, dtype=np.float64), np.nan)
    return values.T if field.axes.numbers[0] > field.axes.numbers[1] else values


def runs(numbers: np.ndarray, over: int = 1) -> list[slice]:
    """Slices that together hold each of `numbers` once, in rising order.

    Those that are not more than `over` apart are in one slice, with what is between them.
    """
    unique = np.unique(numbers)
    parts = np.split(unique, np.flatnonzero(np.diff(unique) > over) + 1)
    return [slice(int(part[0]), int(part[-1]) + 1) for part in parts]


@contextmanager
def opened(source: str, variable, grid) -> Iterator[Field]:
    """The Field that `source` stands for, checked; its file is open inside `with`.

    Raises:
        InputError: as `read_field`.
    """
    wanted = parse(source)
    with open_file(wanted.path, variable) as dataset:
        yield field_of(dataset, wanted, variable, grid)


@contextmanager
def open_file(path: str, variable) -> Iterator:
    """The netCDF4.Dataset of a file from which a variable is read, or the Labels of a store of Zarr.

    Open inside `with`, by one thread at a time.

    Raises:
        InputError: it cannot be read.
    """
    import netCDF4

    key, is_folder = f"input.{variable.name}", os.path.isdir(path)
    if not is_folder and not os.path.isfile(path):
        raise InputError(f"{key}: there is no file {path}")
    if is_folder and not zarr_store.is_store(path):
        raise InputError(f"{key}: {path} is a folder, and no store of Zarr: it has neither zarr.json nor .zgroup")
    try:
        with _ONE_THREAD, nullcontext(zarr_store.opened(path)) if is_folder else netCDF4.Dataset(path) as dataset:
            yield dataset
    except ImportError as error:
        raise InputError(f'{key}: {path} is a store of Zarr ({error}): pip install "swmodel[zarr]"') from None
    except (OSError, RuntimeError) as error:  # netCDF4 raises RuntimeError where a part is damaged
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{key}: {path} cannot be read as {'Zarr' if is_folder else 'NetCDF'} ({why})") from None


def field_of(dataset, wanted, variable, grid) -> Field:
    """The Field that a Source stands for, checked; `dataset` is its file."""
    found = find(dataset, wanted, variable)
    place = f"input.{variable.name}: {found.name} in {wanted.path}"
    if not numeric(found):
        raise InputError(f"{place} does not hold numbers")
    axes = arrange(dataset, found, variable, grid, place)
    if 0 in found.shape:
        raise InputError(f"{place} has no records")
    factor = factor_of(found, place, variable)
    others = tuple(axis for axis in range(found.ndim) if axis not in axes.numbers)
    chosen = records.choose(dataset, found, others, wanted.record, place)
    return Field(found, chosen, axes, factor)


def factor_of(found, place: str, variable) -> float:
    """The factor of a Field.

    Raises:
        InputError: there are no units, or they are not known.
    """
    units, sign = attribute(found, "units"), sign_of(found, variable, place)
    if units in SYNONYMS[variable.units]:
        return sign
    if units in FACTORS.get(variable.units, {}):
        return sign * FACTORS[variable.units][units]
    if not units:
        raise InputError(f'{place} has no units; it needs "{variable.units}"')
    raise InputError(f'{place} is in "{units}"; convert it to "{variable.units}"')


def sign_of(found, variable, place: str) -> float:
    """What values are multiplied by: -1 where the attribute `positive` of a field that is positive downward is "up"."""
    if not variable.downward or attribute(found, "positive").lower() != "up":
        return 1.0
    remark(f"{place} is positive upward, so its sign is changed")
    return -1.0
