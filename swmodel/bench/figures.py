"""Figures of benchmark results: measured and published curves, the roofline, and bars with the parts of a duration.

Readers with any colour vision can distinguish the colours (Okabe and Ito 2008); the markers also differ in greyscale.
Each machine has a line style. Published rows have thin, light lines and hollow markers.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from ..model.progress import describe_processes
from ..plotting.style import DARK_GREY, MID_GREY, RC_PARAMS
from .row_statistics import RowStatistics, ab2_bytes_per_cell, best_bandwidth, row_statistics
from .scaling import predict_step
from .sweeps import grow_grid, read_published_table
from .text import format_count, format_number, format_percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Additions, multiplications and divisions per cell in an AB2 step of the jet by the executor `xla`.
FLOPS_PER_CELL = 98
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES = ("-", "--", "-.", ":")
MARKERS = "osD^vP"
#: Shades of bars from dark to light, so that parts also differ in greyscale.
SHADES = ("#08519C", "#6BAED6", "#C6DBEF", "#FFFFFF")
#: Styles of published rows, of the line of perfect scaling, and of text next to a point.
PUBLISHED_STYLE: dict[str, Any] = {"color": "0.62", "mfc": "white", "ms": 4, "lw": 0.9, "zorder": 1.5}
PERFECT_SCALING_STYLE: dict[str, Any] = {"lw": 0.7, "ls": (0, (1, 2)), "zorder": 0}
ANNOTATION_STYLE: dict[str, Any] = {"textcoords": "offset points", "fontsize": 7.5}
#: A legend below the panel, where it hides nothing.
LEGEND_STYLE = {"loc": "outside lower center", "frameon": False, "fontsize": 7.5}
RATE_LABEL = "million cell updates per second"
#: Number format without powers of ten, with spaces between thousands.
PLAIN_FORMATTER = FuncFormatter(lambda value, _: f"{value:,.10g}".replace(",", " "))


def draw_figures(records: list[dict], folder) -> list[Path]:
    """Draw all figures that the results allow, as PNG and PDF files in the folder; returns their paths."""
    paths = []
    with matplotlib.rc_context(RC_PARAMS):
        for name, (sweep, function) in FIGURES.items():
            records_of_sweep = [record for record in records if record["sweep"] == sweep and row_statistics(record)]
            figure = function(records_of_sweep) if records_of_sweep else None
            if figure is None:
                continue
            for kind in ("png", "pdf"):
                path = Path(folder) / f"{name}.{kind}"
                figure.savefig(path, bbox_inches="tight", metadata={"CreationDate": None} if kind == "pdf" else None)
                paths.append(path)
    return paths


def draw_speedup(records: list[dict]) -> Figure | None:
    """Speed-up over NumPy against processes, with the published curves; the last point of each curve is labelled."""
    published_values = read_published_table()
    size = published_values["nx"], published_values["ny"]

    def group_label(stats: RowStatistics) -> str | None:
        row = stats.row
        if row.executor == "reference" or not stats.speedup > 0:
            return None
        marks = [] if (row.nx, row.ny) == size else [f"{row.nx} x {row.ny}"]
        marks += ["1 core each"] if row.threads else []
        return ", ".join(marks + (["more ranks than cores"] if row.oversubscribed else []))

    x_label, y_label = "processes (CPU) or devices (GPU)", "speed-up over NumPy on one process"
    axes, curves = draw_curves(
        records, x_label, y_label, group_label, lambda stats: (stats.row.n_blocks, stats.speedup)
    )
    if not curves:
        return None
    for platform, marker in (("cpu", "o"), ("gpu", "s")):
        points = [(row["processes"], row["speedup"]) for row in published_values["row"] if row["platform"] == platform]
        name = f"published, {published_values[platform]}, {size[0]} x {size[1]}"
        axes.plot(*zip(*points, strict=True), label=name, marker=marker, **PUBLISHED_STYLE)
        curves.append((points, MID_GREY))
    for points, colour in [curve for curve in curves if len(curve[0]) > 1]:
        axes.annotate(format_number(points[-1][1]), points[-1], (0, 5), ha="center", color=colour, **ANNOTATION_STYLE)
    return set_log_axes(axes, {n for points, _ in curves for n, _ in points})


def draw_scaling(records: list[dict]) -> Figure:
    """Cell updates per second against cores, with lines of perfect scaling from the first point of each curve."""

    def group_label(stats: RowStatistics) -> str:
        return "" if stats.cores == stats.row.n_blocks else "several threads per process"

    def point(stats: RowStatistics) -> tuple[float, float]:
        return stats.cores, stats.cells_per_second / 1e6

    axes, curves = draw_curves(records, "cores (CPU) or devices (GPU)", RATE_LABEL, group_label, point)
    for points, colour in curves:
        (first, rate), last = points[0], points[-1][0]
        axes.plot([first, last], [rate, rate * last / first], color=colour, **PERFECT_SCALING_STYLE)
    axes.plot([], [], color=MID_GREY, label="perfect scaling", **PERFECT_SCALING_STYLE)
    return set_log_axes(axes, {n for points, _ in curves for n, _ in points})


def draw_prediction(records: list[dict]) -> Figure | None:
    """Time of a step against processes: measured times as points, predictions as lines."""
    axes = make_axes("processes", "ms per step")
    process_counts = set()
    for record in records:
        rows_by_curve: dict[str, list[RowStatistics]] = {}
        for stats in row_statistics(record):
            if stats.row.measure == "model":
                for name in curve_names(stats, record["definition"]["sizes"]):
                    rows_by_curve.setdefault(name, []).append(stats)
        for (name, curve_rows), colour, marker in zip(rows_by_curve.items(), COLOURS, MARKERS, strict=False):
            curve_rows.sort(key=lambda stats: stats.row.nproc)
            x = [stats.row.nproc for stats in curve_rows]
            y = [1e3 * stats.seconds_per_step for stats in curve_rows]
            axes.plot(x, y, marker, color=colour, ms=5, label=f"{name}, measured")
            predictions = [stats if stats.row.nproc == 1 else predict_step(stats) for stats in curve_rows]
            y = [1e3 * each.seconds_per_step for each in predictions]
            axes.plot(x, y, color=colour, lw=1.2, label=f"{name}, predicted")
            process_counts |= {*x}
    return set_log_axes(axes, process_counts) if process_counts else None


def curve_names(stats: RowStatistics, sizes) -> list[str]:
    """Names of the curves to which a row belongs: one for its grid, one for a fixed number of cells per process."""
    size, (nx, ny) = (stats.row.nx, stats.row.ny), sizes[0]
    names = [f"{size[0]} x {size[1]}"] if size in [tuple(each) for each in sizes] else []
    return names + ([f"{nx} x {ny} each"] if grow_grid(nx, ny, stats.row.nproc) == size else [])


def draw_sizes(records: list[dict]) -> Figure:
    """Cell updates per second against the number of cells, with the limits of memory bandwidth and sizes of caches."""

    def point(stats: RowStatistics) -> tuple[float, float]:
        return stats.row.nx * stats.row.ny, stats.cells_per_second / 1e6

    axes, _ = draw_curves(records, "cells", RATE_LABEL, process_group, point)
    left, right = axes.get_xlim()
    for record in records:
        cell_bytes = ab2_bytes_per_cell(record["definition"]["dtype"])
        for platform, name in (("cpu", "triad"), ("gpu", "GPU triad")):
            if (limit := best_bandwidth(record, platform) * 1e3 / cell_bytes) > 0:
                axes.axhline(limit, color=DARK_GREY, lw=0.8, zorder=0)
                axes.annotate(name, (1, limit), (3, 0), ("axes fraction", "data"), va="center", **ANNOTATION_STYLE)
        for cache, size in record["machine"]["caches_bytes"].items():
            cells = size / cell_bytes
            if left < cells < right:
                axes.axvline(cells, color=MID_GREY, lw=0.6, ls=":", zorder=0)
                axes.annotate(cache, (cells, 1), (0, 2), ("data", "axes fraction"), ha="center", **ANNOTATION_STYLE)
    return set_log_axes(axes)


def draw_halo(records: list[dict]) -> Figure:
    """Time of a halo exchange against the bytes that a process sends."""

    def point(stats: RowStatistics) -> tuple[float, float]:
        return stats.traffic["bytes"], 1e6 * stats.seconds_per_step

    x_label, y_label = "bytes that a process sends in an exchange", "time of an exchange (µs)"
    axes, _ = draw_curves(records, x_label, y_label, process_group, point)
    return set_log_axes(axes)


def draw_roofline(records: list[dict]) -> Figure:
    """The limits of memory and arithmetic, and the fastest row of each executor and platform, in a panel per record.

    A step has FLOPS_PER_CELL operations per cell and must move 48 bytes (single precision). All rows have this
    intensity; the roof is the measured bandwidth times the intensity, up to the peak.

    Reference: Williams, S., Waterman, A. and Patterson, D. (2009), Roofline, Commun. ACM 52, 65-76.
    """
    figure = Figure(figsize=(4.8 * len(records), 5.2), layout="constrained")
    for axes, record in zip(figure.subplots(1, len(records), squeeze=False)[0], records, strict=True):
        axes.set(xlabel="operations per byte moved", ylabel="Gflop/s", title=record["label"])
        axes.set(xscale="log", yscale="log")
        rows = [stats for stats in row_statistics(record) if not stats.row.oversubscribed]
        rows.sort(key=lambda stats: stats.cells_per_second)
        best = {(stats.row.executor, stats.row.platform): stats for stats in rows}
        intensity = FLOPS_PER_CELL / ab2_bytes_per_cell(record["definition"]["dtype"])
        x = np.geomspace(intensity / 8, intensity * 64, 200)
        limit, peak = best_bandwidth(record), record["peak"]["gigaflops"]
        text = f"triad {format_number(limit)} GB/s, peak {format_number(peak)} Gflop/s"
        axes.plot(x, np.minimum(limit * x, peak), color=DARK_GREY, lw=1.2, label=text)
        gpus = max((stats.row.n_blocks for stats in rows if stats.row.platform == "gpu"), default=0)
        if gpus and (limit := best_bandwidth(record, "gpu", gpus)) > 0:
            text = f"{format_count(gpus, 'GPU')}: triad {format_number(limit)} GB/s"
            axes.plot(x, limit * x, color=DARK_GREY, lw=1.2, ls="--", label=text)
        axes.axvline(intensity, color=MID_GREY, lw=0.6, ls=":", zorder=0)
        for stats, colour, marker in zip(best.values(), COLOURS, MARKERS, strict=False):
            is_gpu = stats.row.platform == "gpu"
            processors = format_count(stats.row.n_blocks, "GPU") if is_gpu else process_group(stats)
            name = "NumPy" if stats.row.executor == "reference" else f"{stats.row.executor}, {processors}"
            share = f": {format_percent(stats.bandwidth_fraction)} of triad" if stats.bandwidth_fraction > 0 else ""
            speed = stats.cells_per_second * FLOPS_PER_CELL / 1e9
            axes.plot(intensity, speed, marker, color=colour, ms=5, label=name + share)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(PLAIN_FORMATTER)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), frameon=False, fontsize=7.5)
    return figure


def draw_bars(records: list[dict]) -> Figure:
    """A horizontal bar for each row with the parts of its time, the first row on top."""
    finished_rows = [stats for record in records for stats in row_statistics(record)]
    labels = [stats.row.label + (f"\n{stats.record['label']}" if len(records) > 1 else "") for stats in finished_rows]
    subject = "the run" if finished_rows[0].row.measure == "output" else "the start, to the end of the first step"
    axes = make_axes(f"seconds of {subject}", "")
    axes.figure.set_size_inches(6.4, 1.5 + (0.42 if len(records) > 1 else 0.28) * len(labels))
    for position, stats in enumerate(finished_rows):
        left = 0.0
        for colour, (name, duration) in zip(SHADES, stats.part_seconds.items(), strict=False):
            axes.barh(position, duration, left=left, color=colour, ec="0.15", lw=0.5, label="" if position else name)
            left += duration
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.figure.legend(**LEGEND_STYLE)
    return axes.figure


def process_group(stats: RowStatistics) -> str:
    """The group of a row, named after its number of processes or devices; empty for the reference."""
    return "" if stats.row.executor == "reference" else describe_processes(stats.row.n_blocks, 1)


def draw_curves(
    records: list[dict], x_label: str, y_label: str, group_of: Callable, point_of: Callable
) -> tuple[Axes, list[tuple]]:
    """Draw a curve per record, executor, platform and group; returns the axes, and (points, colour) of each curve.

    `group_of` maps the RowStatistics of a row to the name of its group, or to None to omit the row; `point_of` maps
    them to (x, y).
    """
    axes, curves, style_indices = make_axes(x_label, y_label), [], dict[str, int]()
    axes.set_title(records[0]["label"] if len(records) == 1 else "", fontsize=8)
    for number, record in enumerate(records):
        points_by_curve: dict[str, list[tuple]] = {}
        for stats in row_statistics(record):
            if (group_text := group_of(stats)) is not None:
                name = "NumPy" if stats.row.executor == "reference" else stats.row.executor
                name += (" (GPU)" if stats.row.platform == "gpu" else "") + (f", {group_text}" if group_text else "")
                points_by_curve.setdefault(name, []).append(point_of(stats))
        for name, points in points_by_curve.items():
            style_index = style_indices.setdefault(name, len(style_indices))
            colour, marker = COLOURS[style_index % len(COLOURS)], MARKERS[style_index % len(MARKERS)]
            line_style = {"color": colour, "marker": marker, "ls": DASHES[number % len(DASHES)], "ms": 4.5, "lw": 1.3}
            machine = f", {record['label']}" if len(records) > 1 else ""
            axes.plot(*zip(*sorted(points), strict=True), label=name + machine, **line_style)
            curves.append((sorted(points), colour))
    return axes, curves


def make_axes(x_label: str, y_label: str):
    figure = Figure(figsize=(4.6, 4.0), layout="constrained")
    axes = figure.add_subplot(xlabel=x_label, ylabel=y_label)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="0.92", lw=0.6, which="major")
    axes.set_axisbelow(True)
    return axes


def set_log_axes(axes, count_ticks=()) -> Figure:
    """Make the axes logarithmic, with plain numbers and a legend, and return the figure.

    Args:
        count_ticks: counts along x that get ticks; empty if x is not a count.
    """
    axes.set(xscale="log", yscale="log")
    axes.margins(y=0.09)
    if count_ticks:
        ticks: list[float] = []
        for n in sorted(count_ticks):  # leaves out ticks whose labels would touch
            ticks += [n] if not ticks or n >= 1.3 * ticks[-1] else []
        axes.xaxis.set(major_locator=FixedLocator(ticks), minor_locator=NullLocator(), major_formatter=PLAIN_FORMATTER)
    low, high = axes.get_ylim()
    subs = (1, 2, 5) if high < 200 * low else (1,)
    axes.yaxis.set(
        major_locator=LogLocator(subs=subs), major_formatter=PLAIN_FORMATTER, minor_formatter=NullFormatter()
    )
    axes.figure.legend(**LEGEND_STYLE)
    return axes.figure


#: {file name: (sweep, function that draws the figure or returns None)}.
FIGURES: dict[str, tuple[str, Callable[[list[dict]], Figure | None]]] = {
    "speedup": ("table", draw_speedup),
    "roofline": ("table", draw_roofline),
    "strong": ("strong", draw_scaling),
    "weak": ("weak", draw_scaling),
    "scaling": ("scaling", draw_prediction),
    "sizes": ("sizes", draw_sizes),
    "halo": ("halo", draw_halo),
    "output": ("output", draw_bars),
    "start": ("start", draw_bars),
}
