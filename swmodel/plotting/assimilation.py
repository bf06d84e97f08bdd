"""The picture of an assimilation: truth, first guess and analysis, their errors, and the errors over time."""

from __future__ import annotations

from dataclasses import replace

import netCDF4
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from . import style
from .panels import STEPS, draw_image, wrapped, write_caption
from .record import Map, read_map
from .titles import run_name, time_unit

PICTURE = "assimilation.png"
DAY = 86400.0

#: Words above the maps.
TITLES = {"truth": "Truth", "background": "First guess", "analysis": "Analysis", "increment": "Increment"}
#: Inches: width of a map with its labels, of a map alone, of curves without maps; heights of the curves and of labels.
WIDTH, MAP, ALONE, BELOW, ROOM = 2.1, 1.65, 3.1, 1.7, 0.9
#: The ratio of height to width of a map lies between these.
FLATTEST, TALLEST = 0.3, 2.0

#: Colours and lines of the curves.
COSTS = {"cost": (style.INK, "cost"), "observations": ("#2166ac", "of observations")}
COSTS |= {"background": (style.QUIET, "of the first guess")}
CURVES = {"background": (style.QUIET, "first guess"), "analysis": ("#b2182b", "analysis")}
SPREAD = {"spread": ("#2166ac", "spread of the members")}
MISFITS = {"background": (style.QUIET, "members' mean before the analysis"), "analysis": ("#b2182b", "after it")}
MISFITS |= {"expected": ("#2166ac", "expected before it")}
LINES = {"everywhere": "-", "unobserved": (0, (2, 1.5))}


def is_analysis(data: netCDF4.Dataset) -> bool:
    """Whether a file is the result of an assimilation, by iterations or in cycles."""
    return not {"iteration", "cycle"}.isdisjoint(data.dimensions)


def picture(data: netCDF4.Dataset) -> Figure:
    """The figure of an analysis: maps of the first control that is a field, if there is one, and curves.

    In a twin experiment the maps are truth, first guess, analysis and the errors of both; otherwise first guess,
    analysis and their difference.
    """
    rows = maps(data)
    curves = [name for name in ("eta", "current") if f"{name}_error_analysis_everywhere" in data.variables]
    heights = [MAP * min(TALLEST, max(FLATTEST, row.aspect)) + ROOM for row in rows[:1]] + [BELOW + ROOM]
    width = WIDTH * len(rows) if rows else ALONE * (1 + len(curves))
    figure = style.Picture(figsize=(width, sum(heights)), layout="constrained")
    parts = figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
    if rows:
        draw_maps(parts[0], rows, data)
    write_caption(figure, [run_name(data)])
    panels = parts[-1].subplots(1, 1 + len(curves), squeeze=False)[0]
    (draw_cycles if "cycle" in data.dimensions else draw_costs)(panels[0], data)
    for panel, name in zip(panels[1:], curves, strict=True):
        draw_errors(panel, data, name)
    if curves:
        panels[1].legend(loc="best", framealpha=0.8, edgecolor="none", fontsize=7.5, handlelength=2.2)
    for panel in panels:
        panel.spines[["top", "right"]].set_visible(False)
    return figure


def maps(data: netCDF4.Dataset) -> list[Map]:
    """The maps of the first control that is a field, with their titles as names."""
    names = [name.removesuffix("_analysis") for name, v in data.variables.items() if name.endswith("_analysis")]
    names = [name for name in names if f"{name}_background" in data.variables and data[f"{name}_analysis"].ndim == 2]
    if not names:
        return []
    twin = f"{names[0]}_truth" in data.variables
    kinds = ("truth", "background", "analysis") if twin else ("background", "analysis", "increment")
    found = [replace(read_map(data, f"{names[0]}_{kind}"), name=TITLES[kind]) for kind in kinds]
    truth = found[0]
    errors = found[1:] if twin else []
    return found + [replace(each, name=f"{each.name} − truth", values=each.values - truth.values) for each in errors]


