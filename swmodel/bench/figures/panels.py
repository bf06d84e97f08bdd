"""What the figures of results share: panels, axes of powers and of whole numbers, and the look of each curve.

Colours differ for any colour vision (Okabe and Ito 2008), and markers in greyscale. Machines differ by dashes.
Published curves are light, thin and hollow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from ...plotting.style import INK, QUIET
from ..numbers import Numbers, numbers

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES = ("-", "--", "-.", ":")
MARKERS = "osD^vP"
SIZE = (4.6, 4.0)
#: The look of a published curve.
PUBLISHED = {"color": "0.62", "mfc": "white", "ms": 4, "lw": 0.9, "zorder": 1.5}
#: The look of a value beside a point.
VALUE = {"textcoords": "offset points", "ha": "center", "fontsize": 7.5}


def families(records, wanted: Callable, with_processes: bool = False) -> Iterator[tuple[str, list[Numbers], dict]]:
    """Name, rows and look of each curve: rows of one machine, executor and platform (and number of processes)."""
    looks: dict[tuple, int] = {}
    for number, record in enumerate(records):
        groups: dict[tuple, list[Numbers]] = {}
        for one in numbers(record):
            if one.seconds and wanted(one):
                key = (one.row.executor, one.row.platform, one.row.blocks if with_processes else 0)
                groups.setdefault(key, []).append(one)
        for key, found in groups.items():
            look = looks.setdefault(key, len(looks))
            style = {"color": COLORS[look % len(COLORS)], "ls": DASHES[number % len(DASHES)], "ms": 4.5, "lw": 1.3}
            machine = f", {record['label']}" if len(records) > 1 or not with_processes else ""
            yield (
                curve_name(*key) + machine,
                found,
                style | {"marker": MARKERS[look % len(MARKERS)]},
            )


def curve_name(executor: str, platform: str, processes: int) -> str:
    """Executor, platform and number of processes in words; 0 for any number."""
    if executor == "reference":
        return "NumPy"
    name = executor + (" (GPU)" if platform == "gpu" else "")
    return name + (f", {processes} process{'es' if processes > 1 else ''}" if processes else "")


def grid_name(size: tuple[int, int]) -> str:
    """A grid in words."""
    return f"{size[0]} x {size[1]}"


def panel(x: str, y: str) -> tuple[Figure, object]:
    """A figure of one panel with a light grid."""
    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.add_subplot(xlabel=x, ylabel=y)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="0.92", lw=0.6, which="major")
    axes.set_axisbelow(True)
    return figure, axes


def logarithmic(axes, ticks=()):
    """Logarithmic axes with plain numbers and a legend below; `ticks` are those of a horizontal axis of counts."""
    axes.set(xscale="log", yscale="log")
    if ticks:
        counts(axes, ticks)
    plain_powers(axes.yaxis)
    legend(axes)


def counts(axes, ticks):
    """Ticks of an axis of whole numbers; those between that would touch are left out."""
    kept = []
    for tick in sorted(ticks):
        if not kept or tick >= 1.3 * kept[-1]:
            kept.append(tick)
    axes.xaxis.set_major_locator(FixedLocator(kept))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def plain_powers(axis):
    """Ticks 1, 2, 5, 10, 20 as plain numbers, not as powers of ten; only 1, 10, 100 on a long axis."""
    low, high = axis.get_view_interval()
    long = LogLocator(subs=(1, 2, 5) if high < 200 * low else (1,), numticks=20)
    axis.set_major_locator(long if high > 8 * low else MaxNLocator(5))
    axis.set_major_formatter(plain())
    axis.set_minor_formatter(NullFormatter())


def plain() -> FuncFormatter:
    """Plain numbers, with spaces between thousands."""
    return FuncFormatter(lambda value, _: f"{value:,.10g}".replace(",", " "))


def legend(axes):
    """A legend below the panel, where it hides nothing."""
    axes.figure.legend(loc="outside lower center", frameon=False, fontsize=7.5, ncols=1)


def beside(axes, text: str, point: tuple[float, float], others, color: str = INK):
    """Write a value to the right of a point at the right end, above or below others, on the freer side."""
    if point[0] == max(x for x, _ in others):
        axes.annotate(text, point, (7, 0), va="center", color=color, **VALUE | {"ha": "left"})
        return
    ratios = [y / point[1] for x, y in others if x == point[0] and y != point[1]]
    above = min((ratio for ratio in ratios if ratio > 1), default=1e9)
    below = min((1 / ratio for ratio in ratios if ratio < 1), default=1e9)
    offset, align = ((0, 5), "bottom") if above >= below else ((0, -5), "top")
    axes.annotate(text, point, offset, va=align, color=color, **VALUE)


def horizontal_name(axes, text: str, height: float):
    """Name a horizontal line at its right end, outside the panel, where no curve runs."""
    axes.annotate(
        text, (1, height), (3, 0), ("axes fraction", "data"), textcoords="offset points", va="center", fontsize=7.5
    )


def vertical_name(axes, text: str, place: float):
    """Draw a vertical line and name it at its top."""
    axes.axvline(place, color=QUIET, lw=0.6, ls=":", zorder=0)
    axes.annotate(
        text, (place, 1), (0, 2), ("data", "axes fraction"), textcoords="offset points", ha="center", fontsize=7.5
    )
