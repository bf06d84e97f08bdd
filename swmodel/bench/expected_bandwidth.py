"""The share of the machine's memory bandwidth that the native step of a configuration should reach.

A step takes the longer of two times: the time to move its bytes, at the bandwidth of a triad, and the time to compute,
measured by steps of one core on a grid that fits in its cache and divided by the number of cores.
"""

from __future__ import annotations

import time

import jax

from ..executors.native.executor import NativeExecutor
from ..executors.native.step_table import bytes_per_cell
from ..parallel.environment import n_cores
from ..parallel.transport import connect
from ..setup.setup import Setup
from .machine import choose_triad_elements
from .process_measures import measure_bandwidth

#: Largest numbers of rows and columns of the grid that fits in the cache.
MAX_SHAPE = (64, 256)
#: Number of samples, of which the shortest counts, and the shortest duration of a sample, s.
N_SAMPLES, MIN_SAMPLE_SECONDS = 5, 0.02


def describe_expected_share(setup: Setup) -> str:
    """The expected share of the bandwidth for a resolved Setup, as text; the measurements take a few seconds."""
    gigabytes_per_second = measure_bandwidth(choose_triad_elements(quick=True), trials=3)["gigabytes_per_second"]
    with jax.enable_x64(setup.config.run.dtype == "float64"):
        arithmetic_nanoseconds = compute_nanoseconds_per_cell(setup) / n_cores()
    memory_nanoseconds = bytes_per_cell(setup) / gigabytes_per_second
    step_nanoseconds = max(memory_nanoseconds, arithmetic_nanoseconds)
    bound = "memory" if memory_nanoseconds == step_nanoseconds else "arithmetic"
    return (
        f"expected     {100 * memory_nanoseconds / step_nanoseconds:.0f} % of this machine's bandwidth "
        f"of {gigabytes_per_second:.1f} GB/s; bound by {bound}: {memory_nanoseconds:.2g} ns per cell to move, "
        f"{arithmetic_nanoseconds:.2g} ns to compute"
    )


def compute_nanoseconds_per_cell(setup: Setup) -> float:
    """Time per cell and step on one core whose cache holds all fields, ns."""
    ny, nx = map(min, setup.shape, MAX_SHAPE)
    transport = connect("serial", (1, 1), ny, nx)
    executor = NativeExecutor(setup, transport, *setup.static(transport.block), steps_per_sweep=1, threads=1)
    steps, times = 2, list[float]()
    carry = executor.start(transport.make_arrays(setup.state))
    carry = jax.block_until_ready(executor.advance(carry, steps))  # compiles
    while len(times) < N_SAMPLES:
        start_time = time.perf_counter()
        carry = jax.block_until_ready(executor.advance(carry, steps))
        elapsed = time.perf_counter() - start_time
        if elapsed < MIN_SAMPLE_SECONDS and not times:
            steps *= 2
        else:
            times.append(elapsed)
    return 1e9 * min(times) / (steps * ny * nx)
