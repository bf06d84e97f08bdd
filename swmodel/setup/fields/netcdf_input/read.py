"""Find a field in its file or DataArray, check it, and read parts of it on the grid."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ....ocean.elements import array_of, index_of
from .axes import Axes, arrange
from .dataset import CFDataset, cf_dataset, numeric, open_file, values_of
from .degrees import interpolated, nearest
from .errors import InputError, remark
from .marks import check_marks
from .names import BAND
from .source import find, parse
from .times import Times, choose, times_in
from .units import conversion

#: Wide ranges of fields on the Earth, one of which has all values of a file: others mark missing values, or are in
#: other units. Air pressure is absolute, or relative to some normal one.
RANGES = {
    **dict.fromkeys(("wind_x", "wind_y"), ((-500.0, 500.0),)),
    **dict.fromkeys(("u10", "v10"), ((-150.0, 150.0),)),
    **dict.fromkeys(("u", "v", "outside_current_x", "outside_current_y"), ((-500.0, 500.0),)),
    "air_pressure": ((-2e4, 2e4), (8e4, 1.1e5)),
    "depth": ((-9000.0, 12000.0),),
    "uplift": ((-100.0, 100.0),),
    "eta": ((-500.0, 500.0),),
    "outside_level": ((-100.0, 100.0),),
    "outside_tide_level": ((-30.0, 30.0),),
    **dict.fromkeys(
        ("outside_transport_x", "outside_transport_y", "outside_tide_transport_x", "outside_tide_transport_y"),
        ((-1e5, 1e5),),
    ),
    **dict.fromkeys(("quadratic_drag", "manning"), ((0.0, 10.0),)),
}

#: Largest gap of rows or columns that is read rather than skipped, in a file finer than the grid.
READ_OVER = 64


class GridVariable(NamedTuple):
    """A variable of an open file on the grid.

    `values`: function of an index by dimension; `chosen` has the index along dimensions that the grid lacks.
    `factor`: converts to the model's units; negative if upward is positive in the file, downward in the model.
    `place`, `row`: what messages call it, and the row of VARIABLES.
    """

    values: Callable[[dict], np.ndarray]
    chosen: dict[str, int]
    axes: Axes
    factor: float
    grid: Any
    place: str
    row: Any

    @property
    def pole(self) -> tuple[float, float] | None:
        """The pole of its axes: that of the grid where it has no longitudes; None: that of the Earth."""
        return self.axes.along.pole if self.axes.along else self.grid.pole

    def read(self, rows, columns, fill=None) -> np.ndarray:
        """Values in rows and columns of the grid, in any order, NaN where missing; for `fill` see `interpolated`."""
        rows, columns = np.asarray(rows), np.asarray(columns)
        if self.axes.along:
            return interpolated(partial(self.cells, over=READ_OVER), self.axes.along, rows, columns, fill)
        down, left = self.axes.turned
        return self.cells(
            self.grid.ny - 1 - rows if down else rows,
            self.grid.nx - 1 - columns if left else columns,
        )

    def distances(self, rows, columns, wanted: np.ndarray) -> tuple[np.ndarray, float]:
        """Distances of the values that replace missing ones at points `wanted`, and their limit, degrees."""
        return nearest(partial(self.cells, over=READ_OVER), self.axes.along, rows, columns, wanted)[1:]

    def cells(self, rows: np.ndarray, columns: np.ndarray, over: int = 1) -> np.ndarray:
        """Values in rows and columns of the file, read in slices with gaps of at most `over`, also round the ring."""
        (y, rows), (x, columns) = runs(rows, over), runs(columns, over)
        return np.block([[read_window(self, j, i) for i in x] for j in y])[np.ix_(rows, columns)]


def read_window(field: GridVariable, rows: slice, columns: slice) -> np.ndarray:
    """Values of a window of the file [rows, columns], float64, NaN where missing."""
    index = field.chosen | {field.axes.y: rows, field.axes.x: columns}
    values = np.asarray(field.values(index), np.float64)
    values = values.T if field.axes.exchanged else values
    check_marks(values, field.place, rows.start, columns.start)
    check_range(field, field.factor * values, rows.start, columns.start)
    return field.factor * values


def check_range(field: GridVariable, values: np.ndarray, row: int, column: int) -> None:
    """Raise InputError if values from a row and column of the file on are in none of the RANGES of the field."""
    ranges = RANGES.get(array_of(field.row.name), ())
    outside = {(least, most): (values < least) | (values > most) for least, most in ranges}
    if not outside or not all(each.any() for each in outside.values()):
        return
    (least, most), wrong = min(outside.items(), key=lambda item: item[1].sum())
    j, i = np.argwhere(wrong)[0]
    raise InputError(
        f"{field.place}: {wrong.sum()} of {wrong.size} values are outside {least:g} to {most:g} {field.row.units}, the "
        f"first {values[j, i]:g} at row {row + j}, column {column + i} of the file; missing values need _FillValue"
    )


def runs(numbers: np.ndarray, over: int) -> tuple[list[slice], np.ndarray]:
    """Rising slices that together hold each of `numbers` once, and the indices of these in the joined slices."""
    unique = np.unique(numbers)
    parts = np.split(unique, np.flatnonzero(np.diff(unique) > over) + 1)
    held = np.concatenate([np.arange(part[0], part[-1] + 1) for part in parts])
    return [slice(int(part[0]), int(part[-1]) + 1) for part in parts], np.searchsorted(held, numbers)


@contextmanager
def opened(text: str, row, grid) -> Iterator[GridVariable]:
    """The GridVariable of an entry of [input] for a `row` of VARIABLES; its file is open in `with`."""
    source = parse(text)
    with open_file(source.path, f"input.{row.name}: ") as dataset:
        found, values = find(dataset, source, row)
        place = f"input.{row.name}: {found.name} in {source.path}"
        if not numeric(found):
            raise InputError(f"{place} does not hold numbers")
        if 0 in found.shape:
            raise InputError(f"{place} has no records")
        axes = arrange(dataset, found, row, grid, place)
        others = {name: size for name, size in found.sizes.items() if name not in (axes.y, axes.x)}
        index = index_of(row.name)
        chosen = choose(dataset, others, source.record, place, *index[:1])
        yield GridVariable(values, chosen, axes, factor_of(found, row, place), grid, place, row)


def read_field(text: str, row, grid, rows, columns, fill=None) -> np.ndarray:
    """Values of a field in rows and columns of the grid: see `opened` and `GridVariable.read`."""
    with opened(text, row, grid) as field:
        return field.read(rows, columns, fill)


def factor_of(found, row, place: str, required: bool = True) -> float:
    """The factor of a GridVariable, which needs units if they are `required`."""
    units, sign = found.attrs.get("units", ""), 1.0
    if row.downward and found.attrs.get("positive", "").lower() == "up":
        remark(f"{place} is positive upward, so its sign is changed")
        sign = -1.0
    if not units and row.units and BAND.fullmatch(str(found.name)):
        remark(f'{place} has no units, as rasters have none; "{row.units}" is taken')
        units = row.units
    factor = conversion(units, row.units)
    if factor is not None or not (units or required):
        return sign * (factor or 1.0)
    raise InputError(f'{place} is in "{units}"; convert it to "{row.units}"' if units else
                     f'{place} has no units; it needs "{row.units}"')  # fmt: skip


def field_in(array, row, grid, place: str) -> GridVariable:
    """The GridVariable of a DataArray, at the location and in the units of `row`.

    Units are compared where it has any: arithmetic of xarray drops them.
    """
    dataset = dataset_of(array, place)
    found = dataset.data[place]
    if not numeric(found):
        raise InputError(f"{place}: values of type {found.dtype} cannot be used; must be numbers")
    axes = arrange(dataset, found, row, grid, place)
    others = {name: 0 for name in found.dims if name not in (axes.y, axes.x)}
    if several := [name for name in others if found.sizes[name] != 1]:
        raise InputError(f"{place} has {' and '.join(several)} besides y and x; choose one, as .isel({several[0]}=0)")
    factor = factor_of(found, row, place, required=False) if row.units else 1.0
    return GridVariable(partial(values_of, found), others, axes, factor, grid, place, row)


def times_of(array, place: str) -> tuple[str, Times] | None:
    """The dimension and the Times of a DataArray with several records in time; None for others."""
    dataset = dataset_of(array, place)
    found = times_in(dataset, dataset.data[place])
    return found if found and found[1].count > 1 else None


def dataset_of(array, place: str) -> CFDataset:
    """The CFDataset of a DataArray and its coordinates, with dates as numbers as in a file."""
    from xarray.conventions import encode_cf_variable

    texts = {name: str(name) for name in dict.fromkeys((*array.dims, *array.coords)) if not isinstance(name, str)}
    data = (array.rename(texts) if texts else array).to_dataset(name=place)
    dates = {name: one.variable.drop_encoding() for name, one in data.coords.items() if one.dtype.kind in "MO"}
    return cf_dataset(data.assign_coords({name: encode_cf_variable(one) for name, one in dates.items()}), place)
