"""Makes the relief of the case global_m2, one degree, from that of the package.

python tools/global_m2.py

Depths of `swmodel grid --region=-180,180,-86,86 --resolution 1 --pole=-42,76` in whole metres, 0 on land.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import netCDF4
import numpy as np

from swmodel.cases.global_m2 import POLE, RELIEF
from swmodel.cli.relief import Wish, make_grid


def depths(folder) -> np.ndarray:
    """Of the grid, m, whole numbers."""
    path = Path(folder) / "earth.nc"
    make_grid(path, Wish(region=(-180.0, 180.0, -86.0, 86.0), resolution=1.0, pole=POLE))
    with netCDF4.Dataset(path) as data:
        data.set_auto_mask(False)
        return np.where(data["mask"][...] > 0, np.rint(data["depth"][...]), 0).astype(np.int16)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        np.savez_compressed(RELIEF, depth=depths(folder))
