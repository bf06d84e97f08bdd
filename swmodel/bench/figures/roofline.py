"""The roofline: the speed that memory and arithmetic allow on this machine, and the speed of the rows.

A step does FLOPS_PER_CELL operations for each cell and must move 48 bytes (single precision): an intensity that the
scheme sets. Rows lie on that line at the height of their speed; the roof is the measured bandwidth times the intensity.

Reference: Williams, S., Waterman, A. and Patterson, D. (2009), Roofline, Commun. ACM 52, 65-76.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from ...model.progress import workers
from ...plotting.style import INK, QUIET
from ..markdown import digits, percent
from ..numbers import Numbers, bandwidth, bytes_per_cell, numbers
from ..sweeps import published
from .panels import PUBLISHED, plain

#: Additions, multiplications and divisions for each cell in an AB2 step of the jet by the executor xla.
FLOPS_PER_CELL = 98
#: One colour for each platform and its roof.
COLORS = {"cpu": "#0072B2", "gpu": "#009E73"}
SMALL = 7.5


class Point(NamedTuple):
    """A point of the figure: height (Gflop/s), its name, platform, and the colour of the name or the rim."""

    height: float
    text: str
    platform: str
    color: str


def roofline(records: list[dict]) -> Figure | None:
    """One panel for each machine: roof, and the best row of each executor on CPU and GPU."""
    figure = Figure(figsize=(4.8 * len(records), 3.8))
    panels = []
    for number, record in enumerate(records):
        axes = figure.add_subplot(1, len(records), number + 1)
        panels.append((axes, draw(axes, record)))
        if len(records) > 1:
            axes.set_title(record["label"], fontsize=8)
    figure.tight_layout()
    for axes, roofs in panels:  # the slope of a roof on paper is known once the panels are placed
        for roof in roofs:
            name_roof(axes, *roof)
    return figure


def draw(axes, record: dict) -> list[tuple]:
    """Draw roofs, rows and published rows of one machine; (bandwidth, peak, name) of each roof."""
    found = best([one for one in numbers(record) if one.seconds and not one.row.oversubscribed])
    intensity = FLOPS_PER_CELL / bytes_per_cell(record["definition"]["dtype"])
    x = np.geomspace(intensity / 8, intensity * 64, 200)
    roofs = [(bandwidth(record), record["peak"]["gigaflops"], "")]
    devices = max((one.row.blocks for one in found if one.row.platform == "gpu"), default=0)
    if devices and bandwidth(record, "gpu"):
        roofs.append((bandwidth(record, "gpu", devices), np.inf, "GPU " if devices == 1 else f"{devices} GPUs "))
    for limit, peak, name in roofs:
        axes.plot(x, np.minimum(limit * x, peak), color=COLORS["gpu"] if name else INK, lw=1.2)
    axes.axvline(intensity, color=QUIET, lw=0.6, ls=":", zorder=0)
    points = [Point(one.rate * FLOPS_PER_CELL / 1e9, label(one), one.row.platform, INK) for one in found]
    points += [
        Point(gigaflops(row), f"published, {counted(row)}", row["platform"], PUBLISHED["color"])
        for row in published()["row"]
        if shown(row, record)
    ]
    for point in points:
        fill = "white" if point.color != INK else COLORS[point.platform]
        edge = point.color if point.color != INK else fill
        axes.plot(intensity, point.height, "s" if point.platform == "gpu" else "o", ms=5, mfc=fill, mec=edge)
    names(axes, intensity, points)
    lowest = min(point.height for point in points)
    highest = max(min(limit * x[-1], peak) for limit, peak, _ in roofs)
    axes.set(xscale="log", yscale="log", xlabel="operations per byte moved", ylabel="Gflop/s")
    axes.set(xlim=(x[0], x[-1]), ylim=(lowest / 2, 2.2 * highest))
    axes.xaxis.set_major_formatter(plain())
    axes.yaxis.set_major_formatter(plain())
    axes.spines[["top"]].set_visible(False)
    cells = axes.secondary_yaxis(
        "right", functions=(lambda g: g * 1e3 / FLOPS_PER_CELL, lambda m: m * FLOPS_PER_CELL / 1e3)
    )
    cells.set_ylabel("million cell updates per second")
    cells.yaxis.set_major_formatter(plain())
    return roofs


def best(found: list[Numbers]) -> list[Numbers]:
    """The fastest row of each executor and platform."""
    fastest: dict[tuple, Numbers] = {}
    for one in sorted(found, key=lambda one: one.rate):
        fastest[one.row.executor, one.row.platform] = one
    return list(fastest.values())


def gigaflops(row: dict) -> float:
    """Speed of a published row, if its steps did as many operations."""
    there = published()
    return there["nx"] * there["ny"] * there["steps"] / row["seconds"] * FLOPS_PER_CELL / 1e9


def shown(row: dict, record: dict) -> bool:
    """Whether a published row is drawn: the first and the last of the CPU, and those of the GPU beside a GPU."""
    ends = {("cpu", 1), ("cpu", 16)} | ({("gpu", 2)} if bandwidth(record, "gpu") else set())
    return (row["platform"], row["processes"]) in ends


def counted(row: dict) -> str:
    """Processes or devices of a published row."""
    noun, n = {"cpu": ("process", "processes"), "gpu": ("GPU", "GPUs")}[row["platform"]], row["processes"]
    return f"{n} {noun[n > 1]}"


def name_roof(axes, limit: float, peak: float, name: str):
    """Write the bandwidth along the slope of a roof, and the peak at its flat part."""
    left, right = axes.get_xlim()
    at = left * 1.15
    low, high = (axes.transData.transform((x, limit * x)) for x in (left, 2 * left))
    angle = np.degrees(np.arctan2(high[1] - low[1], high[0] - low[0]))
    style = {"rotation": angle, "rotation_mode": "anchor", "fontsize": SMALL, "color": COLORS["gpu"] if name else INK}
    axes.annotate(f"{name}triad {digits(limit)} GB/s", (at, limit * at), (-3, 5), textcoords="offset points", **style)
    if np.isfinite(peak):
        text, place = f"peak {digits(peak)} Gflop/s", (right, peak)
        axes.annotate(text, place, (-3, 4), textcoords="offset points", fontsize=SMALL, ha="right")


def label(one: Numbers) -> str:
    """A point in words."""
    name = "NumPy" if one.row.executor == "reference" else one.row.executor
    if one.row.platform == "gpu":
        name += f", {one.row.blocks} GPU{'s' if one.row.blocks > 1 else ''}"
    elif one.row.executor != "reference":
        name += f", {workers(one.row.nproc, one.row.devices)}"
    return name + (f": {percent(one.share)} of triad" if one.share else "")


def names(axes, x: float, points: list[Point]):
    """Write the name of each point to its right, with a hair line, so that names do not touch."""
    line = {"arrowstyle": "-", "lw": 0.4, "color": QUIET, "shrinkA": 1, "shrinkB": 3}
    points = sorted(points)
    for point, place in zip(points, spaced([point.height for point in points]), strict=True):
        color = INK if point.color == INK else QUIET
        style = {"va": "center", "ha": "left", "fontsize": SMALL, "color": color, "arrowprops": line}
        axes.annotate(point.text, (x, point.height), (1.5 * x, place), **style)


def spaced(heights: list[float], factor: float = 1.35) -> list[float]:
    """Places for texts beside points at these heights, which rise: neighbours differ by `factor` at least."""
    places = list(heights)
    for _ in range(200):
        for n in range(len(places) - 1):
            gap = factor / (places[n + 1] / places[n])
            if gap > 1:
                places[n] /= gap**0.5
                places[n + 1] *= gap**0.5
    return places
