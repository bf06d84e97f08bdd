"""Comparison of two results: rows that became faster or slower beyond the noise.

A difference counts if the samples do not overlap and the medians differ by more than the larger range (largest minus
smallest sample). Independent normal samples without a change have such a difference in about 4 of 100 rows with three
samples each, and in 2 of 1000 with five.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import median

from .numbers import numbers, spread
from .sweeps import Row
from .text import markdown, percent


def verdict(old: tuple[float, ...], new: tuple[float, ...]) -> str:
    """The verdict on a row in two results: slower, faster, within noise, or too few samples."""
    if min(len(old), len(new)) < 3:
        return "too few samples"
    apart = median(new) - median(old)
    overlap = max(old) >= min(new) and max(new) >= min(old)
    if overlap or abs(apart) <= max(max(samples) - min(samples) for samples in (old, new)):
        return "within noise"
    return "slower" if apart > 0 else "faster"


def times(record: dict) -> dict[Row, tuple[float, ...]]:
    """Samples of each finished row, s: of a step, or of the first step if no others are timed.

    Rows with the same work are equal for any numbers of steps and cores.
    """
    return {
        replace(one.row, steps=None, seconds=0, oversubscribed=False): one.seconds or one.first_step
        for one in numbers(record)
    }


def report(old: dict, new: dict) -> str:
    """The comparison in Markdown."""
    before, after = times(old), times(new)
    lines = []
    for row in (row for row in before if row in after):
        pair = before[row], after[row]
        milliseconds = [1e3 * median(samples) for samples in pair]
        ratio = f"{milliseconds[1] / milliseconds[0]:.3f}"
        spreads = [percent(spread(samples)) for samples in pair]
        lines.append([row.label, *(f"{value:.4g}" for value in milliseconds), ratio, *spreads, verdict(*pair)])
    heads = ["row", "old, ms", "new, ms", "new / old", "spread old", "spread new", ""]
    text = markdown(heads, lines) if lines else "The two results have no finished row in common.\n"
    for what, one, other in (
        ("sweeps", old["sweep"], new["sweep"]),
        ("machines", old["machine"]["cpu"], new["machine"]["cpu"]),
    ):
        text += f"\nDifferent {what}: {one} and {other}." if one != other else ""
    return text + "".join(
        f"\nOnly in one of them: {row.label}" for row in before | after if (row in before) != (row in after)
    )
