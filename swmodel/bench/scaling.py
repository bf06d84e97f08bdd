"""The predicted time of a step on p processes, from constants that rows of the same sweep measure (sweep `scaling`).

    T(p) = K(n, r) p / r + E(p, b),    r = min(p, cores)

K(n, r) is the time of a step without messages while each of r processes computes n cells: a run if r = 1, an ensemble
with one member per process if r > 1. Between measured sizes log K is linear in log n. E(p, b) is the time of an
exchange alone in which a process sends b bytes: a line (latency and bandwidth) fitted to exchanges of p processes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .results import row_of_entry
from .sweeps import BenchRow, BenchSweep, grow_grid

#: Ratio of the numbers of cells of successive block sizes for which K is measured.
CELLS_RATIO = 4


def make_scaling_rows(sweep: BenchSweep, cores: int) -> list[BenchRow]:
    """The rows for the constants (steps without messages, exchanges alone), and runs to compare predictions with."""
    common_values = {name: getattr(sweep, name) for name in ("dtype", "steps", "seconds", "threads")}
    (executor, *_), process_counts = sweep.executors, sweep.nproc

    def make_row(measure: str, nproc: int, size: tuple[int, int], **more) -> BenchRow:
        return BenchRow(measure, executor, nproc, *size, oversubscribed=nproc > cores, **common_values | more)

    min_cells = min(nx * ny for nx, ny in sweep.sizes) // max(process_counts)
    block_sizes = list_block_sizes(max(sweep.sizes), min_cells)
    concurrent_counts = sorted({min(n, cores) for n in process_counts if cores > 1})
    (nx, ny), (max_nx, _) = sweep.sizes[0], max(sweep.sizes)
    halo_sizes = (nx, ny), (4 * max_nx, 4 * max_nx * ny // nx)
    counts_and_sizes = [(1, size) for size in (*block_sizes, *sweep.sizes)]
    scaling_rows = [make_row("model", n, size, steps_per_sweep=1) for n, size in counts_and_sizes]
    scaling_rows += [
        make_row("ensemble", n, size, members=n, advance="map") for n in concurrent_counts for size in block_sizes
    ]
    scaling_rows += [make_row("halo", n, size) for n in process_counts for size in halo_sizes]
    counts_and_sizes = [(n, size) for size in sweep.sizes for n in process_counts]
    counts_and_sizes += [(n, grow_grid(nx, ny, n)) for n in process_counts]
    scaling_rows += [make_row("model", n, size, steps_per_sweep=1) for n, size in counts_and_sizes]
    return list(dict.fromkeys(scaling_rows))


def list_block_sizes(size: tuple[int, int], min_cells: int) -> list[tuple[int, int]]:
    """Sizes of blocks from `size` down to `min_cells` cells or fewer, with two cells or more along each axis."""
    nx, ny = size
    side_ratio = int(math.sqrt(CELLS_RATIO))
    can_shrink = nx * ny > min_cells and min(nx, ny) // side_ratio > 1
    return [size, *(list_block_sizes((nx // side_ratio, ny // side_ratio), min_cells) if can_shrink else [])]


class Prediction(NamedTuple):
    """The predicted times per step, s: computation without messages, and exchange."""

    kernel: float
    exchange: float

    @property
    def seconds_per_step(self) -> float:
        return self.kernel + self.exchange


def predict_step(stats) -> Prediction:
    """The prediction for the RowStatistics of a row, from other rows of its record; NaN if they are missing."""
    row, planned_rows = stats.row, [row_of_entry(entry) for entry in stats.record["rows"]]
    n_at_once = max(each.nproc for each in planned_rows if has_no_messages(each) and each.nproc <= row.nproc)
    kernel = interpolate_log(kernel_times(stats.rows, n_at_once), row.nx * row.ny / row.nproc) * row.nproc / n_at_once
    exchange_rows = [each for each in stats.rows if (each.row.measure, each.row.nproc) == ("halo", row.nproc)]
    exchange_times = [(each.traffic["bytes"], each.seconds_per_step) for each in exchange_rows]
    return Prediction(kernel, fit_line(exchange_times, stats.traffic["bytes"]))


def kernel_times(statistics_of_rows, n_at_once: int) -> list[tuple[float, float]]:
    """(cells per block, seconds per step) of rows in which `n_at_once` processes compute without messages."""
    matching = [stats for stats in statistics_of_rows if has_no_messages(stats.row) and stats.row.nproc == n_at_once]
    return [(stats.row.nx * stats.row.ny, stats.seconds_per_step) for stats in matching]


def has_no_messages(row: BenchRow) -> bool:
    return row.measure == "ensemble" or (row.measure, row.nproc) == ("model", 1)


def interpolate_log(points: list[tuple[float, float]], x: float) -> float:
    """The value at x, also beyond the points, of the function through them that is piecewise linear in logarithms."""
    if len(points) < 2:
        return math.nan
    (log_x, log_y) = np.log(np.array(sorted(points))).T
    index = int(np.clip(np.searchsorted(log_x, math.log(x)), 1, len(log_x) - 1))
    slope = (log_y[index] - log_y[index - 1]) / (log_x[index] - log_x[index - 1])
    return math.exp(log_y[index] + slope * (math.log(x) - log_x[index]))


def fit_line(points: list[tuple[float, float]], x: float) -> float:
    """The value at x of the straight line fitted to the points, but at least the smallest y of the points."""
    if len(points) < 2:
        return math.nan
    known_x, known_y = np.array(points).T
    slope, intercept = np.polyfit(known_x, known_y, 1)
    return max(intercept + slope * x, min(y for _, y in points))