def draw_maps(figure, rows: list[Map], data: netCDF4.Dataset) -> None:
    """The maps side by side, all with the same colours; the last one also shows the observations."""
    bound = float(np.percentile(np.abs(rows[0].values.compressed()), 99.8)) or 1.0
    bound = max(bound, *(0.5 * float(abs(row.values).max()) for row in rows))
    label = rows[0].long_name.partition(", ")[0]
    look = style.look([replace(rows[0], name="eta", long_name=label)], (-bound, bound))
    axes = figure.subplots(1, len(rows), sharex=True, sharey=True)
    (scale, unit), (across, up) = rows[0].unit, rows[0].names
    for panel, row in zip(axes, rows, strict=True):
        image, _ = draw_image(panel, row, look)
        panel.set_box_aspect(min(TALLEST, max(FLATTEST, row.aspect)))
        panel.set_title(row.name, fontsize=8.5)
        panel.set_xlabel(f"{across} ({unit})")
        panel.xaxis.set_major_locator(MaxNLocator(3, steps=STEPS))
    axes[0].set_ylabel(f"{up} ({unit})")
    x, y, quantity = (np.asarray(data[f"observation_{key}"][:]) for key in ("x", "y", "quantity"))
    for chosen, marks in ((quantity == 0, {"marker": ".", "s": 1.5}), (quantity > 0, {"marker": "^", "s": 14})):
        places = np.unique(np.stack([x[chosen], y[chosen]], axis=1), axis=0) / scale
        axes[-1].scatter(*places.T, color=style.INK, linewidths=0, alpha=0.6, **marks)
    signed = any(row.values.min() < 0 for row in rows[:2])
    bar = figure.colorbar(image, ax=list(axes), extend="both" if signed else "max", pad=0.01, aspect=24, shrink=0.8)
    bar.set_label(wrapped(look.label, MAP))


def draw_costs(panel, data: netCDF4.Dataset) -> None:
    """The cost and its parts after each outer iteration."""
    iteration = np.arange(len(data.dimensions["iteration"]))
    for name, (colour, words) in COSTS.items():
        values = np.asarray(data[f"iteration_{name}"][:])
        panel.plot(iteration, np.where(values > 0, values, np.nan), "o-", ms=3, lw=1.2, color=colour, label=words)
    panel.axhline(len(data.dimensions["observation"]) / 2, color=style.QUIET, lw=0.8, ls=":", label="half their number")
    panel.set(yscale="log", xlabel="Outer iteration", ylabel="Cost")
    panel.xaxis.get_major_locator().set_params(integer=True)
    panel.legend(frameon=False, fontsize=7.5)


def draw_cycles(panel, data: netCDF4.Dataset) -> None:
    """The misfit before and after each analysis, and the one that the spread makes expected."""
    for name, (colour, words) in MISFITS.items():
        panel.plot(data["cycle_day"][:], data[f"cycle_{name}"][:], "o-", ms=3, lw=1.2, color=colour, label=words)
    panel.axhline(1, color=style.QUIET, lw=0.8, ls=":")
    panel.set(yscale="log", xlabel="Days", ylabel="Misfit (errors of observations)")
    panel.legend(frameon=False, fontsize=7.5)


def draw_errors(panel, data: netCDF4.Dataset, name: str) -> None:
    """Errors of the runs from first guess and analysis over time, and members' spread; the window is shaded."""
    time, there = data["error_time"], f"{name}_error_spread_everywhere" in data.variables
    length, unit = time_unit(DAY * float(time[-1]))
    day = DAY / length
    for who, (colour, words) in (CURVES | SPREAD if there else CURVES).items():
        for where, dashes in LINES.items():
            values = np.ma.filled(data[f"{name}_error_{who}_{where}"][:], np.nan)
            panel.plot(day * time[:], values, color=colour, ls=dashes, lw=1.4, label=f"{words}, {where}")
    panel.axvspan(0, day * float(time.end_of_window), color="0.93", zorder=0, lw=0)
    curve = data[f"{name}_error_analysis_everywhere"]
    label = style.label(curve.long_name.partition(" of the run")[0], curve.units)
    panel.set(xlabel=f"{unit.capitalize()} (window shaded)", ylabel=wrapped(label, BELOW))
    panel.set_xlim(0, day * float(time[-1]))
    panel.set_ylim(bottom=0)
