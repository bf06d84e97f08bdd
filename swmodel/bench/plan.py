"""The rows of a sweep that this machine can measure with its executors, cores, GPUs and memory."""

from __future__ import annotations

import math
import typing
from dataclasses import replace

import numpy as np

from ..config import load
from ..config.options.run import Run
from ..errors import UsageError, suggest
from ..model.resolve import resolve
from . import scaling
from .sweeps import Row, Sweep, grown
from .text import counted, gib

#: Executors for CPUs only, and for GPUs only; if a sweep has only the former, GPU rows use xla.
CPU_ONLY, GPU_ONLY = ("reference", "native"), ("cuda",)
#: Peak memory of all processes in arrays of the whole grid, measured at 1800 x 900 with up to two ranks. Keys are
#: measures for parts of a step and transforms, else executors (others as xla).
ARRAYS = {"halo": 6, "fft": 16, "reference": 30, "xla": 45}
#: Memory of a process without its grid, bytes: Python, JAX, the program.
BASE = 400 * 2**20
#: The fraction of the memory for the rows; the rest is for the system.
USABLE = 0.9


def choose(names: tuple[str, ...]) -> tuple[str, ...]:
    """The executors `names`, without repetition; all for "all", the fastest without names."""
    known = tuple(name for name in typing.get_args(Run.model_fields["executor"].annotation) if name != "auto")
    for name in names:
        if name not in (*known, "all", "auto"):
            raise UsageError(f"--executor {name}: no such executor; {suggest(name, (*known, 'all'))}")
    if "all" in names:
        return known
    fastest = resolve(load("published_jet", {"run.steps": 1}, environ={})).run.executor
    return tuple(dict.fromkeys(fastest if name == "auto" else name for name in names or ("auto",)))


def make_rows(sweep: Sweep, cores: int, gpus: int = 0, oversubscribe: bool = False) -> tuple[list[Row], list[str]]:
    """The rows of a sweep on a machine, and a line for each kind of omitted row."""
    rows, skipped = [], []
    sharded = sweep.transport == "sharded"
    shared = {"dtype": sweep.dtype, "steps": sweep.steps, "seconds": sweep.seconds}
    on_cpu = shared | {"threads": sweep.threads, "transport": sweep.transport}
    computing = [name for name in sweep.executors if name not in ("reference", *GPU_ONLY)]
    on_gpu = [name for name in sweep.executors if name not in CPU_ONLY] or ["xla"]
    counts = [(n, devices) for n in sweep.nproc for devices in (sweep.devices if sharded else (1,))]
    crowded = [pair for pair in counts if math.prod(pair) * (sweep.threads or 1) > cores]
    if crowded and not oversubscribe:
        numbers = ", ".join(str(math.prod(pair)) for pair in crowded) + (" devices" if sharded else " processes")
        skipped.append(f"{numbers}: more than the {counted(cores, 'core')} here; --oversubscribe measures them")
        counts = [pair for pair in counts if pair not in crowded]
    if sweep.measure in ("halo", "scaling") and (1, 1) in counts:
        skipped.append("1 process: exchanges nothing")
        counts.remove((1, 1))
    if sweep.measure == "scaling":
        if len(sweep.executors) > 1:
            raise UsageError("scaling: predicts the steps of one executor; give --executor once, and not all")
        nproc = tuple(n for n, _ in counts)
        return scaling.rows(sweep._replace(nproc=nproc), cores) if nproc else [], skipped
    for nx, ny in sweep.sizes:
        if sweep.measure not in ("halo", "ensemble") and (sweep.reference or "reference" in sweep.executors):
            rows += several(Row(sweep.measure, "reference", 1, nx, ny, **shared), sweep.writing, ())
        found = []
        for executor in computing if sweep.cpu else []:
            if sweep.one_core and cores > 1:
                found.append(Row(sweep.measure, executor, 1, nx, ny, **on_cpu | {"threads": 1}))
            for n, devices in counts:
                size = grown(nx, ny, n * devices) if sweep.weak else (nx, ny)
                more = on_cpu | {"devices": devices, "oversubscribed": (n, devices) in crowded}
                found.append(Row(sweep.measure, executor, n, *size, **more))
        for executor in on_gpu if sweep.gpu else []:
            for n in sorted({*(sweep.devices if sharded else sweep.nproc)} & {*range(1, gpus + 1)}):
                more = shared | {"platform": "gpu", "transport": sweep.transport, "devices": n if sharded else 1}
                found.append(Row(sweep.measure, executor, 1 if sharded else n, nx, ny, **more))
        rows += [row for one in found for row in several(one, sweep.writing, sweep.variants)]
    if sweep.gpu and not gpus:
        skipped.append("GPU: JAX sees none here")
    return rows, skipped


def several(row: Row, writing: tuple, variants: tuple) -> list[Row]:
    """The row for each choice of writing and each variant of the model, if any."""
    return [replace(row, writing=choice, **variant) for choice in writing or (None,) for variant in variants or ({},)]


def bytes_needed(row: Row) -> int:
    """Estimate of the memory of all processes of a row together, with the check against the reference."""
    arrays = ARRAYS.get(row.measure) or ARRAYS.get(row.executor, ARRAYS["xla"])
    check = 0 if row.measure in ("halo", "fft", "output") else ARRAYS["reference"]
    grid = row.nx * row.ny * np.dtype(row.dtype).itemsize
    return max(grid * arrays + row.nproc * BASE, grid * check + BASE)


def fitting(rows: list[Row], free: int, strict: bool) -> tuple[list[Row], list[str]]:
    """The rows that fit into `free` bytes, and a line for each other; an error if the user gave the size (`strict`)."""
    large = {row: needed for row in rows if (needed := bytes_needed(row)) > USABLE * free}
    lines = [f"{row.label}: needs about {gib(needed)} of memory; {gib(free)} are free" for row, needed in large.items()]
    if large and (strict or len(large) == len(rows)):
        raise UsageError("; ".join(lines))
    return [row for row in rows if row not in large], lines
