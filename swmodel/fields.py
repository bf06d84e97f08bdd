"""The fields of a run, from the case's formulas or from NetCDF files, for any rows and columns of the grid.

Everything is evaluated where it is asked for, so that a rank builds its own block and nothing larger.
"""

from __future__ import annotations

import numpy as np

from . import cases
from .coordinates import points
from .netcdf_input import read_field
from .state import VARIABLES

#: Location of each field of a case that is not its own entry in VARIABLES.
LOCATIONS = {"u": "u", "v": "v"}


def given(config, name: str) -> bool:
    """Whether a file or the case defines the field, so that it is more than a constant."""
    return bool(getattr(config.input, name)) or hasattr(cases.get(config.case.name), name)


def evaluate(config, name: str, rows, columns) -> np.ndarray:
    """Values of a field in the given row and column numbers, wrapped round the rings; float64, SI units.

    Args:
        name: one of `cases.FIELDS`.
        rows, columns: integer sequences; numbers beyond the grid continue on its other side.

    Returns:
        Array that broadcasts to [rows, columns].

    Raises:
        InputError: a file lacks the variable, or has another shape or other units.
    """
    grid = config.grid
    rows, columns = np.asarray(rows) % grid.ny, np.asarray(columns) % grid.nx
    path = getattr(config.input, name)
    if path:
        return read_field(path, VARIABLES[name], (grid.ny, grid.nx), rows, columns)
    case = cases.get(config.case.name)
    if hasattr(case, name):
        at = points(grid, LOCATIONS.get(name, "centre"), rows, columns)
        return np.atleast_2d(np.asarray(getattr(case, name)(config, at), dtype=np.float64))
    constant = {"mask": 1.0, "depth": config.physics.depth, "linear_drag": config.physics.linear_drag}
    return np.full((1, 1), constant.get(name, 0.0))


def wet(config, rows, columns) -> np.ndarray:
    """1 on water, 0 on land and beyond walls, [rows, columns] or broadcast to it; float64."""
    grid = config.grid
    rows, columns = np.asarray(rows), np.asarray(columns)
    inside_y = np.ones((1, 1)) if grid.periodic_y else ((rows >= 0) & (rows < grid.ny))[:, None].astype(float)
    inside_x = np.ones((1, 1)) if grid.periodic_x else ((columns >= 0) & (columns < grid.nx))[None, :].astype(float)
    return inside_y * inside_x * (evaluate(config, "mask", rows, columns) != 0)
