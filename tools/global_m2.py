"""Make the one-degree relief of the case global_m2 from that of the package, and compare it with the existing file.

python tools/global_m2.py [--write]

With --write it replaces swmodel/cases/global_m2.npz, the depths of `swmodel grid --region=-180,180,-86,86
--resolution 1 --pole=-42,76` in whole metres, 0 on land.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import netCDF4
import numpy as np

from swmodel.cases.global_m2 import POLE, RELIEF_FILE
from swmodel.files.relief import GridRequest, make_grid


def make_depths(folder) -> np.ndarray:
    """The depths of the grid [ny, nx], m, rounded to whole numbers."""
    path = Path(folder) / "earth.nc"
    make_grid(path, GridRequest(region=(-180.0, 180.0, -86.0, 86.0), resolution=1.0, pole=POLE))
    with netCDF4.Dataset(path) as data:
        data.set_auto_mask(False)
        return np.where(data["mask"][...] > 0, np.rint(data["depth"][...]), 0).astype(np.int16)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help=f"replace {RELIEF_FILE}")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        depth = make_depths(folder)
    with np.load(RELIEF_FILE) as file:
        n_changed = depth.size if file["depth"].shape != depth.shape else int((file["depth"] != depth).sum())
    action = "replaced" if args.write else "--write replaces it"
    print(f"{RELIEF_FILE}: {n_changed} of {depth.size} depths differ; {action}")
    if args.write:
        np.savez_compressed(RELIEF_FILE, depth=depth)
