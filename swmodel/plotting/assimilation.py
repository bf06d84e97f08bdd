"""The picture of an assimilation: truth, first guess and analysis, their errors, and the errors over time."""

from __future__ import annotations

from dataclasses import replace

import cmocean
import netCDF4
import numpy as np
from matplotlib.figure import Figure

from . import style
from .record import Map, read_map
from .titles import case_of

PICTURE = "assimilation.png"

#: Words above the maps.
TITLES = {"truth": "Truth", "background": "First guess", "analysis": "Analysis", "increment": "Increment"}

#: Inches: width of a map with its labels, of a map alone, height of its labels. The largest ratio of height to width.
WIDTH, MAP, ROOM, TALLEST = 2.1, 1.65, 0.9, 2.0

#: Colours and lines of the curves.
CURVES = {"background": (style.QUIET, "first guess"), "analysis": ("#b2182b", "analysis")}
LINES = {"everywhere": "-", "unobserved": (0, (2, 1.5))}


def picture(data: netCDF4.Dataset) -> Figure:
    """The figure of an analysis: maps of the first control that is a field, if there is one, and curves.

    In a twin experiment the maps are truth, first guess, analysis and the errors of both; otherwise first guess,
    analysis and their difference.
    """
    rows = maps(data)
    curves = [name for name in ("eta", "current") if f"{name}_error_analysis_everywhere" in data.variables]
    west, east, south, north = rows[0].domain if rows else (0.0, 1.0, 0.0, 1.0)
    height = MAP * min(TALLEST, max(0.3, (north - south) / (east - west)))
    below = 1.7
    size = WIDTH * max(3, len(rows)), bool(rows) * (height + ROOM) + below + ROOM
    figure = Figure(figsize=size, layout="constrained")
    parts = figure.subfigures(2, 1, height_ratios=[height + ROOM, below + ROOM]) if rows else [None, figure]
    if rows:
        draw_maps(parts[0], rows, data)
    (parts[0] or figure).suptitle(case_of(data), x=0.01, ha="left", fontsize=style.CAPTION, color=style.QUIET)
    panels = parts[1].subplots(1, 1 + len(curves), squeeze=False)[0]
    draw_costs(panels[0], data)
    for panel, name in zip(panels[1:], curves, strict=True):
        draw_errors(panel, data, name)
    if curves:
        panels[1].legend(loc="best", framealpha=0.8, edgecolor="none", fontsize=7.5, handlelength=2.2)
    return figure


def maps(data: netCDF4.Dataset) -> list[Map]:
    """The maps of the first control that is a field, with their titles as names."""
    names = [name.removesuffix("_analysis") for name, v in data.variables.items() if name.endswith("_analysis")]
    names = [name for name in names if f"{name}_background" in data.variables and data[f"{name}_analysis"].ndim == 2]
    if not names:
        return []
    twin = f"{names[0]}_truth" in data.variables
    kinds = ("truth", "background", "analysis") if twin else ("background", "analysis", "increment")
    found = {kind: replace(read_map(data, f"{names[0]}_{kind}"), name=TITLES[kind]) for kind in kinds}
    if twin:
        for kind in ("background", "analysis"):
            values = found[kind].values - found["truth"].values
            found[f"error {kind}"] = replace(found[kind], name=f"{TITLES[kind]} − truth", values=values)
    return list(found.values())


def draw_maps(figure, rows: list[Map], data: netCDF4.Dataset) -> None:
    """The maps side by side, all with the same colours; the last one also shows the observations."""
    signed = any(row.values.min() < 0 for row in rows[:2])
    bound = float(np.percentile(np.abs(rows[0].values.compressed()), 99.8)) or 1.0
    bound = max(bound, max(float(abs(row.values).max()) for row in rows) * 0.5)
    exponent = style.power_of_ten(bound)
    axes = figure.subplots(1, len(rows), sharex=True, sharey=True, squeeze=False)[0]
    west, east, south, north = rows[0].domain
    (scale, unit), (across, up) = rows[0].unit, rows[0].names
    true = rows[0].aspect * (east - west) / (north - south)
    for panel, row in zip(axes, rows, strict=True):
        image = panel.imshow(
            row.values * 10.0**-exponent,
            origin="lower",
            extent=[side / scale for side in row.domain],
            cmap=cmocean.cm.cmap_d["balance"].with_extremes(bad=style.LAND),
            vmin=-bound * 10.0**-exponent,
            vmax=bound * 10.0**-exponent,
            interpolation="nearest",
            aspect=true if 0.3 <= rows[0].aspect <= TALLEST else "auto",
        )
        panel.set_title(row.name, fontsize=8.5)
        panel.set_xlabel(f"{across} ({unit})")
    axes[0].set_ylabel(f"{up} ({unit})")
    x, y, quantity = (np.asarray(data[f"observation_{key}"][:]) for key in ("x", "y", "quantity"))
    for chosen, look in ((quantity == 0, {"marker": ".", "s": 1.5}), (quantity > 0, {"marker": "^", "s": 14})):
        places = np.unique(np.stack([x[chosen], y[chosen]], axis=1), axis=0) / scale
        axes[-1].scatter(*places.T, color=style.INK, linewidths=0, alpha=0.6, **look)
    axes[-1].set_xlim(west / scale, east / scale)
    axes[-1].set_ylim(south / scale, north / scale)
    figure.colorbar(
        image,
        ax=list(axes),
        label=style.label(rows[0].long_name.partition(", ")[0], rows[0].units, exponent),
        extend="both" if signed else "max",
        pad=0.01,
        aspect=24,
        shrink=0.8,
    )


def draw_costs(panel, data: netCDF4.Dataset) -> None:
    """The cost and its parts after each outer iteration."""
    iteration = np.arange(len(data.dimensions["iteration"]))
    for name, colour, words in (
        ("cost", style.INK, "cost"),
        ("observations", "#2166ac", "of observations"),
        ("background", style.QUIET, "of the first guess"),
    ):
        values = np.asarray(data[f"iteration_{name}"][:])
        panel.plot(iteration, np.where(values > 0, values, np.nan), "o-", ms=3, lw=1.2, color=colour, label=words)
    panel.axhline(len(data.dimensions["observation"]) / 2, color=style.QUIET, lw=0.8, ls=":", label="half their number")
    panel.set_yscale("log")
    panel.set_xlabel("Outer iteration")
    panel.set_ylabel("Cost")
    panel.xaxis.get_major_locator().set_params(integer=True)
    panel.legend(frameon=False, fontsize=7.5)
    tidy(panel)


def draw_errors(panel, data: netCDF4.Dataset, name: str) -> None:
    """The errors of the runs from first guess and analysis over time; the window is shaded."""
    time = data["error_time"]
    for who, (colour, words) in CURVES.items():
        for where, dashes in LINES.items():
            values = np.ma.filled(data[f"{name}_error_{who}_{where}"][:], np.nan)
            panel.plot(time[:], values, color=colour, ls=dashes, lw=1.4, label=f"{words}, {where}")
    panel.axvspan(0, float(time.end_of_window), color="0.93", zorder=0, lw=0)
    panel.set_xlim(0, float(time[-1]))
    panel.set_ylim(bottom=0)
    panel.set_xlabel("Days since the start of the window (shaded)")
    curve = data[f"{name}_error_analysis_everywhere"]
    panel.set_ylabel(style.label(curve.long_name.partition(" of the run")[0], curve.units))
    tidy(panel)


def tidy(panel) -> None:
    """Remove the frame where there is no axis."""
    panel.spines[["top", "right"]].set_visible(False)
