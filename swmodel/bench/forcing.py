"""Fields for rows with everything switched on: a file with bathymetry, land and wind in two dimensions.

Lengths are fractions of the domain's: the fields look the same on every grid. Land covers a twentieth of the cells.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..ocean.table import VARIABLES

#: Discs of land: middle in x and y, radius.
ISLANDS = ((0.2, 0.3, 0.06), (0.6, 0.75, 0.1), (0.8, 0.2, 0.05), (0.45, 0.5, 0.03))
NAMES = ("depth", "mask", "wind_x", "wind_y")


def path_of(folder, nx: int, ny: int) -> Path:
    """The file for a grid."""
    return Path(folder).absolute() / f"fields-{nx}x{ny}.nc"


def inputs(folder, nx: int, ny: int) -> dict[str, str]:
    """The settings of the configuration that read the file; with a slow jet, as a fast one has thin water beside it."""
    return {f"input.{name}": f"{path_of(folder, nx, ny)}:{name}" for name in NAMES} | {"case.speed": 4.0}


def fields(nx: int, ny: int) -> dict[str, np.ndarray]:
    """Depth, m, on which the jet's time step is stable; mask; wind stress, Pa; all [ny, nx]."""
    y, x = (np.arange(ny) + 0.5)[:, None] / ny, (np.arange(nx) + 0.5)[None, :] / nx
    ashore = sum(((x - x0) ** 2 + (y - y0) ** 2 < radius**2).astype(float) for x0, y0, radius in ISLANDS)
    return {
        "depth": 100 + 40 * np.exp(-((x - 0.4) ** 2 + (y - 0.5) ** 2) / 0.02),
        "mask": 1 - ashore,
        "wind_x": 0.1 * np.cos(2 * np.pi * y) + 0.01 * np.sin(2 * np.pi * x),
        "wind_y": 0.01 * np.cos(2 * np.pi * x) + 0 * y,
    }


def write(folder, nx: int, ny: int):
    """Write the file for a grid, whole or not at all."""
    from netCDF4 import Dataset

    path = path_of(folder, nx, ny)
    temporary = path.with_suffix(".part")
    with Dataset(temporary, "w") as dataset:
        for axis, count in (("y", ny), ("x", nx)):
            dataset.createDimension(axis, count)
            coordinate = dataset.createVariable(axis, "f8", (axis,))
            coordinate.setncatts({"axis": axis.upper(), "long_name": "number of the cell", "units": "1"})
            coordinate[:] = np.arange(count)
        for name, values in fields(nx, ny).items():
            variable = dataset.createVariable(name, "f8", ("y", "x"))
            variable.units = VARIABLES[name].units
            variable[:] = values
    temporary.replace(path)
