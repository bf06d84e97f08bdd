"""Figures with bars: the parts of a run that writes, and of the time to the first step."""

from __future__ import annotations

from statistics import median

from matplotlib.figure import Figure

from ..numbers import Numbers, numbers
from .curves import legend, panel

#: From dark to light, so that parts differ in greyscale, too.
SHADES = ("#08519C", "#6BAED6", "#C6DBEF", "#FFFFFF")


def output(records: list[dict]) -> Figure:
    """Length of a run with and without files."""

    def parts(one: Numbers) -> tuple[float, float]:
        steps = median(one.samples("step_seconds"))
        return steps, max(0.0, one.step * one.row.steps - steps)

    return stacked(records, parts, ("time steps", "writing"), "seconds of the run")


def start(records: list[dict]) -> Figure:
    """The parts of the time to the first step."""
    names = ("start and imports", "MPI and fields", "compilation", "one step")
    return stacked(records, lambda one: one.start_parts, names, "seconds to the end of the first step")


def stacked(records: list[dict], parts, names: tuple[str, ...], x: str) -> Figure:
    """A horizontal bar for each row, the first one on top, made of the parts from the function `parts`."""
    found = [one for record in records for one in numbers(record)]
    labels = [one.row.label + (f"\n{one.record['label']}" if len(records) > 1 else "") for one in found]
    figure, axes = panel(x, "")
    figure.set_size_inches(6.4, 1.5 + (0.42 if len(records) > 1 else 0.28) * len(labels))
    for place, one in enumerate(found):
        left = 0.0
        for length, color, name in zip(parts(one), SHADES, names, strict=False):
            axes.barh(place, length, left=left, color=color, ec="0.15", lw=0.5, label="" if place else name)
            left += length
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    legend(figure)
    return figure
