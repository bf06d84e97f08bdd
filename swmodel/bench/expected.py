"""The expected share of the machine's memory bandwidth for the native step of a configuration.

A step takes the longer of two times. The triad measures the time to move its bytes. Steps of a few rows in the cache of
one core measure the time to compute it.
"""

from __future__ import annotations

import time

import jax

from ..executors.native.describe import bytes_per_cell
from ..executors.native.executor import Native
from ..parallel.environment import cores
from ..parallel.transport import connect
from ..setup.setup import Setup
from .device import bandwidth
from .machine import elements

#: Most rows and columns of the computed part of the grid, which stays in the cache.
SIDES = (64, 256)
#: Number of samples, of which the shortest counts, and least seconds of each.
SAMPLES, SECONDS = 5, 0.02


def expect(setup: Setup) -> str:
    """The expected share of a resolved Setup in words, from measurements of a few seconds."""
    measured = bandwidth(elements(quick=True), trials=3)["gigabytes_per_second"]
    with jax.enable_x64(setup.config.run.dtype == "float64"):
        computing = computed(setup) / cores()
    return expected(bytes_per_cell(setup) / measured, computing, measured)


def expected(memory: float, computing: float, measured: float) -> str:
    """The share from the times to move and to compute a cell, ns, by all cores together, and the bandwidth, GB/s."""
    slower = max(memory, computing)
    bound = "memory" if memory == slower else "its operations"
    share = f"{100 * memory / slower:.0f} % of this machine's bandwidth, {measured:.1f} GB/s"
    return f"expected     {share}; bound by {bound}: {memory:.2g} ns a cell to move, {computing:.2g} ns to compute"


def computed(setup: Setup) -> float:
    """Time of a cell on one core with all fields in its cache, ns."""
    shape = [min(side, most) for side, most in zip(setup.shape, SIDES, strict=True)]
    transport = connect("serial", (1, 1), *shape)
    executor = Native(setup, transport, *setup.static(transport.block), steps_per_sweep=1, threads=1)
    carry = executor.start(transport.make(setup.state))
    steps, times = 2, []
    while len(times) <= SAMPLES:
        begin = time.perf_counter()
        carry = jax.block_until_ready(executor.advance(carry, steps))
        passed = time.perf_counter() - begin
        if passed < SECONDS and not times:
            steps *= 2
        else:
            times.append(passed)
    return 1e9 * min(times) / (steps * shape[0] * shape[1])
