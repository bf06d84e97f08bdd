"""Time and memory of large inputs: `python benchmarks/inputs.py [--quick] [--write FILE]`.

Each of three rows is measured together with a yardstick in the same run; every sample is a new process:

* `elevation`: `swmodel grid` makes a grid from a GeoTIFF with noisy coasts. Its yardstick reads all values of the file.
* `subfaults`: the uplift by a finite fault in every cell. Its yardstick is the exact uplift by one of the subfaults.
* `growth`: the same fault. Its yardstick has half as many subfaults; the ratio is at most 2 if the time is linear.

A row shows the median time in s, the largest peak memory in MB, and the ratio of its time to that of the yardstick.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import click
import numpy as np

#: Cells in each direction of the file, of the grid made from it and of the grid over the fault; number of subfaults.
FULL_SIZES, QUICK_SIZES = (10_000, 3000, 1000, 2000), (1000, 200, 100, 200)
SAMPLES = 3


def write_elevation(path: Path, cells: int) -> None:
    """Write a GeoTIFF of heights in m: hills and noise, so that many inlets and islands are narrower than a cell."""
    import rasterio
    from rasterio.transform import from_bounds
    from rasterio.windows import Window

    rng, at = np.random.default_rng(1), np.linspace(0, 40, cells)
    profile = {"driver": "GTiff", "width": cells, "height": cells, "count": 1, "dtype": "float32", "crs": "EPSG:4326"}
    profile |= {"transform": from_bounds(0, 0, 10, 10, cells, cells), "compress": "deflate", "tiled": True}
    with rasterio.open(path, "w", **profile) as file:
        file.units = ["m"]
        for first in range(0, cells, 256):  # a row of tiles
            rows = at[first : first + 256, None]
            values = 50 * np.sin(rows) * np.cos(at) - 20 + rng.normal(0, 10, (len(rows), cells))
            file.write(values.astype("float32"), 1, window=Window(0, first, cells, len(rows)))


def read_elevation(path: str) -> None:
    import rasterio

    with rasterio.open(path) as file:
        file.read(1)


def finite_fault(cells: int, n_subfaults: int):
    """The Earthquake of a fault with `n_subfaults` subfaults in five rows, under `cells` x `cells` cells."""
    import swmodel
    from swmodel.forcing.earthquake import Earthquake
    from swmodel.forcing.finite_fault import Subfaults

    along, down = (each.ravel() for each in np.meshgrid(np.arange(n_subfaults // 5), np.arange(5)))
    ones, spacing = np.ones(len(along)), 4.0 / (n_subfaults // 5)
    slip = np.random.default_rng(1).uniform(1, 20, len(along))
    planes = 16 * ones, 14 * ones, 104 * ones, slip, 20e3 * ones, 20e3 * ones, *[0 * ones] * 3
    lon, lat = 22 + along * spacing / 3, 33 + along * spacing - down * 0.05
    faults = Subfaults(lon, lat, 0.5 * ones, 2e3 + down * 5e3, *planes)
    sides = {"grid.west": 20.0, "grid.east": 25.0, "grid.south": 32.0, "grid.north": 38.0}
    config = swmodel.load("chile2010", {"grid.nx": cells, "grid.ny": cells, **sides}, environ={})
    return Earthquake(faults, config.grid, None)


def displace_by_all(cells: str, n_subfaults: str) -> None:
    finite_fault(int(cells), int(n_subfaults)).uplift(np.arange(int(cells)), np.arange(int(cells)))


def displace_by_one(cells: str, n_subfaults: str) -> None:
    from swmodel.forcing.finite_fault import sum_of_displacements
    from swmodel.ocean.coordinates import points

    earthquake = finite_fault(int(cells), int(n_subfaults))
    at = points(earthquake.grid, "centre", np.arange(int(cells)), np.arange(int(cells)))
    sum_of_displacements(earthquake.faults[[0]], np.ones((1, 1)), at, earthquake.grid)


def measure(*arguments) -> tuple[float, float]:
    """The time, s, and the peak memory, MB, of Python in a new process with these arguments."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, *map(str, arguments)], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"failed: {' '.join(map(str, arguments))}")
    return time.perf_counter() - start, usage.ru_maxrss / 1e3


@click.command()
@click.option("--quick", is_flag=True, help="Use small inputs.")
@click.option("--write", type=click.Path(path_type=Path), help="Also write every sample to this JSON file.")
def main(quick, write):
    """Measure the rows and print them."""
    sizes = QUICK_SIZES if quick else FULL_SIZES
    file_cells, grid_cells, fault_cells, n_subfaults = sizes
    call = (__file__, "--call")
    with tempfile.TemporaryDirectory() as folder:
        elevation = Path(folder, "elevation.tif")
        write_elevation(elevation, file_cells)
        region = "--region", "0,10,0,10", "--resolution", 10 / grid_cells
        grid = "-m", "swmodel", "grid", Path(folder, "grid.nc"), "--relief", elevation, *region, "--force"
        programs = {
            "elevation": (grid, (*call, "read_elevation", elevation)),
            "subfaults": tuple((*call, f"displace_by_{name}", fault_cells, n_subfaults) for name in ("all", "one")),
            "growth": tuple((*call, "displace_by_all", fault_cells, n) for n in (n_subfaults, n_subfaults // 2)),
        }
        samples = {row: [[measure(*words) for words in pair] for _ in range(SAMPLES)] for row, pair in programs.items()}
    print(f"{'row':<12} {'s':>8} {'MB':>8} {'yardstick, s':>14} {'ratio':>8}")
    for name, pairs in samples.items():
        ours, yardstick = (median(pair[n][0] for pair in pairs) for n in (0, 1))
        memory = max(pair[0][1] for pair in pairs)
        ratio = median(pair[0][0] / pair[1][0] for pair in pairs)
        print(f"{name:<12} {ours:8.1f} {memory:8.0f} {yardstick:14.1f} {ratio:8.1f}")
    if write:
        sizes = dict(zip(("file_cells", "grid_cells", "fault_cells", "subfaults"), sizes, strict=True))
        write.parent.mkdir(parents=True, exist_ok=True)
        write.write_text(json.dumps({"sizes": sizes, "seconds_and_megabytes": samples}, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--call"]:  # call a yardstick, or the function of a row
        globals()[sys.argv[2]](*sys.argv[3:])
    else:
        main()
