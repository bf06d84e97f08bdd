"""The rows of a sweep that this machine can measure with its executors, cores, GPUs and memory."""

from __future__ import annotations

import math
import typing
from dataclasses import replace
from typing import Any

import numpy as np

from ..config import load
from ..config.options.run import RunOptions
from ..errors import UsageError, suggest
from ..model.resolve import resolve
from . import scaling
from .sweeps import BenchRow, BenchSweep, grow_grid
from .text import format_count, format_gib

#: Executors for CPUs only, and for GPUs only; if a sweep has only the former, GPU rows use xla.
CPU_EXECUTORS, GPU_EXECUTORS = ("reference", "native"), ("cuda",)
#: Peak memory of all processes, in arrays of the whole grid, measured at 1800 x 900 cells on up to two ranks. Keys are
#: a `measure` for exchanges and transforms, otherwise an executor; the value of `xla` holds for executors not listed.
ARRAYS_IN_MEMORY = {"halo": 6, "fft": 16, "reference": 30, "xla": 45}
#: Memory of a process without its grid, bytes: Python, JAX, the program.
PROCESS_BYTES = 400 * 2**20
#: The fraction of the free memory that rows may use; the rest is for the system.
USABLE_MEMORY_FRACTION = 0.9


def choose_executors(names: tuple[str, ...]) -> tuple[str, ...]:
    """The executors `names` without repetition; "all" stands for all, and "auto" or no name for the fastest.

    UsageError: a name is not that of an executor.
    """
    all_names = typing.get_args(RunOptions.model_fields["executor"].annotation)
    available = tuple(name for name in all_names if name != "auto")
    for name in names:
        if name not in (*available, "all", "auto"):
            raise UsageError(f"--executor {name}: no such executor; {suggest(name, (*available, 'all'))}")
    if "all" in names:
        return available
    fastest = resolve(load("published_jet", {"run.steps": 1}, environ={})).run.executor
    return tuple(dict.fromkeys(fastest if name == "auto" else name for name in names or ("auto",)))


def make_rows(
    sweep: BenchSweep, cores: int, gpus: int = 0, oversubscribe: bool = False
) -> tuple[list[BenchRow], list[str]]:
    """The rows of a sweep that a machine can measure, and a message for each kind of row that is left out.

    UsageError: the sweep `scaling` has several executors.

    Args:
        cores, gpus: the numbers that are available.
        oversubscribe: whether to keep rows with more threads than cores.
    """
    rows, skipped = [], []
    is_sharded = sweep.transport == "sharded"
    common_values: dict[str, Any] = {"dtype": sweep.dtype, "steps": sweep.steps, "seconds": sweep.seconds}
    cpu_values = common_values | {"threads": sweep.threads, "transport": sweep.transport}
    gpu_values = common_values | {"platform": "gpu", "transport": sweep.transport}
    cpu_executors = [name for name in sweep.executors if name not in ("reference", *GPU_EXECUTORS)]
    gpu_executors = [name for name in sweep.executors if name not in CPU_EXECUTORS] or ["xla"]
    counts = [(n, devices) for n in sweep.nproc for devices in (sweep.devices if is_sharded else (1,))]
    oversubscribed_counts = [pair for pair in counts if math.prod(pair) * (sweep.threads or 1) > cores]
    if oversubscribed_counts and not oversubscribe:
        numbers = ", ".join(str(math.prod(pair)) for pair in oversubscribed_counts)
        unit = "devices" if is_sharded else "processes"
        threads = f" with {sweep.threads} threads each" if sweep.threads else ""
        available = format_count(cores, "core")
        skipped.append(f"{numbers} {unit}{threads}: more than the {available} here; --oversubscribe measures them")
        counts = [pair for pair in counts if pair not in oversubscribed_counts]
    if sweep.measure in ("halo", "scaling") and (1, 1) in counts:
        skipped.append("1 process: exchanges nothing")
        counts.remove((1, 1))
    if sweep.measure == "scaling":
        if len(sweep.executors) > 1:
            raise UsageError("scaling: predicts the steps of a single executor; give --executor once, with one name")
        sweep = sweep._replace(nproc=tuple(n for n, _ in counts))
        return scaling.make_scaling_rows(sweep, cores) if counts else [], skipped
    for nx, ny in sweep.sizes:
        if sweep.measure not in ("halo", "ensemble") and (sweep.reference or "reference" in sweep.executors):
            rows += expand_variants(BenchRow(sweep.measure, "reference", 1, nx, ny, **common_values), sweep.writing, ())
        rows_of_size = []
        for executor in cpu_executors if sweep.cpu else []:
            if sweep.one_core and cores > 1:
                rows_of_size.append(BenchRow(sweep.measure, executor, 1, nx, ny, **cpu_values | {"threads": 1}))
            for n, devices in counts:
                size = grow_grid(nx, ny, n * devices) if sweep.weak else (nx, ny)
                row_values = cpu_values | {"devices": devices, "oversubscribed": (n, devices) in oversubscribed_counts}
                rows_of_size.append(BenchRow(sweep.measure, executor, n, *size, **row_values))
        for executor in gpu_executors if sweep.gpu else []:
            for n in sorted({*(sweep.devices if is_sharded else sweep.nproc)} & {*range(1, gpus + 1)}):
                nproc, devices = (1, n) if is_sharded else (n, 1)
                rows_of_size.append(BenchRow(sweep.measure, executor, nproc, nx, ny, devices=devices, **gpu_values))
        rows += [variant for row in rows_of_size for variant in expand_variants(row, sweep.writing, sweep.variants)]
    if sweep.gpu and not gpus:
        skipped.append("GPU: JAX sees none here")
    return rows, skipped


def expand_variants(row: BenchRow, writing: tuple, variants: tuple) -> list[BenchRow]:
    """The row for each combination of output and variant of the model; without any, the row itself."""
    return [replace(row, writing=choice, **variant) for choice in writing or (None,) for variant in variants or ({},)]


def bytes_needed(row: BenchRow) -> int:
    """Estimated peak memory of all processes of a row together, bytes: that of the run, or of its check if larger."""
    n_arrays = ARRAYS_IN_MEMORY.get(row.measure) or ARRAYS_IN_MEMORY.get(row.executor, ARRAYS_IN_MEMORY["xla"])
    check_arrays = 0 if row.measure in ("halo", "fft", "output") else ARRAYS_IN_MEMORY["reference"]
    n_grids = row.members if row.members and row.advance != "runs" else 1
    array_bytes = n_grids * row.nx * row.ny * np.dtype(row.dtype).itemsize
    return max(array_bytes * n_arrays + row.nproc * PROCESS_BYTES, array_bytes * check_arrays + PROCESS_BYTES)


def select_fitting_rows(rows: list[BenchRow], free_bytes: int, is_strict: bool) -> tuple[list[BenchRow], list[str]]:
    """The rows that fit into USABLE_MEMORY_FRACTION of `free_bytes`, and a message for each row that does not.

    Raises a UsageError if no row fits, or if `is_strict` and some row does not.
    """
    usable_bytes = int(USABLE_MEMORY_FRACTION * free_bytes)
    too_large = [row for row in rows if bytes_needed(row) > usable_bytes]
    messages = [
        f"{row.label}: needs about {format_gib(bytes_needed(row))} of memory; {format_gib(usable_bytes)} of the "
        f"{format_gib(free_bytes)} that are free may be used"
        for row in too_large
    ]
    if too_large and (is_strict or len(too_large) == len(rows)):
        raise UsageError("; ".join(messages))
    return [row for row in rows if row not in too_large], messages
