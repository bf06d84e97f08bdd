"""A sample of the exchange of halos alone: the four shifts of a step, with slabs of its size, and nothing else."""

from __future__ import annotations

import time

import jax
import jax.numpy as jnp
import numpy as np

from ..config.build import scheme_of
from ..model.resolve import resolve
from ..parallel.decomposition import parse_layout
from ..parallel.transport import connect
from . import traffic
from .answers import configuration
from .device import largest, launched
from .rows import Row

#: h, u, v travel together.
FIELDS = 3
WARM = 0.05


def measure_exchange(row: Row, task: dict) -> dict:
    """Measure the exchange of a row; returns its sample. Slabs must come back round the ring, else it failed."""
    arrived = time.time()
    config = resolve(configuration(row))
    width = scheme_of(config).width
    layout = parse_layout(config.run.layout, row.nproc, row.ny, row.nx, width)
    transport = connect(config.run.transport, layout, row.ny, row.nx)
    rows, columns = transport.block.shape
    dtype = np.dtype(row.dtype)
    slabs = [jnp.zeros((FIELDS, rows, width), dtype)] * 2
    slabs += [jnp.zeros((FIELDS, width, columns + 2 * width), dtype)] * 2
    slabs = [slab + jnp.asarray(transport.rank, dtype) for slab in slabs]

    @jax.jit
    def loop(slabs, n):
        return jax.lax.fori_loop(0, n, lambda _, s: shifted(s, transport.shift), slabs)

    def exchange(n: int) -> float:
        transport.barrier()
        begin = time.perf_counter()
        jax.block_until_ready(loop(slabs, jnp.int32(n)))
        transport.barrier()
        return largest(time.perf_counter() - begin, transport)

    first = exchange(1)
    problem = wrong(loop(slabs, jnp.int32(layout[0] * layout[1])), transport)
    n = 16
    while (elapsed := exchange(n)) < WARM:
        n *= 4
    n = task["steps"] or transport.broadcast(max(16, int(row.seconds * n / elapsed)))
    sample = {"compile_seconds": first, "steps": n, "seconds": exchange(n)}
    sample["first_step_seconds"] = largest(arrived - task["launched"], transport) + first
    counted = traffic.count(exchange, dtype.itemsize) if task["check"] and transport.size > 1 else None
    result = {"sample": sample, "launch": launched(transport)}
    if counted:
        result["traffic"] = {name: largest(value, transport) for name, value in counted.items()}
    return {"state": "failed", "reason": problem, **result} if problem else {"state": "ok", **result}


def shifted(slabs, shift):
    """The slabs sent to the east, the west, the north and the south."""
    east, west, north, south = slabs
    return [shift(east, 1, +1), shift(west, 1, -1), shift(north, 0, +1), shift(south, 0, -1)]


def wrong(slabs, transport) -> str:
    """What is wrong with slabs that have gone round the rings, on any process; empty if they are back."""
    away = any(bool((np.asarray(slab) != transport.rank).any()) for slab in slabs)
    return "wrong answer: slabs that went round the ring of blocks came back changed" if transport.any(away) else ""
