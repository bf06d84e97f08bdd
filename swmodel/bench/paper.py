"""On paper: the time of a step on more processes than a machine has, from its constants (`scaling`, docs/scaling.md).

    T(p) = K(n) + 4 (e(b) + NETWORK),    n = N/p,    b = 3 sqrt(n) numbers
    S(p) = log2(p) (e(0) + NETWORK)

K(n) is the time of a step of n cells without messages while all cores compute. A square block sends four messages of b
bytes, one after the other. e(b) is the time of one of them in the exchanges of the fewest processes, at least the
smallest measured. S(p) is the time of a sum over all processes, as in the health check.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .scaling import fitted, interpolated, kernels, without_messages
from .text import counted, digits, markdown, percent

#: Numbers of processes, and a grid of all oceans at 1/12 degree.
PROCESSES, GRID = (128, 1024, 10240), (4320, 2160)
#: What a message between nodes takes longer than one through shared memory, s (InfiniBand).
NETWORK = 2e-6
#: Messages of a block with four neighbours in a step, and fields in each.
MESSAGES, FIELDS = 4, 3


class OnPaper(NamedTuple):
    """A row: cells of a block, times in s, memory of a process in bytes."""

    processes: int
    cells: float
    kernel: float
    exchange: float
    sum: float
    memory: float

    @property
    def step(self) -> float:
        return self.kernel + self.exchange


def predict(record: dict, found: list) -> list[OnPaper]:
    """The rows for the Numbers `found` of a record; none if they lack constants."""
    steps = kernels(found, most_at_once(found))
    alone = [one for one in found if one.row.measure == "halo" and not one.row.oversubscribed]
    fewest = min((one.row.nproc for one in alone), default=0)
    sent = [
        (one.traffic["bytes"] / one.traffic["messages"], one.step / one.traffic["messages"])
        for one in alone
        if one.row.nproc == fewest
    ]
    if len(steps) < 2 or len(sent) < 2:
        return []
    single = [one for one in found if (one.row.measure, one.row.nproc) == ("model", 1)]
    memory = [(one.row.nx * one.row.ny, one.memory) for one in single]
    itemsize, rows = np.dtype(record["definition"]["dtype"]).itemsize, []
    for p in PROCESSES:
        n = math.prod(GRID) / p
        exchange = MESSAGES * (fitted(sent, FIELDS * math.sqrt(n) * itemsize) + NETWORK)
        summed = math.log2(p) * (fitted(sent, 0) + NETWORK)
        rows.append(OnPaper(p, n, interpolated(steps, n), exchange, summed, fitted(memory, n)))
    return rows


def most_at_once(found: list) -> int:
    """The most processes of the steps without messages."""
    return max((one.row.nproc for one in found if without_messages(one.row)), default=0)


def table(record: dict, found: list) -> str:
    """The rows as a table below a line that names the assumptions; empty without rows."""
    rows = predict(record, found)
    if not rows:
        return ""
    together = most_at_once(found)
    measured = [n for n, _ in kernels(found, together)]
    lines = []
    for one in rows:
        efficiency = percent(rows[0].processes * rows[0].step / (one.processes * one.step))
        times = [digits(1e6 * each) for each in (one.kernel, one.exchange, one.step, one.sum)]
        cells = f"{one.cells:.0f}" + ("" if min(measured) <= one.cells <= max(measured) else "*")
        lines.append([str(one.processes), cells, *times[:3], efficiency, times[3], digits(one.memory / 2**20)])
    heads = ["processes", "cells each", "kernel, µs", "exchange, µs", "step, µs", "efficiency", "sum, µs", "MiB/rank"]
    text = (
        f"On paper: {GRID[0]} x {GRID[1]} cells, the kernel of {together} at once, {counted(MESSAGES, 'message')} of a "
        f"block, each {digits(1e6 * NETWORK)} µs longer than here (*: outside the measured blocks)."
    )
    return f"{text}\n\n{markdown(heads, lines)}"
