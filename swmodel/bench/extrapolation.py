"""The time of a step on more processes than the machine has cores, extrapolated from measurements (docs/scaling.md).

    T(p) = K(n) + 4 (e(b) + NETWORK_LATENCY_SECONDS),    n = N/p,    b = 3 sqrt(n) numbers
    S(p) = log2(p) (e(0) + NETWORK_LATENCY_SECONDS)

N is the number of cells of the grid. K(n) is the time of a step of n cells without messages while all cores compute. A
square block sends four messages of b numbers, one after the other. e(b) is the time of one message: a line fitted to
the exchanges of the fewest processes, but never less than the shortest time measured. S(p) is the time of a sum over
all processes, as in the health check.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .scaling import fit_line, has_no_messages, interpolate_log, kernel_times
from .text import format_count, format_markdown_table, format_number, format_percent

#: Numbers of processes, and the columns and rows of a global grid of 1/12 degree.
PROCESS_COUNTS, GRID_SIZE = (128, 1024, 10240), (4320, 2160)
#: Extra time of a message between nodes, compared with one through shared memory, s (InfiniBand).
NETWORK_LATENCY_SECONDS = 2e-6
#: Messages per step of a block with four neighbours, and fields in each.
MESSAGES_PER_STEP, FIELDS_PER_MESSAGE = 4, 3


class Extrapolation(NamedTuple):
    """One row of the table."""

    processes: int
    cells: float  # per process
    kernel: float  # time of a step without messages, s
    exchange: float  # time of the messages of a step, s
    allreduce: float  # time of a sum over all processes, s
    memory_bytes: float  # per process

    @property
    def seconds_per_step(self) -> float:
        return self.kernel + self.exchange


def extrapolate(record: dict, statistics_of_rows: list) -> list[Extrapolation]:
    """The rows, computed from the RowStatistics of a record; empty if measurements are missing."""
    kernel_times_measured = kernel_times(statistics_of_rows, max_processes_at_once(statistics_of_rows))
    exchange_rows = [s for s in statistics_of_rows if s.row.measure == "halo" and not s.row.oversubscribed]
    min_processes = min((stats.row.nproc for stats in exchange_rows), default=0)
    message_times = [
        (stats.traffic["bytes"] / stats.traffic["messages"], stats.seconds_per_step / stats.traffic["messages"])
        for stats in exchange_rows
        if stats.row.nproc == min_processes
    ]
    if len(kernel_times_measured) < 2 or len(message_times) < 2:
        return []
    one_process_rows = [stats for stats in statistics_of_rows if (stats.row.measure, stats.row.nproc) == ("model", 1)]
    memory = [(stats.row.nx * stats.row.ny, stats.memory_bytes) for stats in one_process_rows]
    itemsize, rows = np.dtype(record["definition"]["dtype"]).itemsize, []
    for p in PROCESS_COUNTS:
        n = math.prod(GRID_SIZE) / p
        kernel = interpolate_log(kernel_times_measured, n)
        message = fit_line(message_times, FIELDS_PER_MESSAGE * math.sqrt(n) * itemsize)
        exchange = MESSAGES_PER_STEP * (message + NETWORK_LATENCY_SECONDS)
        allreduce = math.log2(p) * (fit_line(message_times, 0) + NETWORK_LATENCY_SECONDS)
        rows.append(Extrapolation(p, n, kernel, exchange, allreduce, fit_line(memory, n)))
    return rows


def max_processes_at_once(statistics_of_rows: list) -> int:
    """The largest number of processes whose steps were timed without messages."""
    return max((stats.row.nproc for stats in statistics_of_rows if has_no_messages(stats.row)), default=0)


def extrapolation_table(record: dict, statistics_of_rows: list) -> str:
    """The assumptions and the rows as a table; empty if measurements are missing."""
    rows = extrapolate(record, statistics_of_rows)
    if not rows:
        return ""
    n_at_once = max_processes_at_once(statistics_of_rows)
    measured_cells = [n for n, _ in kernel_times(statistics_of_rows, n_at_once)]
    core_seconds = [row.processes * row.seconds_per_step for row in rows]
    table_rows = [
        [
            str(row.processes),
            f"{row.cells:.0f}" + ("" if min(measured_cells) <= row.cells <= max(measured_cells) else "*"),
            *(format_number(1e6 * seconds) for seconds in (row.kernel, row.exchange, row.seconds_per_step)),
            format_percent(core_seconds[0] / seconds_of_row),
            format_number(1e6 * row.allreduce),
            format_number(row.memory_bytes / 2**20),
        ]
        for row, seconds_of_row in zip(rows, core_seconds, strict=True)
    ]
    headers = ["processes", "cells each", "kernel, µs", "exchange, µs", "step, µs", "efficiency", "sum, µs", "MiB/rank"]
    text = (
        f"On paper: {GRID_SIZE[0]} x {GRID_SIZE[1]} cells, kernel times of {n_at_once} concurrent processes, "
        f"{format_count(MESSAGES_PER_STEP, 'message')} per block, each {format_number(1e6 * NETWORK_LATENCY_SECONDS)} "
        "µs longer than here (*: outside the measured block sizes)."
    )
    return f"{text}\n\n{format_markdown_table(headers, table_rows)}"
