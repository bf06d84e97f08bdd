"""Two results of the same sweep: what became faster or slower, and which differences exceed the noise.

A difference counts if the samples of the two results do not overlap, and their medians differ by more than the larger
of the two spreads (largest minus smallest sample). If nothing has changed and samples are independent and normal, that
happens by chance in about 4 of 100 rows with three samples each, and in 2 of 1000 with five.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from .markdown import markdown, percent
from .numbers import numbers, spread

#: Fewest samples for a statement about noise.
FEWEST = 3


@dataclass(frozen=True)
class Change:
    """The samples of a row in two results, and the verdict on them."""

    label: str
    old: tuple[float, ...]
    new: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """New median over old median."""
        return median(self.new) / median(self.old)

    @property
    def verdict(self) -> str:
        """slower, faster, within noise, or too few samples."""
        if min(len(self.old), len(self.new)) < FEWEST:
            return "too few samples"
        if not exceeds_noise(self.old, self.new):
            return "within noise"
        return "slower" if self.ratio > 1 else "faster"


def exceeds_noise(old: tuple[float, ...], new: tuple[float, ...]) -> bool:
    """Whether the samples do not overlap, and their medians differ by more than the larger spread."""
    apart = max(old) < min(new) or max(new) < min(old)
    return apart and abs(median(new) - median(old)) > max(max(samples) - min(samples) for samples in (old, new))


def times(record: dict) -> dict[str, tuple[str, tuple[float, ...]]]:
    """Label and samples of each finished row, by its key: seconds of a step or, if none is timed, of the first step."""
    return {one.row.key: (one.row.label, one.seconds or one.first_step) for one in numbers(record)}


def changes(old: dict, new: dict) -> tuple[list[Change], list[str]]:
    """The changes of the rows that both records hold, and the labels of rows that only one of them holds."""
    before, after = times(old), times(new)
    both = [Change(before[key][0], before[key][1], after[key][1]) for key in before if key in after]
    alone = [(before | after)[key][0] for key in before | after if (key in before) != (key in after)]
    return both, alone


def report(old: dict, new: dict) -> str:
    """The comparison in Markdown."""
    both, alone = changes(old, new)
    heads = ["row", "old, ms", "new, ms", "new / old", "spread old", "spread new", ""]
    lines = [
        [
            change.label,
            f"{1e3 * median(change.old):.4g}",
            f"{1e3 * median(change.new):.4g}",
            f"{change.ratio:.3f}",
            *(percent(spread(samples)) for samples in (change.old, change.new)),
            change.verdict,
        ]
        for change in both
    ]
    text = markdown(heads, lines) if lines else "The two results have no finished row in common.\n"
    if old["sweep"] != new["sweep"]:
        text += f"\nOther sweeps: {old['sweep']} and {new['sweep']}."
    text += "".join(f"\nIn one of the two alone: {label}" for label in alone)
    if old["machine"]["cpu"] != new["machine"]["cpu"]:
        text += f"\nOther machines: {old['machine']['cpu']} and {new['machine']['cpu']}."
    return text
