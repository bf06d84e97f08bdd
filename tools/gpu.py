"""Compare the kernels on this machine's GPU with the native step, and measure them: python tools/gpu.py FOLDER.

In each configuration of the covering array (tests/support/covering_array.py), without drying, the native step on the
processor and the kernels on the GPU compute five steps and, in double precision, a gradient. FOLDER/bits.json contains,
for each configuration, how many numbers differ, and the largest difference over the largest number of its field. No
configuration starts after --seconds. Then `swmodel bench gpu` measures speeds. All this takes about ten minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
STEPS = 5


def compute_row(executor: str, row: str) -> dict[str, np.ndarray]:
    """Arrays of state and memory after STEPS steps, and of the gradient of the sum of squares of the last state."""
    import jax
    from support import covering_array
    from support.stepping import run_chunks
    from support.unchecked_config import resolve_without_checks

    from swmodel.gradients import Problem
    from swmodel.gradients.check import controls_of

    config = covering_array.configuration_of(row)
    fields = run_chunks(executor, config, STEPS)
    run = config.run.model_copy(update={"executor": executor, "steps": STEPS, "dtype": "float64"})
    config = resolve_without_checks(config.model_copy(update={"run": run}))
    problem = Problem(config, controls_of(config), lambda view, k: view.state)
    _, gradient = problem.value_and_gradient(
        problem.first_guess(), lambda series: sum((field**2).sum() for field in jax.tree.leaves(series))
    )
    groups = {"fields": fields, "gradient": jax.tree.leaves(gradient)}
    return {f"{name} {n}": np.asarray(value) for name, values in groups.items() for n, value in enumerate(values)}


def compute_rows(executor: str, rows: list[str], folder: Path, seconds: float) -> None:
    """Write FOLDER/EXECUTOR/ROW.npz for each row; after `seconds` no further row starts."""
    import jax

    jax.config.update("jax_enable_x64", True)
    end = time.monotonic() + seconds
    for row in rows:
        if time.monotonic() < end:
            np.savez(folder / executor / f"{row}.npz", **compute_row(executor, row))


def compare_row(ours: Path, truth: Path) -> dict[str, dict]:
    """For fields and gradient: how many numbers there are, how many differ, and the largest relative difference."""
    comparison = {name: {"numbers": 0, "different": 0, "largest_difference": 0.0} for name in ("fields", "gradient")}
    with np.load(ours) as a, np.load(truth) as b:
        for key in b.files:
            counts, difference = comparison[key.split()[0]], np.abs(a[key].astype(float) - b[key])
            counts["numbers"] += b[key].size
            counts["different"] += int(np.count_nonzero(difference))
            largest = difference.max(initial=0.0) / max(np.abs(b[key]).max(initial=0.0), np.finfo(float).tiny)
            counts["largest_difference"] = max(counts["largest_difference"], float(largest))
    return comparison


def compare_executors(executor: str, rows: list[str], folder: Path, seconds: float) -> dict[str, dict]:
    """{row: comparison with the native step} of the rows that both executors, which run at the same time, computed."""
    processes = []
    for name in (executor, "native"):
        (folder / name).mkdir(parents=True, exist_ok=True)
        command = [sys.executable, __file__, str(folder), "--compute", name, "--seconds", str(seconds), "--rows", *rows]
        platforms = {"JAX_PLATFORMS": "cpu"} if name != "cuda" else {}
        processes.append(subprocess.Popen(command, env=os.environ | platforms))
    exit_codes = [process.wait() for process in processes]
    if any(exit_codes):
        sys.exit(f"{executor} and native ended with exit codes {exit_codes}")
    common_rows = [row for row in rows if all((folder / name / f"{row}.npz").exists() for name in (executor, "native"))]
    return {row: compare_row(*(folder / name / f"{row}.npz" for name in (executor, "native"))) for row in common_rows}


def main() -> None:
    from support.covering_array import names_without_drying

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder of the results")
    parser.add_argument("--seconds", type=float, default=240.0, help="time after which no configuration starts")
    parser.add_argument("--rows", nargs="*", default=names_without_drying(), help="configurations; default: all")
    parser.add_argument("--executor", default="cuda", help="the executor that is compared with native")
    parser.add_argument("--no-bench", action="store_true", help="compare only")
    parser.add_argument("--compute", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.compute:
        compute_rows(options.compute, options.rows, options.folder, options.seconds)
        return
    comparisons = compare_executors(options.executor, options.rows, options.folder, options.seconds)
    (options.folder / "bits.json").write_text(json.dumps(comparisons, indent=1) + "\n")
    print(f"{len(comparisons)} of {len(options.rows)} configurations compared")
    for row, comparison in comparisons.items():
        for name, counts in comparison.items():
            print(f"{row}, {name}: {counts['different']} of {counts['numbers']} numbers differ, ", end="")
            print(f"by at most {counts['largest_difference']:.1e}")
    if not options.no_bench:
        command = [sys.executable, "-m", "swmodel", "bench", "gpu", "--output", str(options.folder / "gpu")]
        sys.exit(subprocess.run(command, check=False).returncode)


if __name__ == "__main__":
    main()
