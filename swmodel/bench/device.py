"""Memory, threads and devices of the processes of a row, seen from within."""

from __future__ import annotations

import math
import os
import time

import jax
import jax.numpy as jnp
import numpy as np

from ..parallel import environment
from .machine import settings


def describe_gpus() -> dict:
    """The GPUs that JAX sees in this process, and the bandwidth of the first: {"gpus": [names], "bandwidth": ...}."""
    gpus = [device.device_kind for device in jax.devices() if device.platform == "gpu"]
    return {"gpus": gpus, "bandwidth": bandwidth() if gpus else None}


def bandwidth(elements: int = 2**28, trials: int = 20, passes: int = 2) -> dict:
    """Bandwidth of this process's device, GB/s, by the triad a = b + s a in place in float32: two reads and a write.

    The best of some trials of so many passes, as it is a limit of the machine.
    """
    a, b = jnp.zeros(elements, jnp.float32), jnp.full(elements, 1.0, jnp.float32)
    loop = jax.jit(lambda a, b, n: jax.lax.fori_loop(0, n, lambda _, a: b + 0.5 * a, a), donate_argnums=0)
    a = jax.block_until_ready(loop(a, b, 2))
    best = math.inf
    for _ in range(trials):
        begin = time.perf_counter()
        a = jax.block_until_ready(loop(a, b, passes))
        best = min(best, time.perf_counter() - begin)
    moved = 12 * elements * passes / best
    by = f"JAX triad in place, float32, two arrays of {4 * elements / 2**20:.0f} MiB"
    return {"gigabytes_per_second": moved / 1e9, "by": by, "array_bytes": 4 * elements}


def memory_bytes(row) -> int:
    """The most memory that this process has held: on the GPU for its rows, else in the process."""
    if row.platform == "gpu":
        return (jax.local_devices()[0].memory_stats() or {}).get("peak_bytes_in_use", 0)
    return environment.peak_memory()


def launched(transport) -> dict:
    """How the processes run: MPI, cores that each may use, threads, settings."""
    cores = environment.cores()
    return {
        "device": jax.devices()[0].device_kind,
        "platform": jax.devices()[0].platform,
        "mpi": mpi_library() if transport.name == "mpi" else "",
        "layout": list(transport.layout),
        "cores_of_a_rank": cores,
        "bound": cores < (os.cpu_count() or 1),
        "threads_of_a_rank": int(os.environ.get("NPROC", cores)),
        "settings": settings(),
    }


def mpi_library() -> str:
    """Vendor and version of the MPI in use."""
    from mpi4py import MPI

    return " ".join(MPI.Get_library_version().strip("\0 \n").splitlines()[0].split())


def largest(value: float, transport) -> float:
    """The largest value of a number over all processes."""
    return float(transport.reduce(np.asarray(value, dtype=np.float64), "max"))
