"""Find a field in its file or DataArray, check it, and read parts of it on the grid."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ....ocean.coordinates import Frame, frame_of
from ....ocean.elements import array_of, index_of
from ....ocean.table import EASTWARD_NAMES
from ....ocean.terms.boundary_data import TIDE_TRANSPORTS
from .axes import VariableAxes, axes_of_variable
from .dataset import CFDataset, cf_dataset, is_numeric, open_file, read_values
from .errors import InputError, log_once
from .input_entry import InputEntry, find_variable, parse_entry
from .missing_values import check_missing_values
from .names import GDAL_BAND_PATTERN, HEIGHT_STANDARD_NAMES, MASS_STANDARD_NAMES
from .regridding import interpolate, nearest_values
from .times import RecordTimes, choose_record, find_record_times
from .units import conversion_factor

if TYPE_CHECKING:
    from ....config.options.grid import GridOptions

#: Wide ranges of fields on the Earth. All values of a file must lie in one of them; others mark missing values, or are
#: in other units. Air pressure is absolute, or relative to some standard pressure.
PLAUSIBLE_RANGES = {
    **dict.fromkeys(("wind_x", "wind_y"), ((-500.0, 500.0),)),
    **dict.fromkeys(("u10", "v10"), ((-150.0, 150.0),)),
    **dict.fromkeys(("u", "v", "boundary_current_x", "boundary_current_y"), ((-500.0, 500.0),)),
    "air_pressure": ((-2e4, 2e4), (8e4, 1.1e5)),
    **dict.fromkeys(("rain", "evaporation", "infiltration"), ((0.0, 2e-3),)),
    "depth": ((-9000.0, 12000.0),),
    "uplift": ((-100.0, 100.0),),
    "eta": ((-500.0, 500.0),),
    "boundary_level": ((-100.0, 100.0),),
    "boundary_tide_level": ((-30.0, 30.0),),
    **dict.fromkeys(
        ("boundary_transport_x", "boundary_transport_y", "boundary_tide_transport_x", "boundary_tide_transport_y"),
        ((-1e5, 1e5),),
    ),
    **dict.fromkeys(("quadratic_drag", "manning"), ((0.0, 10.0),)),
}

#: Fields that are never negative, and the smallest value, m s-1, that counts as 0 because packing rounds values.
NON_NEGATIVE_FIELDS, MIN_PACKED_ZERO = ("rain", "evaporation", "infiltration"), -1e-11

#: Fields of the atmosphere, and infiltration, which have values on land, too.
WEATHER_FIELDS = ("wind_x", "wind_y", "u10", "v10", "air_pressure", *NON_NEGATIVE_FIELDS)

#: Density of rain, kg m-3.
FRESHWATER_DENSITY = 1000.0

#: In a file finer than the grid, rows (or columns) with numbers at most this far apart are read with all between them.
MAX_READ_GAP = 64


class GridVariable(NamedTuple):
    """A variable of an open file on the grid.

    Attributes:
        values: function from {dimension: index} to values.
        fixed_index: index along each dimension that the grid lacks.
        factor: factor from the units of the file to those of the model; negative if the file has the opposite sign.
        context, model_variable: its name in messages, and the Variable of the field.
        is_current: whether values are currents, m s-1, whose product with the depth is the transport of a tide.
        is_eastward: whether the standard name of a vector component says eastward or northward, whatever the axes.
    """

    values: Callable[[dict], np.ndarray]
    fixed_index: dict[str, int]
    axes: VariableAxes
    factor: float
    grid: GridOptions
    context: str
    model_variable: Any
    is_current: bool = False
    is_eastward: bool = False

    @property
    def frame(self) -> Frame:
        """The frame of vector components: that of its axes, or of the grid without a regridder; None: eastward."""
        if self.is_eastward:
            return None
        return self.axes.regridder.frame if self.axes.regridder else frame_of(self.grid)

    def read(self, rows, columns, fill=None) -> np.ndarray:
        """Values in rows and columns of the grid, in any order, NaN where missing; for `fill` see `interpolate`."""
        rows, columns = np.asarray(rows), np.asarray(columns)
        if self.axes.regridder:
            return interpolate(partial(self.read_cells, max_gap=MAX_READ_GAP), self.axes.regridder, rows, columns, fill)
        is_downward, is_leftward = self.axes.is_reversed
        return self.read_cells(
            self.grid.ny - 1 - rows if is_downward else rows,
            self.grid.nx - 1 - columns if is_leftward else columns,
        )

    def distances(self, rows, columns, wanted: np.ndarray) -> tuple[np.ndarray, float]:
        """Distances to the values that replace missing ones at points `wanted`, and their limit, degrees."""
        if not self.axes.regridder:
            return np.zeros(0), 0.0
        return nearest_values(
            partial(self.read_cells, max_gap=MAX_READ_GAP), self.axes.regridder, rows, columns, wanted
        )[1:]

    def read_cells(self, rows: np.ndarray, columns: np.ndarray, max_gap: int = 1) -> np.ndarray:
        """Values in rows and columns of the file, in any order; gaps of less than `max_gap` are read, not skipped."""
        (y, rows), (x, columns) = contiguous_slices(rows, max_gap), contiguous_slices(columns, max_gap)
        return np.block([[read_window(self, j, i) for i in x] for j in y])[np.ix_(rows, columns)]


def read_window(field: GridVariable, rows: slice, columns: slice) -> np.ndarray:
    """Values of a window of the file [rows, columns], float64, NaN where missing."""
    index = field.fixed_index | {field.axes.y: rows, field.axes.x: columns}
    values = np.asarray(field.values(index), np.float64)
    values = values.T if field.axes.is_transposed else values
    check_missing_values(values, field.context, rows.start, columns.start)
    values = field.factor * values
    if field.model_variable.name in NON_NEGATIVE_FIELDS:
        values[(values < 0) & (values >= MIN_PACKED_ZERO)] = 0.0
    check_range(field, values, rows.start, columns.start)
    if field.model_variable.name in WEATHER_FIELDS and field.axes.regridder and np.isnan(values).any():
        log_once(f"{field.context}: missing values are replaced by interpolation between those around them")
    return values


def check_range(field: GridVariable, values: np.ndarray, row: int, column: int) -> None:
    """Raise InputError unless all values are in one of the PLAUSIBLE_RANGES.

    `row` and `column` are the position of the first value in the file.
    """
    ranges = PLAUSIBLE_RANGES.get(array_of(field.model_variable.name), ())
    outside = {(lower, upper): (values < lower) | (values > upper) for lower, upper in ranges}
    if not outside or not all(each.any() for each in outside.values()):
        return
    (min_value, max_value), wrong = min(outside.items(), key=lambda item: item[1].sum())
    j, i = np.argwhere(wrong)[0]
    raise InputError(
        f"{field.context}: {wrong.sum()} of {wrong.size} values are outside {min_value:g} to {max_value:g} "
        f"{field.model_variable.units}, the first {values[j, i]:g} at row {row + j}, column {column + i} of the file; "
        "missing values need _FillValue"
    )


def contiguous_slices(numbers: np.ndarray, max_gap: int) -> tuple[list[slice], np.ndarray]:
    """Ascending slices that together hold each of `numbers` once, and the indices of `numbers` in the joined slices."""
    unique = np.unique(numbers)
    parts = np.split(unique, np.flatnonzero(np.diff(unique) > max_gap) + 1)
    joined = np.concatenate([np.arange(part[0], part[-1] + 1) for part in parts])
    return [slice(int(part[0]), int(part[-1]) + 1) for part in parts], np.searchsorted(joined, numbers)


@contextmanager
def open_variable(entry_text: str, model_variable, grid) -> Iterator[GridVariable]:
    """A context with the GridVariable of an entry of [input] for a variable of the model, and with its file open.

    InputError: the file has no such variable or record, or the variable has other units or does not fit the grid.
    """
    entry = parse_entry(entry_text)
    with open_file(entry.path, f"input.{model_variable.name}: ") as dataset:
        variable, values, sign = find_variable(dataset, entry, model_variable)
        context = f"input.{model_variable.name}: {variable.name} in {entry.path}"
        if not is_numeric(variable):
            raise InputError(f"{context} does not hold numbers")
        if 0 in variable.shape:
            raise InputError(f"{context} has no records")
        if model_variable.name == "depth" and not entry.name.startswith("-") and "positive" not in variable.attrs:
            refuse_heights(variable, entry, context)
        axes = axes_of_variable(dataset, variable, model_variable, grid, context)
        other_dimensions = {str(name): size for name, size in variable.sizes.items() if name not in (axes.y, axes.x)}
        index = index_of(model_variable.name)
        fixed_index = choose_record(dataset, other_dimensions, entry.record, context, *index[:1])
        is_transport = array_of(model_variable.name) in TIDE_TRANSPORTS
        factor = conversion_factor(variable.attrs.get("units", ""), "m s-1") if is_transport else None
        is_current = factor is not None
        if factor is None:
            factor = unit_factor(variable, model_variable, context)
        else:
            log_once("the currents of the tide are multiplied by the depth of the grid", logging.INFO)
        is_eastward = variable.attrs.get("standard_name") in EASTWARD_NAMES.values()
        parts = fixed_index, axes, sign * factor, grid, context, model_variable, is_current, is_eastward
        yield GridVariable(values, *parts)


def refuse_heights(variable, entry: InputEntry, context: str) -> None:
    """Raise InputError if the standard name is one of heights; log that a raster, which has none, is read as depths."""
    negated = f"{entry.path}:-{variable.name}"
    standard_name = variable.attrs.get("standard_name", "")
    if standard_name in HEIGHT_STANDARD_NAMES:
        raise InputError(f'{context} is {standard_name}, positive upward; write "{negated}" for depths')
    if GDAL_BAND_PATTERN.fullmatch(str(variable.name)):
        log_once(f'{context} is read as depths, positive downward; if it has heights, write "{negated}"')


def unit_factor(variable, model_variable, context: str, needs_units: bool = True) -> float:
    """The factor of a GridVariable. InputError: unknown units, or `needs_units` and the variable has none."""
    units, sign = variable.attrs.get("units", ""), 1.0
    if model_variable.is_positive_down and variable.attrs.get("positive", "").lower() == "up":
        log_once(f"{context} is positive upward, so its sign is changed")
        sign = -1.0
    if not units and model_variable.units and GDAL_BAND_PATTERN.fullmatch(str(variable.name)):
        log_once(f'{context} has no units, like other rasters; "{model_variable.units}" is assumed')
        units = model_variable.units
    factor = conversion_factor(units, model_variable.units)
    if factor is None and model_variable.standard_name in MASS_STANDARD_NAMES:
        mass_factor = conversion_factor(units, "kg m-2 s-1")
        factor = mass_factor and mass_factor / FRESHWATER_DENSITY
    if factor is not None or not (units or needs_units):
        return sign * (factor or 1.0)
    raise InputError(f'{context} is in "{units}"; convert it to "{model_variable.units}"' if units else
                     f'{context} has no units; it needs "{model_variable.units}"')  # fmt: skip


def variable_from_array(array, model_variable, grid, context: str) -> GridVariable:
    """The GridVariable of a DataArray, at the location and in the units of `model_variable`.

    Its units are compared only if it has any, because xarray's arithmetic drops them. InputError: it does not hold
    numbers, has further dimensions or other units, or does not fit the grid.
    """
    dataset = dataset_of_array(array, context)
    variable = dataset.data[context]
    if not is_numeric(variable):
        raise InputError(f"{context}: values of type {variable.dtype} cannot be used; give numbers")
    axes = axes_of_variable(dataset, variable, model_variable, grid, context)
    fixed_index = {str(name): 0 for name in variable.dims if name not in (axes.y, axes.x)}
    if several := [name for name in fixed_index if variable.sizes[name] != 1]:
        raise InputError(f"{context} has {' and '.join(several)} besides y and x; choose one, as .isel({several[0]}=0)")
    factor = unit_factor(variable, model_variable, context, needs_units=False) if model_variable.units else 1.0
    is_eastward = variable.attrs.get("standard_name") in EASTWARD_NAMES.values()
    parts = fixed_index, axes, factor, grid, context, model_variable, False, is_eastward
    return GridVariable(partial(read_values, variable), *parts)


def times_of_array(array, context: str) -> tuple[str, RecordTimes] | None:
    """The dimension and the RecordTimes of a DataArray with several records in time; None for others."""
    dataset = dataset_of_array(array, context)
    record_times = find_record_times(dataset, dataset.data[context])
    return record_times if record_times and record_times[1].count > 1 else None


def dataset_of_array(array, context: str) -> CFDataset:
    """The CFDataset of a DataArray and its coordinates, with dates as numbers as in a file."""
    from xarray.conventions import encode_cf_variable

    texts = {name: str(name) for name in dict.fromkeys((*array.dims, *array.coords)) if not isinstance(name, str)}
    data = (array.rename(texts) if texts else array).to_dataset(name=context)
    dates = {name: one.variable.drop_encoding() for name, one in data.coords.items() if one.dtype.kind in "MO"}
    return cf_dataset(data.assign_coords({name: encode_cf_variable(one) for name, one in dates.items()}), context)
