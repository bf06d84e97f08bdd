"""Measurements of a row's process: times, memory, threads, devices, and sent messages."""

from __future__ import annotations

import ctypes
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from ..parallel import environment
from .machine import settings
from .sweeps import Row

#: Steps for the count of messages: a whole number of exchanges, also with several steps for each.
STEPS = 12
#: A log line of a message sent: "r0 | 4fca0000 | MPI_Sendrecv <- 1 (tag 7, 108 items) / -> 1 (tag 7, 108 items)".
SENT = re.compile(r"MPI_\w+ [^\n]*?-> \d+ \(tag \d+, (\d+) items\)|MPI_\w+ -> \d+[^\n]*?(\d+) items")


def largest(value: float, transport) -> float:
    """The largest value of a number over all processes."""
    return float(transport.reduce(np.asarray(value, dtype=np.float64), "max"))


def seconds_of(call: Callable[[], object], transport) -> float:
    """Seconds of a call on all processes, from a common start to the end of the slowest."""
    transport.barrier()
    begin = time.perf_counter()
    jax.block_until_ready(call())
    transport.barrier()
    return largest(time.perf_counter() - begin, transport)


def timed_steps(seconds: Callable[[int], float], row: Row, task: dict, transport, warm: float = 0.4) -> dict:
    """Time some steps after a warm-up; `seconds` takes steps, and returns the time of the slowest process.

    The warm-up lasts until a call takes `warm` seconds, so that its fixed cost does not set the number of steps. That
    is the number of an earlier sample, or at least two and at most the row's number, to fill the row's time.
    """
    n, total = 2, 2
    while (elapsed := seconds(n)) < min(warm, row.seconds / 4) and n < (row.steps or n + 1):
        n = min(4 * n, row.steps or 4 * n)
        total += n
    fit = max(2, int(row.seconds * n / elapsed))
    steps = task["steps"] or transport.broadcast(min(row.steps or fit, fit))
    return {"warm_up_steps": total, "steps": steps, "seconds": seconds(steps)}


def bandwidth(elements: int = 2**28, trials: int = 20, passes: int = 2) -> dict:
    """Bandwidth of this process's device, GB/s: the best of some trials of a triad, with `passes` each."""
    a, b = jnp.zeros(elements, jnp.float32), jnp.full(elements, 1.0, jnp.float32)
    loop = jax.jit(lambda a, b, n: jax.lax.fori_loop(0, n, lambda _, a: b + 0.5 * a, a), donate_argnums=0)
    times = []
    for _ in range(trials + 1):  # the first one compiles
        begin = time.perf_counter()
        a = jax.block_until_ready(loop(a, b, passes))
        times.append(time.perf_counter() - begin)
    by = f"JAX triad in place, float32, two arrays of {4 * elements / 2**20:.0f} MiB"
    return {"gigabytes_per_second": 12e-9 * elements * passes / min(times), "by": by, "array_bytes": 4 * elements}


def memory_bytes(row: Row, transport) -> float:
    """The peak memory of a process: on the GPU for GPU rows, else in the process."""
    on_gpu = (jax.local_devices()[0].memory_stats() or {}).get("peak_bytes_in_use", 0)
    return largest(on_gpu if row.platform == "gpu" else environment.peak_memory(), transport)


def launched(transport) -> dict:
    """The environment of the processes: MPI, cores for each, threads, settings."""
    cores, device = environment.cores(), jax.devices()[0]
    library = ""
    if transport.name == "mpi":
        from mpi4py import MPI

        library = " ".join(MPI.Get_library_version().strip("\0 \n").splitlines()[0].split())
    return {
        "device": device.device_kind,
        "platform": device.platform,
        "mpi": library,
        "layout": list(transport.layout),
        "cores_of_a_rank": cores,
        "bound": cores < (os.cpu_count() or 1),
        "threads_of_a_rank": int(os.environ.get("NPROC", cores)),
        "settings": settings(),
    }


def count_messages(advance: Callable[[int], object], row: Row, transport) -> dict[str, float] | None:
    """Most messages and bytes that a process sends in a step; None on the sharded transport."""
    if transport.name == "sharded":
        return None
    if transport.size == 1:
        return {"messages": 0.0, "bytes": 0.0}
    counted = by_ffi(advance) if transport.exchange == "ffi" else by_mpi4jax(advance, np.dtype(row.dtype).itemsize)
    return {name: largest(value, transport) for name, value in counted.items()}


def by_ffi(advance: Callable[[int], object]) -> dict[str, float]:
    """Messages and bytes of a step, from the counters of the foreign calls."""
    from ..parallel.transport.by_ffi import sent

    before = sent()
    advance(STEPS)
    return {
        name: (after - first) / STEPS for name, first, after in zip(("messages", "bytes"), before, sent(), strict=True)
    }


def by_mpi4jax(advance: Callable[[int], object], itemsize: int) -> dict[str, float]:
    """Messages and bytes of a step, from mpi4jax's log."""
    from mpi4jax._src.xla_bridge import set_logging

    flush, stdout = ctypes.CDLL(None).fflush, os.dup(1)  # C libraries write the log, not Python
    with tempfile.TemporaryFile("w+", errors="replace") as log:
        sys.stdout.flush()
        flush(None)
        os.dup2(log.fileno(), 1)
        set_logging(True)
        try:
            advance(STEPS)
        finally:
            set_logging(False)
            flush(None)
            os.dup2(stdout, 1)
            os.close(stdout)
        log.seek(0)
        return parse(log.read(), itemsize)


def parse(log: str, itemsize: int) -> dict[str, float]:
    """Messages and bytes of a step in the log of STEPS steps."""
    items = [int(one or other) for one, other in SENT.findall(log)]
    return {"messages": len(items) / STEPS, "bytes": sum(items) * itemsize / STEPS}
