"""Measurements in the processes of a row: times, memory, threads, devices and sent messages."""

from __future__ import annotations

import ctypes
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from ..parallel import environment
from .machine import environment_settings
from .sweeps import BenchRow

if TYPE_CHECKING:
    from ..parallel.transport.transport import Transport

#: Steps over which messages are counted: a whole number of exchanges, even if each serves several steps.
MESSAGE_STEPS = 12
#: Passes of the triad in a trial, so that the fixed cost of a call matters less.
PASSES_PER_TRIAL = 2
#: A line of mpi4jax's log about a message that was sent:
#: "r0 | 4fca0000 | MPI_Sendrecv <- 1 (tag 7, 108 items) / -> 1 (tag 7, 108 items)".
SENT_PATTERN = re.compile(r"MPI_\w+ [^\n]*?-> \d+ \(tag \d+, (\d+) items\)|MPI_\w+ -> \d+[^\n]*?(\d+) items")


def max_over_processes(value: float, transport: Transport) -> float:
    """The largest value of all processes, which call this function together."""
    return float(transport.reduce(np.asarray(value, dtype=np.float64), "max"))


def time_call(call: Callable[[], object], transport: Transport) -> float:
    """Duration of a call on all processes, s, from a common start to the end of the slowest."""
    transport.barrier()
    start_time = time.perf_counter()
    jax.block_until_ready(call())
    transport.barrier()
    return max_over_processes(time.perf_counter() - start_time, transport)


def measure_steps(
    time_of_steps: Callable[[int], float],
    row: BenchRow,
    task: dict,
    transport: Transport,
    min_warmup_seconds: float = 0.4,
) -> dict:
    """Time some steps after a warm-up; `time_of_steps(n)` advances n steps and returns the time of the slowest process.

    The warm-up lasts until a call takes `min_warmup_seconds` or a quarter of `row.seconds`, so that the fixed cost of a
    call matters little, or until a call has `row.steps` steps. The number of steps is that of an earlier sample, or
    else fills `row.seconds` with at least two and at most `row.steps` steps.
    """
    n, n_warmup_steps = 2, 2
    while (elapsed := time_of_steps(n)) < min(min_warmup_seconds, row.seconds / 4) and n < (row.steps or n + 1):
        n = min(4 * n, row.steps or 4 * n)
        n_warmup_steps += n
    n_fitting = max(2, int(row.seconds * n / elapsed))
    steps = task["steps"] or transport.broadcast(min(row.steps or n_fitting, n_fitting))
    return {"warm_up_steps": n_warmup_steps, "steps": steps, "seconds": time_of_steps(steps)}


def measure_bandwidth(elements: int = 2**28, trials: int = 20) -> dict:
    """Bandwidth of this process's device, GB/s: the best of several trials with PASSES_PER_TRIAL passes of a triad."""
    a, b = jnp.zeros(elements, jnp.float32), jnp.full(elements, 1.0, jnp.float32)
    loop = jax.jit(lambda a, b, n: jax.lax.fori_loop(0, n, lambda _, a: b + 0.5 * a, a), donate_argnums=0)
    times = []
    for _ in range(trials + 1):  # the first trial compiles
        start_time = time.perf_counter()
        a = jax.block_until_ready(loop(a, b, PASSES_PER_TRIAL))
        times.append(time.perf_counter() - start_time)
    return {
        "gigabytes_per_second": 12e-9 * elements * PASSES_PER_TRIAL / min(times),
        "by": f"JAX triad in place, float32, two arrays of {4 * elements / 2**20:.0f} MiB",
        "array_bytes": 4 * elements,
    }


def peak_memory_bytes(row: BenchRow, transport: Transport) -> float:
    """The largest peak memory of a process, bytes; for GPU rows the peak memory of its GPU."""
    gpu_bytes = (jax.local_devices()[0].memory_stats() or {}).get("peak_bytes_in_use", 0)
    return max_over_processes(gpu_bytes if row.platform == "gpu" else environment.peak_memory(), transport)


def describe_launch(transport: Transport) -> dict:
    """The environment of the processes: MPI, cores per process, threads, settings."""
    cores, device = environment.n_cores(), jax.devices()[0]
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
        "settings": environment_settings(),
    }


def count_messages(advance: Callable[[int], object], row: BenchRow, transport: Transport) -> dict[str, float] | None:
    """Messages and bytes per step of the process that sends most; None on the sharded transport."""
    if transport.name == "sharded":
        return None
    if transport.size == 1:
        return {"messages": 0.0, "bytes": 0.0}
    if transport.exchange == "ffi":
        counted = count_ffi_messages(advance)
    else:
        counted = count_mpi4jax_messages(advance, np.dtype(row.dtype).itemsize)
    return {name: max_over_processes(value, transport) for name, value in counted.items()}


def count_ffi_messages(advance: Callable[[int], object]) -> dict[str, float]:
    """Messages and bytes per step, from the counters of the foreign calls."""
    from ..parallel.transport.ffi_messages import sent_messages_and_bytes

    counts_before = sent_messages_and_bytes()
    advance(MESSAGE_STEPS)
    messages, n_bytes = np.subtract(sent_messages_and_bytes(), counts_before) / MESSAGE_STEPS
    return {"messages": float(messages), "bytes": float(n_bytes)}


def count_mpi4jax_messages(advance: Callable[[int], object], itemsize: int) -> dict[str, float]:
    """Messages and bytes per step, from mpi4jax's log."""
    from mpi4jax._src.xla_bridge import set_logging

    flush, stdout = ctypes.CDLL(None).fflush, os.dup(1)  # C libraries, not Python, write the log
    with tempfile.TemporaryFile("w+", errors="replace") as log:
        sys.stdout.flush()
        flush(None)
        os.dup2(log.fileno(), 1)
        set_logging(True)
        try:
            advance(MESSAGE_STEPS)
        finally:
            set_logging(False)
            flush(None)
            os.dup2(stdout, 1)
            os.close(stdout)
        log.seek(0)
        return parse_mpi4jax_log(log.read(), itemsize)


def parse_mpi4jax_log(log: str, itemsize: int) -> dict[str, float]:
    """Messages and bytes per step, from the log of MESSAGE_STEPS steps."""
    items = [int(first or second) for first, second in SENT_PATTERN.findall(log)]
    return {"messages": len(items) / MESSAGE_STEPS, "bytes": sum(items) * itemsize / MESSAGE_STEPS}
