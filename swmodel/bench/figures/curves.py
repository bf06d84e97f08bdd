"""Figures with curves and bars: speed-up beside the published curves, scaling, speed against size, exchange; parts.

Colours differ for any colour vision (Okabe and Ito 2008), and markers in greyscale. Machines differ by dashes.
Published curves are light, thin and hollow.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from ...plotting.style import INK, QUIET
from ..numbers import Numbers, bandwidth, bytes_per_cell, numbers
from ..sweeps import published
from ..text import digits

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES = ("-", "--", "-.", ":")
MARKERS = "osD^vP"
#: The look of a published curve, of the line of perfect scaling, and of words beside a point.
PUBLISHED = {"color": "0.62", "mfc": "white", "ms": 4, "lw": 0.9, "zorder": 1.5}
PERFECT = {"lw": 0.7, "ls": (0, (1, 2)), "zorder": 0}
WORDS = {"textcoords": "offset points", "fontsize": 7.5}
#: Shades of bars from dark to light, so that parts differ in greyscale, too.
SHADES = ("#08519C", "#6BAED6", "#C6DBEF", "#FFFFFF")
#: Numbers without powers of ten, with spaces between thousands.
PLAIN = FuncFormatter(lambda value, _: f"{value:,.10g}".replace(",", " "))


def speedup(records: list[dict]) -> Figure | None:
    """Speed-up over NumPy against processes, with the published curves; the last value of each curve is written."""
    figure, axes = panel("processes (CPU) or devices (GPU)", "speed-up over NumPy on one process")

    def group(one: Numbers) -> str | None:
        if one.row.executor == "reference" or not one.speedup > 0:
            return None
        return "more ranks than cores" if one.row.oversubscribed else "1 core each" if one.row.threads else ""

    curves = plot(axes, records, group, lambda one: (one.row.blocks, one.speedup))
    if not curves:
        return None
    there = published()
    for platform, marker in (("cpu", "o"), ("gpu", "s")):
        points = [(row["processes"], row["speedup"]) for row in there["row"] if row["platform"] == platform]
        name = f"published, {there[platform]}, {there['nx']} x {there['ny']}"
        axes.plot(*zip(*points, strict=True), label=name, marker=marker, **PUBLISHED)
        curves.append((points, QUIET))
    for points, color in curves:
        axes.annotate(digits(points[-1][1]), points[-1], (0, 5), ha="center", color=color, **WORDS)
    logarithmic(axes, {n for points, _ in curves for n, _ in points})
    return figure


def scaling(records: list[dict]) -> Figure | None:
    """Cell updates per second against cores, with the line of perfect scaling from each first point."""
    figure, axes = panel("cores (CPU) or devices (GPU)", "million cell updates per second")

    def group(one: Numbers) -> str | None:
        if one.row.executor == "reference":
            return None
        return "" if one.cores == one.row.blocks else "several threads for each process"

    curves = plot(axes, records, group, lambda one: (one.cores, one.rate / 1e6))
    for points, color in curves:
        (first, rate), last = points[0], points[-1][0]
        axes.plot([first, last], [rate, rate * last / first], color=color, **PERFECT)
    axes.plot([], [], color=QUIET, label="perfect scaling", **PERFECT)
    logarithmic(axes, {n for points, _ in curves for n, _ in points})
    return figure if curves else None


def sizes(records: list[dict]) -> Figure:
    """Cell updates per second against the number of cells, with what memory allows and where the caches end."""
    figure, axes = panel("cells", "million cell updates per second")
    plot(axes, records, processes, lambda one: (one.row.nx * one.row.ny, one.rate / 1e6))
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
    logarithmic(axes)
    return figure


def halo(records: list[dict]) -> Figure:
    """Time of an exchange against the bytes that a process sends."""
    figure, axes = panel("bytes that a process sends in an exchange", "time of an exchange (µs)")
    plot(axes, records, processes, lambda one: (one.traffic["bytes"], 1e6 * one.step))
    logarithmic(axes)
    return figure


def output(records: list[dict]) -> Figure:
    """Length of a run with and without files."""

    def parts(one: Numbers) -> tuple[float, float]:
        steps = median(one.samples("step_seconds"))
        return steps, max(0.0, one.step * one.row.steps - steps)

    return bars(records, parts, ("time steps", "writing"), "seconds of the run")


def start(records: list[dict]) -> Figure:
    """The parts of the time to the first step."""
    names = ("start and imports", "MPI and fields", "compilation", "one step")
    return bars(records, lambda one: one.start_parts, names, "seconds to the end of the first step")


def bars(records: list[dict], parts: Callable, names: tuple[str, ...], x: str) -> Figure:
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


def processes(one: Numbers) -> str:
    """The group of a row that has the same number of processes as others; of the reference there is one."""
    n = one.row.blocks
    return "" if one.row.executor == "reference" else f"{n} process{'es' if n > 1 else ''}"


def plot(axes, records: list[dict], group: Callable, point: Callable) -> list[tuple[list, str]]:
    """A curve for each machine, executor, platform and group of rows; returns the points and colour of each.

    Args:
        group: function of a row's numbers to words for the group; None for a row that is left out.
        point: function of a row's numbers to x and y.
    """
    curves, looks = [], {}
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
    return curves


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
    axes.margins(y=0.09)
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
