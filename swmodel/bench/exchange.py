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
from .answers import configuration
from .device import count_messages, largest, launched, seconds_of, timed_steps
from .rows import Row

#: h, u, v travel together.
FIELDS = 3


def measure_exchange(row: Row, task: dict) -> dict:
    """Measure the exchange of a row; returns its sample. Slabs must come back round the ring, else it failed."""
    arrived = time.time()
    config = resolve(configuration(row))
    width = scheme_of(config).width
    layout = parse_layout(config.run.layout, row.nproc, row.ny, row.nx, width)
    transport = connect(config.run.transport, layout, row.ny, row.nx)
    rows, columns = transport.block.shape
    shapes = [(FIELDS, rows, width)] * 2 + [(FIELDS, width, columns + 2 * width)] * 2
    slabs = [jnp.full(shape, transport.rank, row.dtype) for shape in shapes]

    def shifted(_, slabs):
        east, west, north, south = slabs
        shift = transport.shift
        return [shift(east, 1, +1), shift(west, 1, -1), shift(north, 0, +1), shift(south, 0, -1)]

    loop = jax.jit(lambda slabs, n: jax.lax.fori_loop(0, n, shifted, slabs))

    def seconds(n: int) -> float:
        return seconds_of(lambda: loop(slabs, jnp.int32(n)), transport)

    first = seconds(1)
    back = loop(slabs, jnp.int32(layout[0] * layout[1]))
    changed = transport.any(any(bool((np.asarray(slab) != transport.rank).any()) for slab in back))
    sample = timed_steps(seconds, row, task, transport, warm=0.05) | {"compile_seconds": first}
    sample["first_step_seconds"] = largest(arrived - task["launched"], transport) + first
    return {
        "sample": sample,
        "launch": launched(transport),
        "traffic": count_messages(seconds, row.dtype, transport) if task["check"] else None,
        "reason": "wrong answer: slabs that went round the ring of blocks came back changed" if changed else "",
    }
