"""A DataArray of xarray, read as the variable of a file is: found by its coordinates, turned, its units checked."""

from __future__ import annotations

from functools import partial

from .axes import arrange
from .dataset import CFDataset, cf_dataset, numeric, values_of
from .errors import InputError
from .read import GridVariable, factor_of
from .times import Times


def field_in(array, row, grid, place: str) -> GridVariable:
    """The GridVariable that a DataArray is, at the location and in the units of `row`.

    Units are compared where it has any: arithmetic of xarray leaves them out.
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
    return GridVariable(partial(values_of, found), others, axes, factor, grid)


def times_of(array, place: str) -> tuple[str, Times] | None:
    """Of a DataArray with several records in time their dimension and their Times; None of any other."""
    dataset = dataset_of(array, place)
    found = ((name, Times(dataset, name, size)) for name, size in dataset.data[place].sizes.items() if size > 1)
    return next((pair for pair in found if pair[1].dated), None)


def dataset_of(array, place: str) -> CFDataset:
    """A DataArray under the name `place` and its coordinates, whose dates are numbers as in a file."""
    from xarray.conventions import encode_cf_variable

    texts = {name: str(name) for name in {*array.dims, *array.coords} if not isinstance(name, str)}
    data = (array.rename(texts) if texts else array).to_dataset(name=place)
    dates = {name: one.variable.drop_encoding() for name, one in data.coords.items() if one.dtype.kind in "MO"}
    return cf_dataset(data.assign_coords({name: encode_cf_variable(one) for name, one in dates.items()}), place)
