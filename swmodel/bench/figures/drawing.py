"""Figures of results: speed-up beside the published curve, roofline, and one for each other kind of sweep."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from ..plotting.style import INK, QUIET, RC
from .numbers import Numbers, numbers
from .roofline import roofline
from .sweeps import published
from .tables import digits

#: Colours that readers with any colour vision tell apart (Okabe and Ito 2008); machines differ by their dashes.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES = ("-", "--", "-.", ":")
MARKERS = "osD^vP"
SIZE = (4.6, 4.0)
PARTS = ("Python", "imports and fields", "compilation", "one step")


def draw(records: list[dict], folder) -> list[Path]:
    """Draw what the results allow, as PNG and PDF files in the folder; the files. Nothing for rows without numbers."""
    written = []
    with matplotlib.rc_context(RC):
        for name, sweeps, function in FIGURES:
            chosen = [record for record in records if record["sweep"] in sweeps and numbers(record)]
            figure = function(chosen) if chosen else None
            for kind in ("png", "pdf") if figure else ():
                path = Path(folder) / f"{name}.{kind}"
                figure.savefig(path, bbox_inches="tight", metadata={"CreationDate": None} if kind == "pdf" else None)
                written.append(path)
    return written


def speedup(records: list[dict]) -> Figure | None:
    """Speed-up over NumPy against processes, with the published curves."""
    curves = [
        (name, [(one.row.nproc, one.speedup) for one in found if one.speedup], look)
        for name, found, look in families(records, lambda one: one.row.executor != "reference" and not one.row.threads)
    ]
    curves = [curve for curve in curves if curve[1]]
    if not curves:
        return None
    figure, axes = panel("processes (CPU) or devices (GPU)", "speed-up over NumPy on one process")
    there = published()
    for platform, marker, name in (("cpu", "o", there["cpu"]), ("gpu", "s", there["gpu"])):
        rows = [row for row in there["row"] if row["platform"] == platform]
        points = [(row["processes"], row["speedup"]) for row in rows]
        axes.plot(
            *zip(*points, strict=True),
            color="0.6",
            marker=marker,
            mfc="white",
            ms=4.5,
            lw=1,
            label=f"published, {name}",
        )
    ticks = {row["processes"] for row in there["row"]}
    for name, points, look in curves:
        axes.plot(*zip(*sorted(points), strict=True), label=name, **look)
        ticks |= {n for n, _ in points}
        last = max(points)
        axes.annotate(digits(last[1]), last, (6, 0), textcoords="offset points", va="center", color=look["color"])
    for _, found, look in families(records, lambda one: one.row.threads == 1 and one.row.nproc == 1):
        axes.plot(1, found[0].speedup, **look | {"mfc": "white", "ls": ""})
    axes.plot([], [], "o", color=QUIET, mfc="white", ms=4.5, label="1 process on 1 core")
    axes.set(xscale="log", yscale="log")
    counts(axes, ticks)
    plain_powers(axes.yaxis)
    legend(axes)
    return figure


def efficiency(records: list[dict]) -> Figure | None:
    """Cell updates per second against cores, with the line of perfect scaling from each first point."""
    figure, axes = panel("cores (CPU) or devices (GPU)", "million cell updates per second")
    ticks, shared, perfect = set(), False, {"lw": 0.7, "ls": (0, (1, 2)), "zorder": 0}
    for name, found, look in families(records, lambda one: one.row.executor != "reference"):
        points = sorted((one.cores, one.rate / 1e6) for one in found if one.cores == one.row.nproc)
        others = sorted((one.cores, one.rate / 1e6) for one in found if one.cores != one.row.nproc)
        if others:
            axes.plot(*zip(*others, strict=True), **look | {"mfc": "white", "ls": ""})
            shared = True
        if points:
            axes.plot(*zip(*points, strict=True), label=name, **look)
            first, last = points[0], points[-1][0]
            axes.plot([first[0], last], [first[1], first[1] * last / first[0]], color=look["color"], **perfect)
        ticks |= {n for n, _ in points + others}
    if shared:
        axes.plot([], [], "o", color=QUIET, mfc="white", ms=4.5, label="several threads for each process")
    axes.plot([], [], color=QUIET, label="perfect scaling", **perfect)
    axes.set(xscale="log", yscale="log")
    counts(axes, ticks)
    plain_powers(axes.yaxis)
    legend(axes)
    return figure


def sizes(records: list[dict]) -> Figure | None:
    """Cell updates per second against the number of cells, with what memory allows and where the caches end."""
    figure, axes = panel("cells", "million cell updates per second")
    for name, found, look in families(records, lambda one: True, with_processes=True):
        points = sorted((one.row.nx * one.row.ny, one.rate / 1e6) for one in found)
        axes.plot(*zip(*points, strict=True), label=name, **look)
    for record in records:
        limit = median(one["gigabytes_per_second"] for one in record["bandwidth"]) * 1e3 / 48
        axes.axhline(limit, color=INK, lw=0.8, zorder=0)
        axes.annotate(
            "triad / 48 B", (0.99, limit), (0, 3), ("axes fraction", "data"), textcoords="offset points", ha="right"
        )
        left, right = axes.get_xlim()
        for cache, size in record["machine"]["caches_bytes"].items():
            if left < size / 48 < right:
                axes.axvline(size / 48, color=QUIET, lw=0.6, ls=":", zorder=0)
                axes.annotate(cache, (size / 48, 0.02), (2, 0), ("data", "axes fraction"), textcoords="offset points")
    axes.set(xscale="log", yscale="log")
    plain_powers(axes.yaxis)
    legend(axes)
    return figure


def halo(records: list[dict]) -> Figure | None:
    """Time of an exchange against the bytes that a process sends."""
    figure, axes = panel("bytes that a process sends in an exchange", "time of an exchange (µs)")
    for name, found, look in families(records, lambda one: bool(one.entry.get("traffic")), with_processes=True):
        points = sorted((one.entry["traffic"]["bytes"], 1e6 * one.step) for one in found)
        axes.plot(*zip(*points, strict=True), label=name.replace("xla, ", ""), **look)
    axes.set(xscale="log", yscale="log")
    plain_powers(axes.yaxis)
    legend(axes)
    return figure


def output(records: list[dict]) -> Figure:
    """Length of a run with and without files."""
    found = [(record, one) for record in records for one in numbers(record)]
    names = [bar_name(record, one, records) for record, one in found]
    figure, axes = bars(names, "seconds of the run")
    for place, (_, one) in enumerate(found):
        in_steps = median(sample["step_seconds"] for sample in one.entry["samples"])
        whole = one.step * one.row.steps
        axes.barh(place, in_steps, color=COLORS[0], label="" if place else "time steps")
        axes.barh(place, max(0, whole - in_steps), left=in_steps, color=COLORS[1], label="" if place else "writing")
    legend(axes)
    return figure


def start(records: list[dict]) -> Figure:
    """What the time to the first step is spent on."""
    found = [(record, one) for record in records for one in numbers(record)]
    names = [bar_name(record, one, records) for record, one in found]
    figure, axes = bars(names, "seconds to the end of the first step")
    for place, (_, one) in enumerate(found):
        samples, left = one.entry["samples"], 0.0
        parts = [median(sample[f"{name}_seconds"] for sample in samples) for name in ("start", "build", "compile")]
        parts.append(max(0.0, median(one.first_step) - sum(parts)))
        for length, color, name in zip(parts, COLORS, PARTS, strict=False):
            axes.barh(place, length, left=left, color=color, label="" if place else name)
            left += length
    legend(axes)
    return figure


#: Name of the files, the sweeps that the figure shows, and the function that draws it.
FIGURES: tuple[tuple[str, tuple[str, ...], Callable], ...] = (
    ("speedup", ("table",), speedup),
    ("roofline", ("table",), roofline),
    ("strong", ("strong",), efficiency),
    ("weak", ("weak",), efficiency),
    ("sizes", ("sizes",), sizes),
    ("halo", ("halo",), halo),
    ("output", ("output",), output),
    ("start", ("start",), start),
)


def families(records, wanted: Callable, with_processes: bool = False) -> Iterator[tuple[str, list[Numbers], dict]]:
    """Name, rows and look of each curve: rows of one machine, executor and platform (and number of processes)."""
    look, colors = 0, {}
    for number, record in enumerate(records):
        groups: dict[tuple, list[Numbers]] = {}
        for one in numbers(record):
            if one.seconds and wanted(one):
                processes = one.row.nproc if with_processes else 0
                groups.setdefault((one.row.executor, one.row.platform, processes), []).append(one)
        for (executor, platform, processes), found in groups.items():
            name = "NumPy" if executor == "reference" else executor + (" (GPU)" if platform == "gpu" else "")
            name += (
                f", {processes} process{'es' if processes > 1 else ''}" if processes and executor != "reference" else ""
            )
            name += f", {record['label']}" if len(records) > 1 or not with_processes else ""
            look = colors.setdefault((executor, platform, processes), len(colors))
            style = {"color": COLORS[look % len(COLORS)], "ls": DASHES[number % len(DASHES)]}
            yield name, found, style | {"marker": MARKERS[look % len(MARKERS)], "ms": 4.5, "lw": 1.3}


def bar_name(record: dict, one: Numbers, records: list[dict]) -> str:
    """What a bar stands for."""
    return one.row.label + (f"\n{record['label']}" if len(records) > 1 else "")


def panel(x: str, y: str) -> tuple[Figure, object]:
    """A figure of one panel with a light grid."""
    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.add_subplot(xlabel=x, ylabel=y)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="0.92", lw=0.6, which="major")
    axes.set_axisbelow(True)
    return figure, axes


def bars(names: list[str], x: str) -> tuple[Figure, object]:
    """A figure for horizontal bars, the first one on top."""
    figure, axes = panel(x, "")
    figure.set_size_inches(6.4, 1.5 + 0.28 * len(names))
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    return figure, axes


def counts(axes, ticks):
    """Ticks of an axis of whole numbers; those of small steps in between are left out where they would touch."""
    kept = []
    for tick in sorted(ticks):
        if not kept or tick >= 1.3 * kept[-1]:
            kept.append(tick)
    axes.xaxis.set_major_locator(FixedLocator(kept))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def plain_powers(axis):
    """1, 2, 5, 10, 20 as they are, not as powers of ten; 1, 10, 100 alone on a long axis."""
    low, high = axis.get_view_interval()
    long = LogLocator(subs=(1, 2, 5) if high < 200 * low else (1,), numticks=20)
    axis.set_major_locator(long if high > 8 * low else MaxNLocator(5))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}".replace(",", " ")))
    axis.set_minor_formatter(NullFormatter())


def legend(axes):
    """A legend below the panel, where it hides nothing."""
    axes.figure.legend(loc="outside lower center", frameon=False, fontsize=7.5, ncols=1)
