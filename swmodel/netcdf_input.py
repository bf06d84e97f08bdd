"""Fields from NetCDF files: found by standard name or by the name given, checked for shape and units, read in part."""

from __future__ import annotations

import os
from contextlib import contextmanager

import numpy as np

#: Ways to write the units that the model's variables have.
SYNONYMS = {
    "m": {"m", "meter", "meters", "metre", "metres"},
    "m s-1": {"m s-1", "m/s", "m s**-1", "m s^-1", "m.s-1", "meter second-1", "meters per second"},
    "Pa": {"Pa", "pascal", "N m-2", "N/m2", "N/m^2", "N m**-2", "kg m-1 s-2"},
    "s-1": {"s-1", "1/s", "s**-1", "s^-1"},
    "1": {"1", "", "none", "dimensionless"},
}


class InputError(ValueError):
    """A NetCDF file does not hold what the configuration asks of it."""

    exit_code = 2


def read_field(source: str, variable, shape: tuple[int, int], rows, columns) -> np.ndarray:
    """Values of one variable in the given rows and columns, float64; missing values become NaN.

    Only runs of neighbouring rows and columns are read: a block that reaches round the ring costs no more than another.

    Args:
        source: "FILE" (the variable is found by its standard name) or "FILE:NAME".
        variable: the entry of VARIABLES that says which standard name and units are wanted.
        shape: (ny, nx) of the grid. Axes before these two may have one element each, but for one, such as time, whose
            last record is taken.
        rows, columns: numbers within the grid, in any order.

    Raises:
        InputError: the file, the variable, its shape or its units are not as wanted.
    """
    rows, columns = np.asarray(rows), np.asarray(columns)
    with opened(source, variable, shape) as found:
        last = (-1,) * (found.ndim - 2)
        values = np.block([[read_window(found, last, y, x) for x in runs(columns)] for y in runs(rows)])
    return values[np.ix_(np.searchsorted(np.unique(rows), rows), np.searchsorted(np.unique(columns), columns))]


def read_window(found, last: tuple[int, ...], rows: slice, columns: slice) -> np.ndarray:
    """Values of a window, float64, NaN where missing."""
    return np.ma.filled(np.ma.asarray(found[(*last, rows, columns)], dtype=np.float64), np.nan)


def runs(numbers: np.ndarray) -> list[slice]:
    """Slices of consecutive numbers that together hold each of `numbers` once, in rising order."""
    unique = np.unique(numbers)
    parts = np.split(unique, np.flatnonzero(np.diff(unique) > 1) + 1)
    return [slice(int(part[0]), int(part[-1]) + 1) for part in parts]


@contextmanager
def opened(source: str, variable, shape: tuple[int, int]):
    """The NetCDF variable that `source` stands for, checked for shape and units; its file is open inside `with`.

    Raises:
        InputError: the file, the variable, its shape or its units are not as wanted.
    """
    import netCDF4

    path, name = split_source(source)
    if not os.path.isfile(path):  # Path.is_file raises where a name is too long
        raise InputError(f"input.{variable.name}: there is no file {path}")
    try:
        dataset = netCDF4.Dataset(path)
    except OSError as error:
        raise InputError(f"input.{variable.name}: {path} cannot be read as NetCDF ({error.strerror})") from None
    with dataset:
        found = find(dataset, path, name, variable)
        check(found, path, variable, shape)
        yield found


def split_source(source: str) -> tuple[str, str]:
    """("FILE", "NAME") of "FILE:NAME" or "FILE"."""
    path, colon, name = source.rpartition(":")
    return (path, name) if colon and not os.path.isfile(source) else (source, "")


def find(dataset, path: str, name: str, variable):
    """The variable called `name`, or the only one with the standard name wanted (ours has none: called like ours)."""
    names = ", ".join(dataset.variables) or "none"
    wanted = name or ("" if variable.standard_name else variable.name)
    if wanted:
        if wanted in dataset.variables:
            return dataset.variables[wanted]
        raise InputError(f'input.{variable.name}: {path} has no variable "{wanted}"; it has {names}')
    matches = [v for v in dataset.variables.values() if getattr(v, "standard_name", None) == variable.standard_name]
    if len(matches) == 1:
        return matches[0]
    names = ", ".join(v.name for v in matches) or names
    what = "several variables" if matches else "no variable"
    raise InputError(
        f'input.{variable.name}: {path} has {what} with standard_name "{variable.standard_name}" ({names}); '
        f'name it as "{path}:NAME"'
    )


def check(found, path: str, variable, shape: tuple[int, int]) -> None:
    """Raise InputError unless shape, type and units are as wanted."""
    place = f"input.{variable.name}: {found.name} in {path}"
    if getattr(found.dtype, "kind", "") not in ("i", "u", "f"):
        raise InputError(f"{place} does not hold numbers")
    if found.shape[-2:] != shape or sum(length > 1 for length in found.shape[:-2]) > 1:
        swapped = "; its axes are swapped" if found.shape[-2:] == shape[::-1] else ""
        raise InputError(f"{place} has shape {found.shape}, the grid needs {shape} (ny, nx){swapped}")
    if 0 in found.shape:
        raise InputError(f"{place} has no records")
    units = getattr(found, "units", None)
    if units is None and variable.units != "1":
        raise InputError(f'{place} has no units; it needs "{variable.units}"')
    if units is not None and units not in SYNONYMS[variable.units]:
        raise InputError(f'{place} is in "{units}"; convert it to "{variable.units}"')
