"""A DataArray of xarray, read as the variable of a file is: found by its coordinates, turned, its units checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from .axes import arrange
from .errors import InputError
from .read import Field, check_units, read_window, sign_of


class Labelled:
    """A DataArray as a variable of NetCDF: attributes by their names, values by numbers of rows and columns."""

    def __init__(self, array, name: str):
        self.array, self.name, self.dimensions = array, name, tuple(map(str, array.dims))
        self.shape, self.ndim, self.dtype = array.shape, array.ndim, array.dtype

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["array"].attrs[name]
        except KeyError:
            raise AttributeError(name) from None

    def __getitem__(self, index):
        return np.asarray(self.array[index])


class Coordinates:
    """The coordinates of a DataArray as the variables of a file."""

    def __init__(self, array, place: str):
        self.place = place
        self.variables = {str(name): Labelled(one, str(name)) for name, one in array.coords.items()}

    def filepath(self) -> str:
        """How it is called in messages."""
        return self.place


def read_labelled(array, variable, grid, place: str) -> np.ndarray:
    """Values [ny, nx] of a DataArray as they lie on the grid, float64, NaN where there are none.

    Units are compared where it has any: arithmetic of xarray leaves them out.

    Args:
        variable: the entry of the table that says which location and units are wanted.
        grid: section of the configuration.
        place: how messages begin.

    Raises:
        InputError: shape, coordinates or units are not as wanted.
    """
    found, dataset = Labelled(array, place), Coordinates(array, place)
    if found.dtype.kind not in "biuf":
        raise InputError(f"{place}: values of type {found.dtype} cannot be used; must be numbers")
    axes = arrange(dataset, found, variable, grid, place)
    others = [name for number, name in enumerate(found.dimensions) if number not in axes.numbers]
    if several := [name for name in others if found.array.sizes[name] != 1]:
        raise InputError(f"{place} has {' and '.join(several)} besides y and x; choose one, as .isel({several[0]}=0)")
    if variable.units and hasattr(found, "units"):
        check_units(found, place, variable)
    chosen = {number: 0 for number in range(found.ndim) if number not in axes.numbers}
    field = Field(found, chosen, axes, sign_of(found, variable, place))
    values = read_window(field, slice(0, grid.ny), slice(0, grid.nx))
    return np.ascontiguousarray(values[tuple(slice(None, None, -1 if turned else 1) for turned in axes.turned)])
