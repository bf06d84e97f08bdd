"""Figures with curves: speed-up beside the published curves, scaling, speed against size, time of the exchange."""

from __future__ import annotations

from matplotlib.figure import Figure

from ...plotting.style import INK, QUIET
from ..markdown import digits
from ..numbers import bandwidth, bytes_per_cell
from ..sweeps import published
from .panels import PUBLISHED, beside, families, grid_name, horizontal_name, logarithmic, panel, vertical_name

#: The line of perfect scaling.
PERFECT = {"lw": 0.7, "ls": (0, (1, 2)), "zorder": 0}


def speedup(records: list[dict]) -> Figure | None:
    """Speed-up over NumPy against processes, with the published curves; the last value of each curve is written."""
    curves = [
        (name, sorted((one.row.blocks, one.speedup) for one in found if one.speedup), look, found[0].row)
        for name, found, look in families(records, lambda one: one.row.executor != "reference" and not one.row.threads)
    ]
    curves = [curve for curve in curves if curve[1]]
    if not curves:
        return None
    there = published()
    size = there["nx"], there["ny"]
    grids = {size, *((row.nx, row.ny) for *_, row in curves)}
    figure, axes = panel("processes (CPU) or devices (GPU)", "speed-up over NumPy on one process")
    lines = []
    for platform, marker in (("cpu", "o"), ("gpu", "s")):
        points = [(row["processes"], row["speedup"]) for row in there["row"] if row["platform"] == platform]
        lines.append((f"published, {there[platform]}", points, PUBLISHED | {"marker": marker}, size))
    lines += [(name, points, look, (row.nx, row.ny)) for name, points, look, row in curves]
    everywhere = [point for _, points, *_ in lines for point in points]
    for name, points, look, grid in lines:
        label = name + (f", {grid_name(grid)}" if len(grids) > 1 else "")
        axes.plot(*zip(*points, strict=True), label=label, **look)
        beside(axes, digits(points[-1][1]), points[-1], everywhere, "0.5" if look["color"] == "0.62" else look["color"])
    alone = list(families(records, lambda one: one.row.threads == 1 and one.row.blocks == 1 and bool(one.speedup)))
    for _, found, look in alone:
        axes.plot(1, found[0].speedup, **look | {"marker": "_", "ms": 11, "mew": 1.6, "ls": ""})
    if alone:
        axes.plot([], [], "_", color=INK, ms=11, mew=1.6, label="1 process on 1 core")
    mark_oversubscribed(axes, records)
    axes.margins(y=0.09)
    logarithmic(axes, {n for n, _ in everywhere})
    return figure


def mark_oversubscribed(axes, records: list[dict]):
    """Make the points of rows with more ranks than cores hollow."""
    crowded = list(families(records, lambda one: one.row.oversubscribed and bool(one.speedup)))
    for _, found, look in crowded:
        points = [(one.row.blocks, one.speedup) for one in found]
        axes.plot(*zip(*points, strict=True), color=look["color"], marker="o", mfc="white", ms=6, ls="")
    if crowded:
        axes.plot([], [], "o", color=INK, mfc="white", ms=6, label="more ranks than cores")


def scaling(records: list[dict]) -> Figure | None:
    """Cell updates per second against cores, with the line of perfect scaling from each first point."""
    figure, axes = panel("cores (CPU) or devices (GPU)", "million cell updates per second")
    ticks, shared = set(), False
    for name, found, look in families(records, lambda one: one.row.executor != "reference"):
        points = sorted((one.cores, one.rate / 1e6) for one in found if one.cores == one.row.blocks)
        threaded = sorted((one.cores, one.rate / 1e6) for one in found if one.cores != one.row.blocks)
        ticks |= {n for n, _ in points + threaded}
        if threaded:
            axes.plot(*zip(*threaded, strict=True), **look | {"mfc": "white", "ls": ""})
            shared = True
        if points:
            axes.plot(*zip(*points, strict=True), label=name, **look)
            (first, rate), last = points[0], points[-1][0]
            axes.plot([first, last], [rate, rate * last / first], color=look["color"], **PERFECT)
    if shared:
        axes.plot([], [], "o", color=QUIET, mfc="white", ms=4.5, label="several threads for each process")
    axes.plot([], [], color=QUIET, label="perfect scaling", **PERFECT)
    logarithmic(axes, ticks)
    return figure


def sizes(records: list[dict]) -> Figure | None:
    """Cell updates per second against the number of cells, with what memory allows and where the caches end."""
    figure, axes = panel("cells", "million cell updates per second")
    for name, found, look in families(records, lambda one: True, with_processes=True):
        points = sorted((one.row.nx * one.row.ny, one.rate / 1e6) for one in found)
        axes.plot(*zip(*points, strict=True), label=name, **look)
    left, right = axes.get_xlim()
    for record in records:
        moved = bytes_per_cell(record["definition"]["dtype"])
        for platform, name in (("cpu", "triad"), ("gpu", "GPU triad")):
            if limit := bandwidth(record, platform):
                axes.axhline(limit * 1e3 / moved, color=INK, lw=0.8, zorder=0)
                horizontal_name(axes, name, limit * 1e3 / moved)
        for cache, size in record["machine"]["caches_bytes"].items():
            if left < size / moved < right:
                vertical_name(axes, cache, size / moved)
    logarithmic(axes)
    return figure


def halo(records: list[dict]) -> Figure | None:
    """Time of an exchange against the bytes that a process sends."""
    figure, axes = panel("bytes that a process sends in an exchange", "time of an exchange (µs)")
    counted = list(families(records, lambda one: bool(one.entry.get("traffic")), with_processes=True))
    for name, found, look in counted:
        points = sorted((one.entry["traffic"]["bytes"], 1e6 * one.step) for one in found)
        axes.plot(*zip(*points, strict=True), label=name, **look)
    logarithmic(axes)
    return figure if counted else None
