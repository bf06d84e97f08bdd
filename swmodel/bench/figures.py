"""Figures of results: curves beside the published ones, the roofline, and bars of the parts of a time.

Colours differ for any colour vision (Okabe and Ito 2008), and markers in greyscale. Machines differ by dashes.
Published rows are light, thin and hollow.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from ..model.progress import workers
from ..plotting.style import INK, QUIET, RC
from .numbers import Numbers, bandwidth, bytes_per_cell, numbers
from .scaling import predict
from .sweeps import grown, published
from .text import counted, digits, percent

#: Additions, multiplications and divisions for each cell in an AB2 step of the jet by the executor xla.
FLOPS_PER_CELL = 98
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES = ("-", "--", "-.", ":")
MARKERS = "osD^vP"
#: Shades of bars from dark to light, so that parts differ in greyscale, too.
SHADES = ("#08519C", "#6BAED6", "#C6DBEF", "#FFFFFF")
#: The look of published rows, of the line of perfect scaling, and of words beside a point.
PUBLISHED = {"color": "0.62", "mfc": "white", "ms": 4, "lw": 0.9, "zorder": 1.5}
PERFECT = {"lw": 0.7, "ls": (0, (1, 2)), "zorder": 0}
WORDS = {"textcoords": "offset points", "fontsize": 7.5}
#: A legend below the panel, where it hides nothing.
LEGEND = {"loc": "outside lower center", "frameon": False, "fontsize": 7.5}
#: The label of an axis of speeds.
RATE = "million cell updates per second"
#: Number format without powers of ten, with spaces between thousands.
PLAIN = FuncFormatter(lambda value, _: f"{value:,.10g}".replace(",", " "))


def draw(records: list[dict], folder) -> list[Path]:
    """Draw all figures that the results allow, as PNG and PDF files in the folder; returns the files."""
    written = []
    with matplotlib.rc_context(RC):
        for name, (sweep, function) in FIGURES.items():
            chosen = [record for record in records if record["sweep"] == sweep and numbers(record)]
            figure = function(chosen) if chosen else None
            for kind in ("png", "pdf") if figure else ():
                path = Path(folder) / f"{name}.{kind}"
                figure.savefig(path, bbox_inches="tight", metadata={"CreationDate": None} if kind == "pdf" else None)
                written.append(path)
    return written


def speedup(records: list[dict]) -> Figure | None:
    """Speed-up over NumPy against processes, with the published curves; the last value of each curve is written."""
    there = published()
    size = there["nx"], there["ny"]

    def group(one: Numbers) -> str | None:
        row = one.row
        if row.executor == "reference" or not one.speedup > 0:
            return None
        marks = [] if (row.nx, row.ny) == size else [f"{row.nx} x {row.ny}"]
        marks += ["1 core each"] if row.threads else []
        return ", ".join(marks + (["more ranks than cores"] if row.oversubscribed else []))

    x, y = "processes (CPU) or devices (GPU)", "speed-up over NumPy on one process"
    axes, curves = plot(records, x, y, group, lambda one: (one.row.blocks, one.speedup))
    if not curves:
        return None
    for platform, marker in (("cpu", "o"), ("gpu", "s")):
        points = [(row["processes"], row["speedup"]) for row in there["row"] if row["platform"] == platform]
        name = f"published, {there[platform]}, {size[0]} x {size[1]}"
        axes.plot(*zip(*points, strict=True), label=name, marker=marker, **PUBLISHED)
        curves.append((points, QUIET))
    for points, color in [curve for curve in curves if len(curve[0]) > 1]:
        axes.annotate(digits(points[-1][1]), points[-1], (0, 5), ha="center", color=color, **WORDS)
    return logarithmic(axes, {n for points, _ in curves for n, _ in points})


def scaling(records: list[dict]) -> Figure:
    """Cell updates per second against cores, with the line of perfect scaling from each first point."""

    def group(one: Numbers) -> str:
        return "" if one.cores == one.row.blocks else "several threads for each process"

    axes, curves = plot(records, "cores (CPU) or devices (GPU)", RATE, group, lambda one: (one.cores, one.rate / 1e6))
    for points, color in curves:
        (first, rate), last = points[0], points[-1][0]
        axes.plot([first, last], [rate, rate * last / first], color=color, **PERFECT)
    axes.plot([], [], color=QUIET, label="perfect scaling", **PERFECT)
    return logarithmic(axes, {n for points, _ in curves for n, _ in points})


def predicted(records: list[dict]) -> Figure | None:
    """Time of a step against processes: runs as points, predictions as lines."""
    axes = panel("processes", "ms a step")
    counts = set()
    for record in records:
        found: dict[str, list[Numbers]] = {}
        for one in numbers(record):
            if one.row.measure == "model":
                for name in families_of(one, record["definition"]["sizes"]):
                    found.setdefault(name, []).append(one)
        for (name, ones), color, marker in zip(found.items(), COLORS, MARKERS, strict=False):
            ones.sort(key=lambda one: one.row.nproc)
            x = [one.row.nproc for one in ones]
            axes.plot(x, [1e3 * one.step for one in ones], marker, color=color, ms=5, label=f"{name}, measured")
            y = [1e3 * (one.step if one.row.nproc == 1 else predict(one).step) for one in ones]
            axes.plot(x, y, color=color, lw=1.2, label=f"{name}, predicted")
            counts |= {*x}
    return logarithmic(axes, counts) if counts else None


def families_of(one: Numbers, sizes) -> list[str]:
    """The curves of a row: of one grid, and of as many cells for each process."""
    size, first = [one.row.nx, one.row.ny], [*sizes[0]]
    names = [f"{size[0]} x {size[1]}"] if size in [[*each] for each in sizes] else []
    return names + ([f"{first[0]} x {first[1]} each"] if [*grown(*first, one.row.nproc)] == size else [])


def sizes(records: list[dict]) -> Figure:
    """Cell updates per second against the number of cells, with limits of memory and sizes of caches."""
    axes, _ = plot(records, "cells", RATE, processes, lambda one: (one.row.nx * one.row.ny, one.rate / 1e6))
    left, right = axes.get_xlim()
    for record in records:
        moved = bytes_per_cell(record["definition"]["dtype"])
        for platform, name in (("cpu", "triad"), ("gpu", "GPU triad")):
            if (limit := bandwidth(record, platform) * 1e3 / moved) > 0:
                axes.axhline(limit, color=INK, lw=0.8, zorder=0)
                axes.annotate(name, (1, limit), (3, 0), ("axes fraction", "data"), va="center", **WORDS)
        for cache, size in record["machine"]["caches_bytes"].items():
            if left < size / moved < right:
                axes.axvline(size / moved, color=QUIET, lw=0.6, ls=":", zorder=0)
                axes.annotate(cache, (size / moved, 1), (0, 2), ("data", "axes fraction"), ha="center", **WORDS)
    return logarithmic(axes)


def halo(records: list[dict]) -> Figure:
    """Time of an exchange against the bytes that a process sends."""
    x, y = "bytes that a process sends in an exchange", "time of an exchange (µs)"
    return logarithmic(plot(records, x, y, processes, lambda one: (one.traffic["bytes"], 1e6 * one.step))[0])


def roofline(records: list[dict]) -> Figure:
    """The limits of memory and arithmetic, and the best row of each executor; a panel for each machine.

    A step has FLOPS_PER_CELL operations for each cell and must move 48 bytes (single precision). All rows lie at this
    intensity; the roof is the measured bandwidth times the intensity.

    Reference: Williams, S., Waterman, A. and Patterson, D. (2009), Roofline, Commun. ACM 52, 65-76.
    """
    figure = Figure(figsize=(4.8 * len(records), 5.2), layout="constrained")
    for axes, record in zip(figure.subplots(1, len(records), squeeze=False)[0], records, strict=True):
        axes.set(
            xlabel="operations per byte moved", ylabel="Gflop/s", title=record["label"], xscale="log", yscale="log"
        )
        rows = sorted((one for one in numbers(record) if not one.row.oversubscribed), key=lambda one: one.rate)
        best = {(one.row.executor, one.row.platform): one for one in rows}
        intensity = FLOPS_PER_CELL / bytes_per_cell(record["definition"]["dtype"])
        x = np.geomspace(intensity / 8, intensity * 64, 200)
        limit, peak = bandwidth(record), record["peak"]["gigaflops"]
        text = f"triad {digits(limit)} GB/s, peak {digits(peak)} Gflop/s"
        axes.plot(x, np.minimum(limit * x, peak), color=INK, lw=1.2, label=text)
        gpus = max((one.row.blocks for one in rows if one.row.platform == "gpu"), default=0)
        if gpus and (limit := bandwidth(record, "gpu", gpus)) > 0:
            text = f"{counted(gpus, 'GPU')}: triad {digits(limit)} GB/s"
            axes.plot(x, limit * x, color=INK, lw=1.2, ls="--", label=text)
        axes.axvline(intensity, color=QUIET, lw=0.6, ls=":", zorder=0)
        for one, color, marker in zip(best.values(), COLORS, MARKERS, strict=False):
            where = counted(one.row.blocks, "GPU") if one.row.platform == "gpu" else processes(one)
            name = "NumPy" if one.row.executor == "reference" else f"{one.row.executor}, {where}"
            share = f": {percent(one.share)} of triad" if one.share > 0 else ""
            speed = one.rate * FLOPS_PER_CELL / 1e9
            axes.plot(intensity, speed, marker, color=color, ms=5, label=name + share)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(PLAIN)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), frameon=False, fontsize=7.5)
    return figure


def bars(records: list[dict]) -> Figure:
    """A horizontal bar for each row with the parts of its time, the first row on top."""
    found = [one for record in records for one in numbers(record)]
    labels = [one.row.label + (f"\n{one.record['label']}" if len(records) > 1 else "") for one in found]
    what = "the run" if found[0].row.measure == "output" else "the way to the end of the first step"
    axes = panel(f"seconds of {what}", "")
    axes.figure.set_size_inches(6.4, 1.5 + (0.42 if len(records) > 1 else 0.28) * len(labels))
    for place, one in enumerate(found):
        left = 0.0
        for color, (name, length) in zip(SHADES, one.parts.items(), strict=False):
            axes.barh(place, length, left=left, color=color, ec="0.15", lw=0.5, label="" if place else name)
            left += length
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.figure.legend(**LEGEND)
    return axes.figure


def processes(one: Numbers) -> str:
    """The group of a row by its number of processes or devices; the reference has one group."""
    return "" if one.row.executor == "reference" else workers(one.row.blocks, 1)


def plot(records: list[dict], x: str, y: str, group: Callable, point: Callable) -> tuple[object, list[tuple]]:
    """A panel with a curve for each machine, executor, platform and group of rows; and points and colour of each.

    `group` is a function of a row's numbers to words for its group, or None to omit it; `point` to x and y.
    """
    axes, curves, looks = panel(x, y), [], {}
    axes.set_title(records[0]["label"] if len(records) == 1 else "", fontsize=8)
    for number, record in enumerate(records):
        families: dict[str, list[tuple]] = {}
        for one in numbers(record):
            if (words := group(one)) is not None:
                name = "NumPy" if one.row.executor == "reference" else one.row.executor
                name += (" (GPU)" if one.row.platform == "gpu" else "") + (f", {words}" if words else "")
                families.setdefault(name, []).append(point(one))
        for name, points in families.items():
            look = looks.setdefault(name, len(looks))
            color, marker = COLORS[look % len(COLORS)], MARKERS[look % len(MARKERS)]
            style = {"color": color, "marker": marker, "ls": DASHES[number % len(DASHES)], "ms": 4.5, "lw": 1.3}
            machine = f", {record['label']}" if len(records) > 1 else ""
            axes.plot(*zip(*sorted(points), strict=True), label=name + machine, **style)
            curves.append((sorted(points), color))
    return axes, curves


def panel(x: str, y: str):
    """The axes of a figure of one panel with a light grid."""
    figure = Figure(figsize=(4.6, 4.0), layout="constrained")
    axes = figure.add_subplot(xlabel=x, ylabel=y)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="0.92", lw=0.6, which="major")
    axes.set_axisbelow(True)
    return axes


def logarithmic(axes, counts=()) -> Figure:
    """The figure with logarithmic axes, plain numbers and a legend; `counts` are the ticks of an axis of counts."""
    axes.set(xscale="log", yscale="log")
    axes.margins(y=0.09)
    if counts:
        ticks: list[float] = []
        for n in sorted(counts):  # leaves out labels that would touch
            ticks += [n] if not ticks or n >= 1.3 * ticks[-1] else []
        axes.xaxis.set(major_locator=FixedLocator(ticks), minor_locator=NullLocator(), major_formatter=PLAIN)
    low, high = axes.get_ylim()
    subs = (1, 2, 5) if high < 200 * low else (1,)
    axes.yaxis.set(major_locator=LogLocator(subs=subs), major_formatter=PLAIN, minor_formatter=NullFormatter())
    axes.figure.legend(**LEGEND)
    return axes.figure


#: {file name: sweep of the figure, function that draws it or returns None}.
FIGURES: dict[str, tuple[str, Callable[[list[dict]], Figure | None]]] = {
    "speedup": ("table", speedup),
    "roofline": ("table", roofline),
    "strong": ("strong", scaling),
    "weak": ("weak", scaling),
    "scaling": ("scaling", predicted),
    "sizes": ("sizes", sizes),
    "halo": ("halo", halo),
    "output": ("output", bars),
    "start": ("start", bars),
}
