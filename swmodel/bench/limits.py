"""The limits of this machine: cores, memory, and the memory that a row needs, known before it starts."""

from __future__ import annotations

import os

import numpy as np

from ..errors import UsageError
from ..parallel.environment import cores, free_memory
from .markdown import gib
from .rows import Row

#: Arrays of the whole grid that all processes hold at their peak, measured at 1800 x 900 with up to two ranks; the
#: largest number for other executors.
ARRAYS = {"reference": 30, "xla": 45}
#: The same for rows that measure a part of a step, or transforms.
PARTS = {"halo": 6, "fft": 16}
#: Bytes that a process holds however small its grid: Python, JAX, the program.
BASE = 400 * 2**20
#: The fraction of the memory for the rows; the rest is for the system.
USABLE = 0.9


def all_cores() -> int:
    """Cores that rows may use: of this machine, or of all nodes of a Slurm allocation."""
    tasks = int(os.environ.get("SLURM_NTASKS", 0)) * int(os.environ.get("SLURM_CPUS_PER_TASK", 1))
    return max(cores(), tasks)


def bytes_needed(row: Row) -> int:
    """Estimate of the memory that all processes of a row need together, the check against the reference included."""
    itemsize = np.dtype(row.dtype).itemsize
    arrays = PARTS.get(row.measure) or ARRAYS.get(row.executor, max(ARRAYS.values()))
    check = 0 if row.measure in (*PARTS, "output") else ARRAYS["reference"]
    grid = row.nx * row.ny * itemsize
    return max(grid * arrays + row.nproc * BASE, grid * check + BASE)


def bytes_free() -> int:
    """Free memory now; on several nodes that of all, if they are alike."""
    return free_memory() * int(os.environ.get("SLURM_JOB_NUM_NODES", 1))


def shortage(row: Row, free: int) -> str | None:
    """Why a row does not fit into `free` bytes; None if it fits."""
    needed = bytes_needed(row)
    if needed <= USABLE * free:
        return None
    return f"{row.label}: needs about {gib(needed)} of memory; {gib(free)} are free"


def fitting(rows: list[Row], free: int, strict: bool) -> tuple[list[Row], list[str]]:
    """The rows that fit into memory, and why the others do not.

    Args:
        strict: the user named the size.

    Raises:
        UsageError: a row does not fit and `strict`, or none fits.
    """
    problems = {row: shortage(row, free) for row in rows}
    reasons = [reason for reason in problems.values() if reason]
    if reasons and (strict or len(reasons) == len(rows)):
        raise UsageError("\n".join(reasons))
    return [row for row in rows if not problems[row]], reasons
