"""Fields from NetCDF files: found by standard name or by the name given, checked for shape and units, read in part."""

from __future__ import annotations

from pathlib import Path

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


def read_field(source: str, variable, shape: tuple[int, int], rows, columns) -> np.ndarray:
    """Values of one variable in the given rows and columns, float64; missing values become NaN.

    Args:
        source: "FILE" (the variable is found by its standard name) or "FILE:NAME".
        variable: the entry of VARIABLES that says which standard name and units are wanted.
        shape: (ny, nx) of the grid. A leading time axis is allowed; its last record is taken.
        rows, columns: numbers within the grid.

    Raises:
        InputError: the file, the variable, its shape or its units are not as wanted.
    """
    import netCDF4

    path, _, name = source.partition(":")
    if not Path(path).is_file():
        raise InputError(f"input.{variable.name}: there is no file {path}")
    try:
        dataset = netCDF4.Dataset(path)
    except OSError as error:
        raise InputError(f"input.{variable.name}: {path} is not a NetCDF file ({error})") from None
    with dataset:
        found = find(dataset, path, name, variable)
        check(found, path, variable, shape)
        lead = (-1,) * (found.ndim - 2)
        top, left = int(rows.min()), int(columns.min())
        window = found[(*lead, slice(top, int(rows.max()) + 1), slice(left, int(columns.max()) + 1))]
    values = np.ma.filled(np.ma.asarray(window, dtype=np.float64), np.nan)
    return values[np.ix_(rows - top, columns - left)]


def find(dataset, path: str, name: str, variable):
    """The variable called `name`, or the only one with the standard name wanted."""
    if name:
        if name not in dataset.variables:
            raise InputError(
                f'input.{variable.name}: {path} has no variable "{name}"; it has {", ".join(dataset.variables)}'
            )
        return dataset.variables[name]
    matches = [v for v in dataset.variables.values() if getattr(v, "standard_name", None) == variable.standard_name]
    if len(matches) == 1:
        return matches[0]
    names = ", ".join(v.name for v in matches) or ", ".join(dataset.variables)
    what = "several variables" if matches else "no variable"
    raise InputError(
        f'input.{variable.name}: {path} has {what} with standard_name "{variable.standard_name}" ({names}); '
        f'name it as "{path}:NAME"'
    )


def check(found, path: str, variable, shape: tuple[int, int]) -> None:
    """Raise InputError unless shape and units are as wanted."""
    if found.shape[-2:] != shape or found.ndim > 3:
        raise InputError(
            f"input.{variable.name}: {found.name} in {path} has shape {found.shape}, the grid needs {shape} (ny, nx)"
        )
    units = getattr(found, "units", None)
    if units is None and variable.units != "1":
        raise InputError(f'input.{variable.name}: {found.name} in {path} has no units; it needs "{variable.units}"')
    if units is not None and units not in SYNONYMS[variable.units]:
        raise InputError(
            f'input.{variable.name}: {found.name} in {path} is in "{units}"; convert it to "{variable.units}"'
        )
