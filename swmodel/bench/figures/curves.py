"""Figures with curves: speed-up beside the published curves, scaling, speed against size, time of the exchange.

Colours differ for any colour vision (Okabe and Ito 2008), and markers in greyscale. Machines differ by dashes.
Published curves are light, thin and hollow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from ...plotting.style import INK, QUIET
from ..numbers import Numbers, bandwidth, bytes_per_cell, numbers
from ..sweeps import published
from ..text import counted, digits

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES = ("-", "--", "-.", ":")
MARKERS = "osD^vP"
#: The look of a published curve, and of the line of perfect scaling.
PUBLISHED = {"color": "0.62", "mfc": "white", "ms": 4, "lw": 0.9, "zorder": 1.5}
PERFECT = {"lw": 0.7, "ls": (0, (1, 2)), "zorder": 0}
#: The look of words beside a point.
WORDS = {"textcoords": "offset points", "fontsize": 7.5}
#: Numbers without powers of ten, with spaces between thousands.
PLAIN = FuncFormatter(lambda value, _: f"{value:,.10g}".replace(",", " "))


def families(records, with_processes: bool = False) -> Iterator[tuple[str, list[Numbers], dict]]:
    """Name, rows and look of each curve: rows of one machine, executor and platform (and number of processes)."""
    looks: dict[tuple, int] = {}
    for number, record in enumerate(records):
        groups: dict[tuple, list[Numbers]] = {}
        for one in numbers(record):
            key = (one.row.executor, one.row.platform, one.row.blocks if with_processes else 0)
            groups.setdefault(key, []).append(one)
        for key, found in groups.items():
            executor, platform, processes = key
            name = "NumPy" if executor == "reference" else executor + (" (GPU)" if platform == "gpu" else "")
            if processes and executor != "reference":
                name += f", {processes} process{'es' if processes > 1 else ''}"
            if len(records) > 1 or not with_processes:
                name += f", {record['label']}"
            look = looks.setdefault(key, len(looks))
            style = {"color": COLORS[look % len(COLORS)], "marker": MARKERS[look % len(MARKERS)]}
            yield name, found, style | {"ls": DASHES[number % len(DASHES)], "ms": 4.5, "lw": 1.3}


def speedup(records: list[dict]) -> Figure | None:
    """Speed-up over NumPy against processes, with the published curves; the last value of each curve is written."""
    there, ticks = published(), set()
    figure, axes = panel("processes (CPU) or devices (GPU)", "speed-up over NumPy on one process")

    def curve(label: str, points: list[tuple[float, float]], look: dict):
        axes.plot(*zip(*points, strict=True), label=label, **look)
        axes.annotate(digits(points[-1][1]), points[-1], (0, 5), ha="center", color=look["color"], **WORDS)
        ticks.update(n for n, _ in points)

    for platform, marker in (("cpu", "o"), ("gpu", "s")):
        points = [(row["processes"], row["speedup"]) for row in there["row"] if row["platform"] == platform]
        curve(f"published, {there[platform]}, {there['nx']} x {there['ny']}", points, PUBLISHED | {"marker": marker})
    drawn, marks = False, {}
    for name, found, look in families(records):
        rows = [one for one in found if one.row.executor != "reference" and one.speedup]
        if points := sorted((one.row.blocks, one.speedup) for one in rows if not one.row.threads):
            curve(f"{name}, {rows[0].row.nx} x {rows[0].row.ny}", points, look)
            drawn = True
        for one in rows:
            if one.row.threads == 1 and one.row.blocks == 1:
                marks["1 process on 1 core"] = {"marker": "_", "ms": 11, "mew": 1.6, "ls": ""}
                axes.plot(1, one.speedup, color=look["color"], **marks["1 process on 1 core"])
            if one.row.oversubscribed:
                marks["more ranks than cores"] = {"marker": "o", "mfc": "white", "ms": 6, "ls": ""}
                axes.plot(one.row.blocks, one.speedup, color=look["color"], **marks["more ranks than cores"])
    for label, look in marks.items():
        axes.plot([], [], color=INK, label=label, **look)
    axes.margins(y=0.09)
    logarithmic(axes, ticks)
    return figure if drawn else None


def scaling(records: list[dict]) -> Figure:
    """Cell updates per second against cores, with the line of perfect scaling from each first point."""
    figure, axes = panel("cores (CPU) or devices (GPU)", "million cell updates per second")
    ticks, threaded = set(), []
    for name, found, look in families(records):
        rows = [one for one in found if one.row.executor != "reference"]
        points = sorted((one.cores, one.rate / 1e6) for one in rows if one.cores == one.row.blocks)
        threaded = sorted((one.cores, one.rate / 1e6) for one in rows if one.cores != one.row.blocks)
        ticks |= {n for n, _ in points + threaded}
        if threaded:
            label = "several threads for each process"
            axes.plot(*zip(*threaded, strict=True), **look | {"mfc": "white", "ls": ""}, label=f"{name}, {label}")
        if points:
            axes.plot(*zip(*points, strict=True), label=name, **look)
            (first, rate), last = points[0], points[-1][0]
            axes.plot([first, last], [rate, rate * last / first], color=look["color"], **PERFECT)
    axes.plot([], [], color=QUIET, label="perfect scaling", **PERFECT)
    logarithmic(axes, ticks)
    return figure


def sizes(records: list[dict]) -> Figure:
    """Cell updates per second against the number of cells, with what memory allows and where the caches end."""
    figure, axes = panel("cells", "million cell updates per second")
    plot(axes, records, lambda one: (one.row.nx * one.row.ny, one.rate / 1e6))
    left, right = axes.get_xlim()
    for record in records:
        moved = bytes_per_cell(record["definition"]["dtype"])
        for platform, name in (("cpu", "triad"), ("gpu", "GPU triad")):
            if limit := bandwidth(record, platform):
                axes.axhline(limit * 1e3 / moved, color=INK, lw=0.8, zorder=0)
                place = (1, limit * 1e3 / moved)
                axes.annotate(name, place, (3, 0), ("axes fraction", "data"), va="center", **WORDS)
        for cache, size in record["machine"]["caches_bytes"].items():
            if left < size / moved < right:
                axes.axvline(size / moved, color=QUIET, lw=0.6, ls=":", zorder=0)
                axes.annotate(cache, (size / moved, 1), (0, 2), ("data", "axes fraction"), ha="center", **WORDS)
    logarithmic(axes)
    return figure


def halo(records: list[dict]) -> Figure | None:
    """Time of an exchange against the bytes that a process sends."""
    figure, axes = panel("bytes that a process sends in an exchange", "time of an exchange (µs)")
    plot(axes, records, lambda one: (one.entry["traffic"]["bytes"], 1e6 * one.step), lambda one: "traffic" in one.entry)
    logarithmic(axes)
    return figure if axes.lines else None


def plot(axes, records: list[dict], point: Callable, wanted: Callable = lambda one: True):
    """A curve for each machine, executor, platform and number of processes through the points of its rows."""
    for name, found, look in families(records, with_processes=True):
        if points := sorted(point(one) for one in found if wanted(one)):
            axes.plot(*zip(*points, strict=True), label=name, **look)


def panel(x: str, y: str) -> tuple[Figure, object]:
    """A figure of one panel with a light grid."""
    figure = Figure(figsize=(4.6, 4.0), layout="constrained")
    axes = figure.add_subplot(xlabel=x, ylabel=y)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="0.92", lw=0.6, which="major")
    axes.set_axisbelow(True)
    return figure, axes


def logarithmic(axes, counts=()):
    """Logarithmic axes with plain numbers and a legend below; `counts` are the ticks of a horizontal axis of counts."""
    axes.set(xscale="log", yscale="log")
    if counts:
        kept: list[float] = []
        for tick in sorted(counts):  # those that would touch are left out
            kept += [tick] if not kept or tick >= 1.3 * kept[-1] else []
        axes.xaxis.set(major_locator=FixedLocator(kept), minor_locator=NullLocator(), major_formatter=PLAIN)
    low, high = axes.get_ylim()
    subs = (1, 2, 5) if high < 200 * low else (1,)
    axes.yaxis.set(major_locator=LogLocator(subs=subs), major_formatter=PLAIN, minor_formatter=NullFormatter())
    legend(axes.figure)


def legend(figure: Figure):
    """A legend below the panel, where it hides nothing."""
    figure.legend(loc="outside lower center", frameon=False, fontsize=7.5, ncols=1)
