"""The picture of an assimilation: maps of first guess and analysis, cost or misfit, errors in a twin experiment."""

from __future__ import annotations

from dataclasses import replace

import netCDF4
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..ocean.constituents import DAY_SECONDS
from . import style
from .field_map import FieldMap, read_map, to_picture_positions, wrap_to_domain
from .panels import TICK_STEPS, draw_image, wrap_title, write_caption
from .titles import run_name, time_unit

#: Titles of the maps, by the ending of the name in the file.
MAP_TITLES = {"truth": "Truth", "background": "First guess", "analysis": "Analysis", "increment": "Increment"}
#: Width of a map with its labels, of a map alone, and of a panel of curves in a figure without maps.
MAP_COLUMN_INCHES, MAP_INCHES, CURVES_WIDTH_INCHES = 2.1, 1.65, 3.1
#: Height of a panel of curves, and of the labels of a row of panels.
CURVES_HEIGHT_INCHES, LABELS_HEIGHT_INCHES = 1.7, 0.9
#: Smallest and largest ratio of height to width of a map; other domains are stretched.
MIN_ASPECT, MAX_ASPECT = 0.3, 2.0

#: {part of the name in the file: (colour, label)} of curves, and the line style of errors in each region.
COST_CURVES = {"cost": (style.DARK_GREY, "cost"), "observations": ("#2166ac", "part of the observations")}
COST_CURVES |= {"background": (style.MID_GREY, "part of the first guess")}
ERROR_CURVES = {"background": (style.MID_GREY, "first guess"), "analysis": ("#b2182b", "analysis")}
SPREAD_CURVE = {"spread": ("#2166ac", "spread of the members")}
MISFIT_CURVES = {
    "background": (style.MID_GREY, "members' mean before the analysis"),
    "analysis": ("#b2182b", "after the analysis"),
    "expected": ("#2166ac", "expected before the analysis"),
}
REGION_LINE_STYLES = {"everywhere": "-", "unobserved": (0, (2, 1.5))}


def is_analysis(data: netCDF4.Dataset) -> bool:
    """Whether a file is the result of an assimilation, by iterations or in cycles."""
    return not {"iteration", "cycle"}.isdisjoint(data.dimensions)


def draw_analysis(data: netCDF4.Dataset) -> Figure:
    """The figure of an analysis: maps of the first control that is a field without records, if any, and curves.

    In a twin experiment the maps are truth, first guess, analysis and the errors of the last two; otherwise first
    guess, analysis and their difference.
    """
    field_maps = read_maps(data)
    error_names = [name for name in ("eta", "current") if f"{name}_error_analysis_everywhere" in data.variables]
    heights = [MAP_INCHES * box_aspect(each) + LABELS_HEIGHT_INCHES for each in field_maps[:1]]
    heights.append(CURVES_HEIGHT_INCHES + LABELS_HEIGHT_INCHES)
    width = MAP_COLUMN_INCHES * len(field_maps) if field_maps else CURVES_WIDTH_INCHES * (1 + len(error_names))
    figure = style.NotebookFigure(figsize=(width, sum(heights)), layout="constrained")
    subfigures = figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
    if field_maps:
        draw_maps(subfigures[0], field_maps, data)
    write_caption(figure, [run_name(data)])
    panels = subfigures[-1].subplots(1, 1 + len(error_names), squeeze=False)[0]
    (draw_cycles if "cycle" in data.dimensions else draw_costs)(panels[0], data)
    for panel, name in zip(panels[1:], error_names, strict=True):
        draw_errors(panel, data, name)
    if error_names:
        panels[1].legend(loc="best", framealpha=0.8, edgecolor="none", fontsize=7.5, handlelength=2.2)
    for panel in panels:
        panel.spines[["top", "right"]].set_visible(False)
    return figure


def read_maps(data: netCDF4.Dataset) -> list[FieldMap]:
    """The maps of the first control that is a field without records, with their titles as names."""
    names = [name.removesuffix("_analysis") for name, v in data.variables.items() if name.endswith("_analysis")]
    names = [name for name in names if f"{name}_background" in data.variables and data[f"{name}_analysis"].ndim == 2]
    if not names:
        return []
    is_twin = f"{names[0]}_truth" in data.variables
    kinds = ("truth", "background", "analysis") if is_twin else ("background", "analysis", "increment")
    field_maps = [replace(read_map(data, f"{names[0]}_{kind}"), name=MAP_TITLES[kind]) for kind in kinds]
    if is_twin:
        truth, *others = field_maps
        field_maps += [replace(each, name=f"{each.name} − truth", values=each.values - truth.values) for each in others]
    return field_maps


def box_aspect(field_map: FieldMap) -> float:
    """The ratio of height to width with which a map is drawn."""
    return min(MAX_ASPECT, max(MIN_ASPECT, field_map.aspect))


