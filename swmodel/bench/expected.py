"""The share of the machine's memory bandwidth that the native step of a configuration is expected to reach here.

A step takes the longer of two times: the time in which memory moves its bytes, measured by the triad; and the time in
which the cores compute it, measured by steps of a few rows that stay in the cache of one core.
"""

from __future__ import annotations

import time

import jax
import numpy as np

from ..executors.native.describe import bytes_per_cell
from ..executors.native.executor import Native
from ..parallel.environment import cores
from ..parallel.transport import connect
from ..setup.build import build_grid, build_params, build_state, scheme_of
from .device import bandwidth
from .machine import elements

#: Most rows and columns of the part of the grid that is computed: with its input it stays in the cache.
SIDES = (64, 256)
#: Number of samples, of which the shortest counts, and fewest seconds of each.
SAMPLES, SECONDS = 5, 0.02


def expect(config) -> str:
    """The expected share of a resolved configuration in words, measured here in a few seconds."""
    measured = bandwidth(elements(quick=True), trials=3)["gigabytes_per_second"]
    return expected(bytes_per_cell(config) / measured, computed(config) / cores(), measured)


def expected(memory: float, computing: float, measured: float) -> str:
    """The share by the times of a cell, ns, by all cores together, to move and to compute, and the bandwidth, GB/s."""
    slower = max(memory, computing)
    bound = "memory" if memory == slower else "its operations"
    share = f"{100 * memory / slower:.0f} % of this machine's bandwidth, {measured:.1f} GB/s"
    return f"expected     {share}; bound by {bound}: {memory:.2g} ns a cell to move, {computing:.2g} ns to compute"


def computed(config) -> float:
    """Time of a cell on one core whose cache holds all fields, ns."""
    dtype = np.dtype(config.run.dtype)
    shape = [min(side, most) for side, most in zip((config.grid.ny, config.grid.nx), SIDES, strict=True)]
    transport, margin = connect("serial", (1, 1), *shape), scheme_of(config).width + 1
    static = [build(config, transport.block, dtype, margin) for build in (build_grid, build_params)]
    executor = Native(config, transport, *static, steps_per_sweep=1, threads=1)
    carry = executor.start(transport.make(lambda block: build_state(config, block, dtype)))
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
