"""What coefficients that vary in time are in a block between two of their records."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from ..ocean.coordinates import points, turned
from ..ocean.records import names_of, numbers_of
from ..ocean.table import location_of
from .fields import VECTORS, fill_land
from .netcdf_input import InputError
from .series import Series, series_of, varies


def record(config, name: str, number: int, rows, columns, of: Series | None = None) -> np.ndarray:
    """Values of a record of a coefficient in rows and columns, wrapped round the rings, [rows, columns] float64.

    Those that are missing on land are zero.

    Raises:
        InputError: one is missing on water, or the record cannot be read.
    """
    of, grid = of or series_of(config, name), config.grid
    rows, columns = np.asarray(rows), np.asarray(columns)
    read = along_axes if name in VECTORS and turned(grid) else as_given
    values = read(config, name, of, number, rows % grid.ny, columns % grid.nx)
    values = np.broadcast_to(values, (len(rows), len(columns)))
    values = fill_land(config, name, values, rows, columns)
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        place = f"row {rows[row] % grid.ny}, column {columns[column] % grid.nx}"
        raise InputError(f"{of.what}: must be finite on water, but is missing at {of.told(number)}, {place}")
    return values


def as_given(config, name: str, of: Series, number: int, rows, columns) -> np.ndarray:
    """Values of a record in rows and columns within the grid."""
    return of.read(number, rows, columns)


def along_axes(config, name: str, of: Series, number: int, rows, columns) -> np.ndarray:
    """The same along the axes of a grid that is turned, of a component that is eastward or northward.

    Raises:
        InputError: the other component has no record of the same time, or lies elsewhere.
    """
    if not of.on_earth(number):
        return of.read(number, rows, columns)
    first, second = VECTORS[name]
    if location_of(first) != location_of(second):
        raise InputError(
            f"{of.what}: is eastward or northward, on faces of a grid whose pole is not that of the Earth; records in "
            "time have to lie along its axes there"
        )
    other = second if name == first else first
    others = series_of(config, other) if varies(config, other) else None
    if others is None or not others.on_earth(number) or others.told(number) != of.told(number):
        raise InputError(
            f"{of.what}: is eastward or northward, and turned to the axes of the grid, whose pole is not that of the "
            f"Earth: {other} needs a record at {of.told(number)}, too"
        )
    cosine, sine = points(config.grid, location_of(name), rows, columns).turn
    mine, theirs = of.read(number, rows, columns), others.read(number, rows, columns)
    return cosine * mine + sine * theirs if name == first else cosine * mine - sine * theirs


def varying_params(config, names: Iterable[str], step: int, rows, columns) -> dict[str, np.ndarray]:
    """What there is among the params of coefficients that vary, from a step on; float64, by name."""
    found = {}
    for name in names:
        of = series_of(config, name)
        number, span = of.at(step)
        before, after = (record(config, name, number + more, rows, columns, of) for more in (0, 1))
        found |= {names_of(name).before: before, names_of(name).after: after} | numbers_of(name, span)
    return found


def until(config, names: Iterable[str], step: int) -> int | None:
    """The step until which `varying_params` at a step hold; None: for ever."""
    ends = [series_of(config, name).at(step)[1].after for name in names]
    return min((max(math.ceil(end), step + 1) for end in ends), default=None)
