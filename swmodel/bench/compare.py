"""Comparison of two records: which rows became faster or slower by more than the noise.

A difference counts if the samples do not overlap and the medians differ by more than the larger range (largest minus
smallest sample). If nothing changed and samples are independent and normal, this happens in about 4 of 100 rows with
three samples each, and in 2 of 1000 with five.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import median

from .row_statistics import relative_spread, row_statistics
from .sweeps import BenchRow
from .text import format_markdown_table, format_percent


def verdict(old: tuple[float, ...], new: tuple[float, ...]) -> str:
    """Whether a row became slower or faster, changed within noise, or has too few samples to tell."""
    if min(len(old), len(new)) < 3:
        return "too few samples"
    difference = median(new) - median(old)
    samples_overlap = max(old) >= min(new) and max(new) >= min(old)
    if samples_overlap or abs(difference) <= max(max(samples) - min(samples) for samples in (old, new)):
        return "within noise"
    return "slower" if difference > 0 else "faster"


def step_times(record: dict) -> dict[BenchRow, tuple[float, ...]]:
    """Samples of each finished row, s per step; if no steps were timed, s to the end of the first step.

    The keys ignore the number of timed steps and whether cores were oversubscribed, so that rows with the same work are
    compared.
    """
    return {
        replace(stats.row, steps=None, seconds=0, oversubscribed=False): stats.step_samples or stats.first_step_samples
        for stats in row_statistics(record)
    }


def compare_report(old: dict, new: dict) -> str:
    """A table of the rows that two records share, and the differences between the records."""
    old_times, new_times = step_times(old), step_times(new)
    table_rows = []
    for row in (row for row in old_times if row in new_times):
        both_times = old_times[row], new_times[row]
        milliseconds = [1e3 * median(samples) for samples in both_times]
        ratio = f"{milliseconds[1] / milliseconds[0]:.3f}"
        spreads = [format_percent(relative_spread(samples)) for samples in both_times]
        times = [f"{value:.4g}" for value in milliseconds]
        table_rows.append([row.label, *times, ratio, *spreads, verdict(*both_times)])
    headers = ["row", "old, ms", "new, ms", "new / old", "spread old", "spread new", ""]
    text = "The two results have no finished row in common.\n"
    if table_rows:
        text = format_markdown_table(headers, table_rows)
    for subject, old_value, new_value in (
        ("sweeps", old["sweep"], new["sweep"]),
        ("machines", old["machine"]["cpu"], new["machine"]["cpu"]),
    ):
        text += f"\nDifferent {subject}: {old_value} and {new_value}." if old_value != new_value else ""
    unpaired = (row for row in old_times | new_times if (row in old_times) != (row in new_times))
    return text + "".join(f"\nOnly in one result: {row.label}" for row in unpaired)
