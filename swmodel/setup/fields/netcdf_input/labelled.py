"""A DataArray of xarray, read as the variable of a file is: found by its coordinates, turned, its units checked."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial

import numpy as np

from .axes import arrange
from .errors import InputError
from .labels import Labelled, Labels
from .read import Field, factor_of, sign_of, values_of
from .records import Times
from .series import Records, check_order, moments, without_start

#: What dates of xarray are counted in, whatever the run counts from.
SINCE = "seconds since 1970-01-01"


def read_labelled(array, variable, grid, place: str) -> np.ndarray:
    """Values [ny, nx] of a DataArray as they lie on the grid, float64, NaN where there are none; see `field_in`."""
    field = field_in(array, variable, grid, place)
    return np.ascontiguousarray(values_of(field, grid, np.arange(grid.ny), np.arange(grid.nx)))


def field_in(array, variable, grid, place: str) -> Field:
    """The Field that a DataArray is.

    Units are compared where it has any: arithmetic of xarray leaves them out.

    Args:
        variable: the entry of the table that says which location and units are wanted.
        grid: section of the configuration.
        place: how messages begin.

    Raises:
        InputError: shape, coordinates or units are not as wanted.
    """
    found, dataset = Labelled(array, place), Labels(array.coords, place)
    if found.dtype.kind not in "biuf":
        raise InputError(f"{place}: values of type {found.dtype} cannot be used; must be numbers")
    axes = arrange(dataset, found, variable, grid, place)
    others = [name for number, name in enumerate(found.dimensions) if number not in axes.numbers]
    if several := [name for name in others if found.array.sizes[name] != 1]:
        raise InputError(f"{place} has {' and '.join(several)} besides y and x; choose one, as .isel({several[0]}=0)")
    if variable.units and hasattr(found, "units"):
        factor = factor_of(found, place, variable)
    else:
        factor = sign_of(found, variable, place)
    chosen = {number: 0 for number in range(found.ndim) if number not in axes.numbers}
    return Field(found, chosen, axes, factor)


def times_of(array, place: str) -> tuple[str, Times] | None:
    """Of a DataArray with several records in time their dimension and their Times; None of any other."""
    dataset = Labels({name: counted(one) for name, one in array.coords.items()}, place)
    several = (name for name in map(str, array.dims) if array.sizes[name] > 1)
    found = ((name, Times(dataset, name, array.sizes[name])) for name in several)
    return next((pair for pair in found if pair[1]), None)


def counted(coordinate):
    """A coordinate of dates, of NumPy or cftime, in numbers as a file has it; others as they are."""
    import cftime
    import xarray

    dates = coordinate.values
    if dates.dtype.kind == "M":
        numbers = np.where(np.isnat(dates), np.nan, dates.astype("datetime64[us]").astype(np.int64) / 1e6)
        return xarray.Variable(coordinate.dims, numbers, {"units": SINCE, "calendar": "proleptic_gregorian"})
    if dates.dtype == object and dates.size and isinstance(dates.flat[0], cftime.datetime):
        calendar = dates.flat[0].calendar
        numbers = np.asarray(cftime.date2num(dates, SINCE, calendar), np.float64)
        return xarray.Variable(coordinate.dims, numbers, {"units": SINCE, "calendar": calendar})
    return coordinate


def records_in(array, time, place: str) -> Records:
    """The Records of a DataArray in time, each a `field_in`.

    Args:
        time: section of the configuration.

    Raises:
        InputError: the run has no date, or the times do not rise, or are of another calendar.
    """
    dimension, times = times_of(array, place)
    if not time.start:
        raise InputError(without_start(place, times.text(0)))
    seconds, dates = moments(times, time, place)
    fields = tuple(partial(record_of, array, dimension, number, place) for number in range(times.count))
    found = Records(place, seconds, fields, tuple(dates))
    check_order(found)
    return found


def record_of(array, dimension: str, number: int, place: str, variable, grid):
    """A context with the Field of a record."""
    return nullcontext(field_in(array.isel({dimension: number}), variable, grid, place))
