"""Arrays of xarray as the variables of a NetCDF file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np


class Labelled:
    """An array of xarray as a variable of NetCDF: attributes by their names, values by numbers of rows and columns."""

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


class Labels:
    """Arrays of xarray as the variables of a file.

    Args:
        arrays: by name.
        place: how they are called in messages.
        variable: what makes a variable of an array and its name.
    """

    def __init__(self, arrays: Mapping, place: str, variable: Callable = Labelled):
        self.place, self.variables = place, {str(name): variable(one, str(name)) for name, one in arrays.items()}

    def filepath(self) -> str:
        """How it is called in messages."""
        return self.place
