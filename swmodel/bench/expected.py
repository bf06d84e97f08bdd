"""The share of the machine's memory bandwidth that the native step of a configuration is expected to reach here.

A step takes the longer of two times: the time in which memory moves its bytes, measured by the triad; and the time in
which the cores compute it, measured by steps of a few rows that stay in the cache of one core.
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

#: Most rows and columns of the part of the grid that is computed: with its input it stays in the cache.
SIDES = (64, 256)
#: Number of samples, of which the shortest counts, and fewest seconds of each.
SAMPLES, SECONDS = 5, 0.02


def expect(setup: Setup) -> str:
    """The expected share of a resolved Setup in words, measured here in a few seconds."""
    measured = bandwidth(elements(quick=True), trials=3)["gigabytes_per_second"]
    with jax.enable_x64(setup.config.run.dtype == "float64"):
        computing = computed(setup) / cores()
    return expected(bytes_per_cell(setup) / measured, computing, measured)


def expected(memory: float, computing: float, measured: float) -> str:
    """The share by the times of a cell, ns, by all cores together, to move and to compute, and the bandwidth, GB/s."""
    slower = max(memory, computing)
    bound = "memory" if memory == slower else "its operations"
    share = f"{100 * memory / slower:.0f} % of this machine's bandwidth, {measured:.1f} GB/s"
    return f"expected     {share}; bound by {bound}: {memory:.2g} ns a cell to move, {computing:.2g} ns to compute"


def computed(setup: Setup) -> float:
    """Time of a cell on one core whose cache holds all fields, ns."""
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
