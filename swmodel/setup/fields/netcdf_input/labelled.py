"""A DataArray of xarray, read as the variable of a file is: found by its coordinates, turned, its units checked."""

from __future__ import annotations

import numpy as np

from .axes import arrange
from .dataset import CFDataset, cf_dataset, numeric, values_of
from .errors import InputError
from .read import GridVariable, factor_of, sign_of
from .times import Times

#: What dates of xarray are counted in, whatever the run counts from.
SINCE = "seconds since 1970-01-01"


def field_in(array, row, grid, place: str) -> GridVariable:
    """The GridVariable that a DataArray is, at the location and in the units of `row`.

    Units are compared where it has any: arithmetic of xarray leaves them out.
    """
    dataset = dataset_of(array, place)
    found = dataset.data[place]
    if not numeric(found):
        raise InputError(f"{place}: values of type {found.dtype} cannot be used; must be numbers")
    axes = arrange(dataset, found, row, grid, place)
    others = dict.fromkeys({*range(found.ndim)} - {*axes.numbers}, 0)
    if several := [found.dims[number] for number in others if found.shape[number] != 1]:
        raise InputError(f"{place} has {' and '.join(several)} besides y and x; choose one, as .isel({several[0]}=0)")
    factor = (factor_of if row.units and "units" in found.attrs else sign_of)(found, row, place)
    return GridVariable(lambda index: values_of(found, index), others, axes, factor, grid)


def times_of(array, place: str) -> tuple[str, Times] | None:
    """Of a DataArray with several records in time their dimension and their Times; None of any other."""
    dataset = dataset_of(array, place)
    several = [name for name, size in dataset.data[place].sizes.items() if size > 1]
    found = ((name, Times(dataset, name, array.sizes[name])) for name in several)
    return next((pair for pair in found if pair[1]), None)


def dataset_of(array, place: str) -> CFDataset:
    """A DataArray under the name `place` and its coordinates, whose dates are numbers as in a file."""
    texts = {name: str(name) for name in {*array.dims, *array.coords} if not isinstance(name, str)}
    data = (array.rename(texts) if texts else array).to_dataset(name=place)
    dates = {name: counted(one) for name, one in data.coords.items() if one.dtype.kind in "MO" and one.size}
    return cf_dataset(data.assign_coords(dates), place)


def counted(coordinate):
    """A coordinate of dates, of NumPy or cftime, in numbers as a file has it; others as they are."""
    import cftime

    dates, calendar = coordinate.values, "proleptic_gregorian"
    if dates.dtype.kind == "M":
        numbers = np.where(np.isnat(dates), np.nan, dates.astype("datetime64[us]").astype(np.int64) / 1e6)
    elif isinstance(dates.flat[0], cftime.datetime):
        calendar = dates.flat[0].calendar
        numbers = np.asarray(cftime.date2num(dates, SINCE, calendar), np.float64)
    else:
        return coordinate
    return coordinate.dims, numbers, {"units": SINCE, "calendar": calendar}
