"""Print how exact derivatives are in a basin with an island, on 1 to 4 processes; docs/gradients.md summarises it.

    make exactness
    python tools/exactness.py [--layouts 1x1 1x2 ...] [--steps N] [--folder DIR]

A double gyre with the island of the case `rest`, no slip and quadratic drag is spun up for 60 days. Then `swmodel
check-gradient` checks the derivatives of the next 50 steps. In every layout but the first, block sizes differ.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

LAYOUTS = ("1x1", "1x2", "3x1", "2x2")
NX, NY = 31, 43
GRID_SETTINGS = ("grid.dx=40e3", "grid.dy=40e3", f"grid.nx={NX}", f"grid.ny={NY}")
BASIN_SETTINGS = (*GRID_SETTINGS, "physics.viscosity=500", "physics.slip=no", "physics.quadratic_drag=1e-3")
TABLE_HEADER = (
    *("processes", "cells of a block", "Taylor slope", "dot product"),
    *("Hessian's symmetry", "difference from one process"),
)


def run_swmodel(*words: str, settings=()) -> None:
    """Run swmodel; if it fails, this program exits with its exit code."""
    command = [sys.executable, "-m", "swmodel", *words, *(word for key in settings for word in ("-s", key))]
    process = subprocess.run(command)
    if process.returncode:
        sys.exit(process.returncode)


def make_initial_flow(folder: Path) -> tuple[str, ...]:
    """Make the island and spin up the flow; returns the settings of the run whose derivatives are checked."""
    run_swmodel(
        "run", "rest", "--steps", "1", "--output", f"{folder}/island", "--force", "--quiet", settings=GRID_SETTINGS
    )
    basin = (*BASIN_SETTINGS, f"input.mask={folder}/island/output.nc")
    run_swmodel(
        "run", "double_gyre", "--days", "60", "--output", f"{folder}/flow", "--force", "--quiet", settings=basin
    )
    return (*basin, *(f"input.{name}={folder}/flow/output.nc@-1" for name in ("eta", "u", "v")))


def check_gradient(folder: Path, layout: str, steps: int, settings) -> dict:
    processes = str(n_processes(layout))
    words = ["check-gradient", "double_gyre", "--nproc", processes, "--layout", layout, "--steps", str(steps)]
    run_swmodel(*words, "--output", f"{folder}/{layout}", "--force", "--quiet", settings=settings)
    return json.loads((folder / layout / "check.json").read_text())


def n_processes(layout: str) -> int:
    rows, columns = map(int, layout.split("x"))
    return rows * columns


def block_sizes(layout: str) -> str:
    """The numbers of columns and rows of the blocks, for example "15 and 16 x 43"."""
    parts = ((NX, int(layout.split("x")[1])), (NY, int(layout.split("x")[0])))
    return " x ".join(" and ".join(sorted({str(n // p), str(-(-n // p))})) for n, p in parts)


def table_row(layout: str, results: dict, one_process_results: dict) -> list[str]:
    names = ("value", "slope_along_direction")
    difference = max(abs(results[name] / one_process_results[name] - 1) for name in names)
    errors = (results["dot_product_error"], results["hessian_symmetry"], difference)
    words = [f"{error:.0e}" if error else "0" for error in errors]
    return [str(n_processes(layout)), block_sizes(layout), f"{results['taylor_slope']:.4f}", *words]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layouts", nargs="+", default=LAYOUTS, metavar="PYxPX", help="layouts; the first must be 1x1")
    parser.add_argument("--steps", type=int, default=50, help="steps of the run whose derivatives are checked")
    parser.add_argument("--folder", type=Path, default=Path("outputs/exactness"), help="folder for the runs")
    args = parser.parse_args()
    settings = make_initial_flow(args.folder)
    results_of_layout = {layout: check_gradient(args.folder, layout, args.steps, settings) for layout in args.layouts}
    rows = [
        table_row(layout, results, results_of_layout[args.layouts[0]]) for layout, results in results_of_layout.items()
    ]
    for cells in (TABLE_HEADER, ["---:"] * len(TABLE_HEADER), *rows):
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
