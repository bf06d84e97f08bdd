"""The roofline: the speed that memory and arithmetic allow on this machine, and the speed of the rows.

A step does FLOPS_PER_CELL operations for each cell and must move 48 bytes (single precision): an intensity that the
scheme sets. Rows lie on that line at the height of their speed; the roof is the measured bandwidth times the intensity.

Reference: Williams, S., Waterman, A. and Patterson, D. (2009), Roofline, Commun. ACM 52, 65-76.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from ...model.progress import workers
from ...plotting.style import INK, QUIET
from ..numbers import Numbers, bandwidth, bytes_per_cell, numbers
from ..sweeps import published
from ..text import counted, digits, percent
from .curves import COLORS, MARKERS, PLAIN, PUBLISHED

#: Additions, multiplications and divisions for each cell in an AB2 step of the jet by the executor xla.
FLOPS_PER_CELL = 98
#: Published rows that are drawn; those of GPUs beside rows on GPUs.
DRAWN = (("cpu", 1), ("cpu", 16), ("gpu", 2))


def roofline(records: list[dict]) -> Figure:
    """One panel for each machine: roofs, and the best row of each executor on CPU and GPU."""
    figure = Figure(figsize=(4.8 * len(records), 5.2), layout="constrained")
    for number, record in enumerate(records):
        axes = figure.add_subplot(1, len(records), number + 1)
        draw(axes, record)
        axes.set_title(record["label"] if len(records) > 1 else "", fontsize=8)
    return figure


def draw(axes, record: dict):
    """Draw roofs, rows and published rows of one machine."""
    rows = sorted((one for one in numbers(record) if not one.row.oversubscribed), key=lambda one: one.rate)
    best = {(one.row.executor, one.row.platform): one for one in rows}
    intensity = FLOPS_PER_CELL / bytes_per_cell(record["definition"]["dtype"])
    x = np.geomspace(intensity / 8, intensity * 64, 200)
    limit, peak = bandwidth(record), record["peak"]["gigaflops"]
    roof = f"triad {digits(limit)} GB/s, peak {digits(peak)} Gflop/s"
    axes.plot(x, np.minimum(limit * x, peak), color=INK, lw=1.2, label=roof)
    gpus = max((one.row.blocks for one in best.values() if one.row.platform == "gpu"), default=0)
    if gpus and (limit := bandwidth(record, "gpu", gpus)) > 0:
        axes.plot(x, limit * x, color=INK, lw=1.2, ls="--", label=f"{counted(gpus, 'GPU')}: triad {digits(limit)} GB/s")
    axes.axvline(intensity, color=QUIET, lw=0.6, ls=":", zorder=0)
    for number, one in enumerate(best.values()):
        look = {"color": COLORS[number % len(COLORS)], "marker": MARKERS[number % len(MARKERS)], "ls": "", "ms": 5}
        axes.plot(intensity, one.rate * FLOPS_PER_CELL / 1e9, label=label(one), **look)
    there = published()
    for row in there["row"]:
        platform, n = row["platform"], row["processes"]
        if (platform, n) in DRAWN and (platform == "cpu" or gpus):
            speed = there["nx"] * there["ny"] * there["steps"] / row["seconds"] * FLOPS_PER_CELL / 1e9
            text = counted(n, "GPU") if platform == "gpu" else workers(n, 1)
            axes.plot(intensity, speed, "s" if n == 1 else "o", **PUBLISHED, label=f"published, {text}")
    axes.set(xscale="log", yscale="log", xlabel="operations per byte moved", ylabel="Gflop/s", xlim=(x[0], x[-1]))
    to_cells = (lambda g: g * 1e3 / FLOPS_PER_CELL, lambda m: m * FLOPS_PER_CELL / 1e3)
    cells = axes.secondary_yaxis("right", functions=to_cells)
    cells.set_ylabel("million cell updates per second")
    for axis in (axes.xaxis, axes.yaxis, cells.yaxis):
        axis.set_major_formatter(PLAIN)
    axes.spines[["top"]].set_visible(False)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), frameon=False, fontsize=7.5)


def label(one: Numbers) -> str:
    """A row in words: what computes, and its share of the triad."""
    row = one.row
    where = counted(row.blocks, "GPU") if row.platform == "gpu" else workers(row.nproc, row.devices)
    share = f": {percent(one.share)} of triad" if one.share > 0 else ""
    return ("NumPy" if row.executor == "reference" else f"{row.executor}, {where}") + share
