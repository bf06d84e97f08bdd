"""Makes the grid of the case global_m2, one degree, from the relief of the package.

python tools/global_m2.py

As `swmodel grid` makes it, with depths in whole metres and without what a run does not read.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import netCDF4
import numpy as np

from swmodel.cases.global_m2 import RELIEF, WISH
from swmodel.relief import Wish, make_grid

LEFT_OUT = ("lon", "lat", "closed", "sea_area_fraction")


def copy(source: netCDF4.Dataset, target: netCDF4.Dataset) -> None:
    """Copy what a run reads."""
    target.setncatts(source.__dict__)
    for name, dimension in source.dimensions.items():
        target.createDimension(name, dimension.size)
    for name, variable in source.variables.items():
        if name in LEFT_OUT:
            continue
        kind = "f4" if name == "depth" else variable.dtype
        packed = {"zlib": True, "complevel": 9, "shuffle": True} if variable.ndim == 2 else {}
        made = target.createVariable(name, kind, variable.dimensions, **packed)
        made.setncatts(
            {key: value for key, value in variable.__dict__.items() if key not in ("_FillValue", "coordinates")}
        )
        made[...] = np.rint(variable[...]) if name == "depth" else variable[...]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / RELIEF.name
        for line in make_grid(path, Wish(**WISH)).words():
            print(line)
        with netCDF4.Dataset(path) as source, netCDF4.Dataset(RELIEF, "w") as target:
            copy(source, target)