def draw_maps(figure, field_maps: list[FieldMap], data: netCDF4.Dataset) -> None:
    """Draw the maps side by side, all with the same colours, and the observations on the last one."""
    limit = float(np.percentile(np.abs(field_maps[0].values.compressed()), 99.8)) or 1.0
    limit = max(limit, *(0.5 * float(abs(each.values).max()) for each in field_maps))
    label = field_maps[0].long_name.partition(", ")[0]
    field_style = style.make_style([replace(field_maps[0], name="eta", long_name=label)], (-limit, limit))
    axes = figure.subplots(1, len(field_maps), sharex=True, sharey=True)
    (scale, unit), (x_name, y_name) = field_maps[0].axis_unit, field_maps[0].axis_names
    for panel, field_map in zip(axes, field_maps, strict=True):
        image, _ = draw_image(panel, field_map, field_style)
        panel.set_box_aspect(box_aspect(field_map))
        panel.set_title(field_map.name, fontsize=8.5)
        panel.set_xlabel(f"{x_name} ({unit})")
        panel.xaxis.set_major_locator(MaxNLocator(3, steps=TICK_STEPS))
    axes[0].set_ylabel(f"{y_name} ({unit})")
    x, y, quantity = (np.asarray(data[f"observation_{key}"][:]) for key in ("x", "y", "quantity"))
    x, y = wrap_to_domain(field_maps[-1], *to_picture_positions(data, x, y))
    # Observed sea levels are dots, smaller if there are many; other quantities are triangles.
    for is_selected, marker in (quantity == 0, "."), (quantity > 0, "^"):
        positions = np.unique(np.stack([x[is_selected], y[is_selected]], axis=1), axis=0) / scale
        size = 14 if marker == "^" else min(60, max(1.5, 3000 / max(1, len(positions))))
        axes[-1].scatter(*positions.T, s=size, marker=marker, color=style.DARK_GREY, linewidths=0, alpha=0.6)
    extend = "both" if any(each.values.min() < 0 for each in field_maps[:2]) else "max"
    colorbar = figure.colorbar(image, ax=list(axes), extend=extend, pad=0.01, aspect=24, shrink=0.8)
    colorbar.set_label(wrap_title(field_style.label, MAP_INCHES))


def draw_costs(panel, data: netCDF4.Dataset) -> None:
    """Draw the cost and its parts after each outer iteration; a dotted line marks half the number of observations."""
    iteration = np.arange(len(data.dimensions["iteration"]))
    for name, (colour, label) in COST_CURVES.items():
        values = np.asarray(data[f"iteration_{name}"][:])
        panel.plot(iteration, np.where(values > 0, values, np.nan), "o-", ms=3, lw=1.2, color=colour, label=label)
    panel.axhline(len(data.dimensions["observation"]) / 2, color=style.MID_GREY, lw=0.8, ls=":", label="observations/2")
    panel.set(yscale="log", xlabel="Outer iteration", ylabel="Cost")
    panel.xaxis.get_major_locator().set_params(integer=True)
    panel.legend(frameon=False, fontsize=7.5)


def draw_cycles(panel, data: netCDF4.Dataset) -> None:
    """Draw the misfit before and after each analysis, and the one expected before it from the members' spread."""
    for name, (colour, label) in MISFIT_CURVES.items():
        panel.plot(data["cycle_day"][:], data[f"cycle_{name}"][:], "o-", ms=3, lw=1.2, color=colour, label=label)
    panel.axhline(1, color=style.MID_GREY, lw=0.8, ls=":")
    panel.set(yscale="log", xlabel="Days", ylabel="Misfit (errors of observations)")
    panel.legend(frameon=False, fontsize=7.5)


def draw_errors(panel, data: netCDF4.Dataset, name: str) -> None:
    """Draw the errors of first guess and analysis over time, and any spread of the members; shade the window."""
    time, has_spread = data["error_time"], f"{name}_error_spread_everywhere" in data.variables
    unit_seconds, unit = time_unit(DAY_SECONDS * float(time[-1]))
    units_per_day = DAY_SECONDS / unit_seconds
    for estimate, (colour, estimate_label) in (ERROR_CURVES | SPREAD_CURVE if has_spread else ERROR_CURVES).items():
        for region, line_style in REGION_LINE_STYLES.items():
            values = np.ma.filled(data[f"{name}_error_{estimate}_{region}"][:], np.nan)
            label = f"{estimate_label}, {region}"
            panel.plot(units_per_day * time[:], values, color=colour, ls=line_style, lw=1.4, label=label)
    panel.axvspan(0, units_per_day * float(time.end_of_window), color="0.93", zorder=0, lw=0)
    curve = data[f"{name}_error_analysis_everywhere"]
    axis_label = style.axis_label(curve.long_name.partition(" of the run")[0], curve.units)
    panel.set(xlabel=f"{unit.capitalize()} (window shaded)", ylabel=wrap_title(axis_label, CURVES_HEIGHT_INCHES))
    panel.set_xlim(0, units_per_day * float(time[-1]))
    panel.set_ylim(bottom=0)
