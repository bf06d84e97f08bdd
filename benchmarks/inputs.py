"""Time and memory of large inputs: `python benchmarks/inputs.py [--quick] [--write FILE]`.

Three rows, each measured beside a yardstick in the same run; every sample is a process of its own:

* `elevation`: `swmodel grid` makes a grid from a GeoTIFF with noisy coasts. Its yardstick reads all values of the file.
* `subfaults`: the uplift by a finite fault in every cell. Its yardstick is the exact uplift by one of the subfaults.
* `growth`: the same fault beside one of half as many subfaults; the ratio is at most 2 if the time is linear in them.

A row has the median time in s, the largest peak memory in MB, and the ratio of its time to that of the yardstick.
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

#: Cells of the file, of the grid from it and of the grid under the fault, each way; the number of subfaults.
FULL, QUICK = (10_000, 3000, 1000, 2000), (1000, 200, 100, 200)
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


def finite_fault(cells: int, count: int):
    """The Earthquake of `count` subfaults, in five rows below one another, under `cells` x `cells` cells."""
    import swmodel
    from swmodel.forcing.earthquake import Earthquake
    from swmodel.forcing.finite_fault import Subfaults

    along, down = (each.ravel() for each in np.meshgrid(np.arange(count // 5), np.arange(5)))
    one, step = np.ones(len(along)), 4.0 / (count // 5)
    slip = np.random.default_rng(1).uniform(1, 20, len(along))
    planes = 16 * one, 14 * one, 104 * one, slip, 20e3 * one, 20e3 * one, *[0 * one] * 3
    faults = Subfaults(22 + along * step / 3, 33 + along * step - down * 0.05, 0.5 * one, 2e3 + down * 5e3, *planes)
    sides = {"grid.west": 20.0, "grid.east": 25.0, "grid.south": 32.0, "grid.north": 38.0}
    config = swmodel.load("chile2010", {"grid.nx": cells, "grid.ny": cells, **sides}, environ={})
    return Earthquake(faults, config.grid, None)


def sum_subfaults(cells: str, count: str) -> None:
    finite_fault(int(cells), int(count)).uplift(np.arange(int(cells)), np.arange(int(cells)))


def displace_by_one(cells: str, count: str) -> None:
    from swmodel.forcing.finite_fault import sum_of_displacements
    from swmodel.ocean.coordinates import points

    earthquake = finite_fault(int(cells), int(count))
    at = points(earthquake.grid, "centre", np.arange(int(cells)), np.arange(int(cells)))
    sum_of_displacements(earthquake.faults[[0]], np.ones((1, 1)), at, earthquake.grid)


def measure(*line) -> tuple[float, float]:
    """The time, s, and the peak memory, MB, of a program in a process of its own."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, *map(str, line)], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"failed: {' '.join(map(str, line))}")
    return time.perf_counter() - start, usage.ru_maxrss / 1e3


@click.command()
@click.option("--quick", is_flag=True, help="Use small inputs.")
@click.option("--write", type=click.Path(path_type=Path), help="Write every sample to this JSON file, too.")
def main(quick, write):
    """Measure the rows and print them."""
    file_cells, grid_cells, fault_cells, count = QUICK if quick else FULL
    call = (__file__, "--call")
    with tempfile.TemporaryDirectory() as folder:
        elevation = Path(folder, "elevation.tif")
        write_elevation(elevation, file_cells)
        region = "--region", "0,10,0,10", "--resolution", 10 / grid_cells
        grid = "-m", "swmodel", "grid", Path(folder, "grid.nc"), "--relief", elevation, *region, "--force"
        programs = {
            "elevation": (grid, (*call, "read_elevation", elevation)),
            "subfaults": ((*call, "sum_subfaults", fault_cells, count), (*call, "displace_by_one", fault_cells, count)),
            "growth": tuple((*call, "sum_subfaults", fault_cells, number) for number in (count, count // 2)),
        }
        samples = {name: [[measure(*line) for line in pair] for _ in range(SAMPLES)] for name, pair in programs.items()}
    print(f"{'row':<12} {'s':>8} {'MB':>8} {'yardstick, s':>14} {'ratio':>8}")
    for name, pairs in samples.items():
        ours, yardstick = (median(pair[n][0] for pair in pairs) for n in (0, 1))
        memory = max(pair[0][1] for pair in pairs)
        ratio = median(pair[0][0] / pair[1][0] for pair in pairs)
        print(f"{name:<12} {ours:8.1f} {memory:8.0f} {yardstick:14.1f} {ratio:8.1f}")
    if write:
        sizes = dict(zip(("file_cells", "grid_cells", "fault_cells", "subfaults"), (FULL, QUICK)[quick], strict=True))
        write.parent.mkdir(parents=True, exist_ok=True)
        write.write_text(json.dumps({"sizes": sizes, "seconds_and_megabytes": samples}, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--call"]:  # a yardstick, or a row without a command
        globals()[sys.argv[2]](*sys.argv[3:])
    else:
        main()
