"""The time of a step on p processes, from constants that rows of the same sweep measure (`swmodel bench scaling`).

    T(p) = K(n, r) p / r + E(p, b),    r = min(p, cores)

K(n, r) is the time of a step of n cells on each of r processes at once, without messages. One process has a run,
several have an ensemble with one member on each. The logarithm of K is linear in that of n between measured sizes.
E(p, b) is the time of an exchange alone in which a process sends b bytes. It is a latency and a bandwidth, fitted to
exchanges of p processes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .results import row_of
from .sweeps import Row, Sweep, grown

#: Factors between the cells of the blocks whose steps are timed without messages.
STEP = 4


def rows(sweep: Sweep, cores: int) -> list[Row]:
    """Steps of blocks without messages, exchanges alone, and the runs that the prediction is compared with."""
    shared = {name: getattr(sweep, name) for name in ("dtype", "steps", "seconds", "threads")}
    (executor, *_), counts = sweep.executors, sweep.nproc

    def row(measure: str, nproc: int, size: tuple[int, int], **more) -> Row:
        return Row(measure, executor, nproc, *size, oversubscribed=nproc > cores, **shared, **more)

    least = min(nx * ny for nx, ny in sweep.sizes) // max(counts)
    alone = blocks(max(sweep.sizes), least)
    together = sorted({min(n, cores) for n in counts if cores > 1})
    found = [row("model", 1, size, steps_per_sweep=1) for size in dict.fromkeys((*alone, *sweep.sizes))]
    found += [row("ensemble", n, size, members=n, advance="map") for n in together for size in alone]
    (nx, ny), (most, _) = sweep.sizes[0], max(sweep.sizes)
    found += [row("halo", n, size) for n in counts for size in ((nx, ny), (4 * most, 4 * most * ny // nx))]
    sizes = [(n, size) for size in sweep.sizes for n in counts] + [(n, grown(nx, ny, n)) for n in counts]
    found += [row("model", n, size, steps_per_sweep=1) for n, size in sizes]
    return list(dict.fromkeys(found))


def blocks(size: tuple[int, int], least: int) -> list[tuple[int, int]]:
    """Sizes of blocks from `size` down to `least` cells or fewer, with sides of two cells or more."""
    nx, ny = size
    half = int(math.sqrt(STEP))
    more = nx * ny > least and min(nx, ny) // half > 1
    return [size, *(blocks((nx // half, ny // half), least) if more else [])]


class Prediction(NamedTuple):
    """The parts of the time of a step, s."""

    kernel: float
    exchange: float

    @property
    def step(self) -> float:
        return self.kernel + self.exchange


def predict(one) -> Prediction:
    """The prediction for the Numbers of a row of several processes, from other rows of its record; NaN without them."""
    row, planned = one.row, [row_of(entry) for entry in one.record["rows"]]
    together = max(each.nproc for each in planned if without_messages(each) and each.nproc <= row.nproc)
    kernel = interpolated(kernels(one.rows, together), row.nx * row.ny / row.nproc) * row.nproc / together
    alone = [each for each in one.rows if (each.row.measure, each.row.nproc) == ("halo", row.nproc)]
    return Prediction(kernel, fitted([(each.traffic["bytes"], each.step) for each in alone], one.traffic["bytes"]))


def kernels(found, together: int) -> list[tuple[float, float]]:
    """Cells of a block and time of its step, s, of so many processes at once."""
    ones = [one for one in found if without_messages(one.row) and one.row.nproc == together]
    return [(one.row.nx * one.row.ny, one.step) for one in ones]


def without_messages(row: Row) -> bool:
    """Whether a row exchanges nothing."""
    return row.measure == "ensemble" or (row.measure, row.nproc) == ("model", 1)


def interpolated(points: list[tuple[float, float]], x: float) -> float:
    """The value at x of a function that is linear in logarithms between points, and beyond the outermost ones."""
    if len(points) < 2:
        return math.nan
    (a, b) = np.log(np.array(sorted(points))).T
    place = int(np.clip(np.searchsorted(a, math.log(x)), 1, len(a) - 1))
    slope = (b[place] - b[place - 1]) / (a[place] - a[place - 1])
    return math.exp(b[place] + slope * (math.log(x) - a[place]))


def fitted(points: list[tuple[float, float]], x: float) -> float:
    """The value at x of the straight line through the points, never below the least of them."""
    if len(points) < 2:
        return math.nan
    slope, first = np.polyfit(*np.array(points).T, 1)
    return max(first + slope * x, min(y for _, y in points))
