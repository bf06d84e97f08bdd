"""The machine's limits, measured here: memory bandwidth by a triad, peak arithmetic by a matrix product.

The triad a = b + s a runs in place, float32, as a jitted JAX loop on all cores of one process. It moves 12 bytes for
each element, two reads and a write. As in a step of the model, only what was read before is written, so no write causes
a further read. The arrays together are four times the last-level cache. A triad in NumPy reaches less, as its two calls
read memory twice: 12 GB/s instead of 41, on two cores; one in C with OpenMP reaches about as much (42.5 and 44.5 GB/s,
best of 12 and of 15 passes). As in STREAM the best pass counts, as it is a limit.

Reference: McCalpin, J. D. (1995), STREAM, IEEE TCCA Newsletter, 19-25.
"""

from __future__ import annotations

import time

import numpy as np

from . import machine, start
from .limits import bytes_free
from .rows import Row

#: Number of arrays of the triad.
ARRAYS = 2
#: Side of the matrices.
SIDE = 2048
#: Fewest and most bytes of the arrays together.
LEAST, MOST = 2**28, 2**33


def elements(quick: bool) -> int:
    """Elements of each array: in all four times the last-level cache, at most a quarter of the free memory."""
    cache = max(machine.caches().values(), default=2**25)
    total = LEAST if quick else min(max(LEAST, 4 * cache), MOST, bytes_free() // 4)
    return total // (4 * ARRAYS)


def measure_triad(quick: bool = False) -> dict:
    """Bandwidth of all cores together: {"gigabytes_per_second": ..., "by": ..., "array_bytes": ...}.

    Raises:
        WorkerError: the process that measures it failed.
    """
    task = {"do": "triad", "elements": elements(quick), "trials": 3 if quick else 15}
    return start.run(Row("model", "xla", 1, 1, 1), task)


def peak(quick: bool = False) -> dict:
    """Peak arithmetic of all cores together, Gflop/s: the best of several float32 matrix products."""
    x = np.full((SIDE, SIDE), 0.5, np.float32)
    best = min(timed(lambda: x @ x) for _ in range(2 if quick else 6))
    return {"gigaflops": 2 * SIDE**3 / best / 1e9, "by": f"NumPy matrix product, float32, {SIDE} x {SIDE}"}


def timed(function) -> float:
    """Seconds that a call takes."""
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin
