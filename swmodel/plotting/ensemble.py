"""The picture of an ensemble: mean and spread of a field; energy of all members and rms spread over time."""

from __future__ import annotations

import netCDF4
import numpy as np
from matplotlib.figure import Figure

from . import style
from .dataset import PlotError, field_names, find_record, record_times
from .field_map import read_map
from .panels import add_map, set_panel_title, write_caption
from .style import ColourRange
from .titles import make_title_formatter, run_name, time_unit

#: The maps show the first of these fields whose spread is in the file, or else the first field with a spread.
PREFERRED_FIELDS = ("eta", "speed", "zeta", "h", "u")

#: Width of a map and height of the curves, inches, and the smallest and largest ratio of height to width of a map.
MAP_WIDTH_INCHES, CURVES_HEIGHT_INCHES, MIN_ASPECT, MAX_ASPECT = 2.8, 2.5, 0.3, 1.6
CONTROL_COLOUR, MEAN_COLOUR, MEMBERS_COLOUR = "#b2182b", style.DARK_GREY, "0.72"


def draw_ensemble(data: netCDF4.Dataset, record: int, time: float | None, colour_range: ColourRange) -> Figure:
    """The figure of ensemble.nc: two maps of one record above, two time series below (see `maps.plot`)."""
    names = [name.removesuffix("_spread") for name in field_names(data) if name.endswith("_spread")]
    if not names:
        raise PlotError(f"{data.filepath()} is not the file of an ensemble")
    field = next((name for name in PREFERRED_FIELDS if name in names), names[0])
    times, record = record_times(data), find_record(data, record, time)
    maps = [read_map(data, field + suffix, record) for suffix in ("_mean", "_spread")]
    height = MAP_WIDTH_INCHES * min(MAX_ASPECT, max(MIN_ASPECT, maps[0].aspect)) + 1.1
    figure = style.NotebookFigure(
        figsize=(2 * (MAP_WIDTH_INCHES + 1.1), height + CURVES_HEIGHT_INCHES), layout="constrained"
    )
    height_ratios = [height, CURVES_HEIGHT_INCHES]
    maps_figure, curves_figure = figure.subfigures(2, 1, squeeze=False, height_ratios=height_ratios)[:, 0]
    field_styles = style.make_styles(data, maps, [record], None, colour_range)
    for axes, field_map, field_style in zip(maps_figure.subplots(1, 2, sharey=True), maps, field_styles, strict=True):
        add_map(axes, field_map, field_style, MAP_WIDTH_INCHES)
        axes.label_outer()
    name, count_text = run_name(data), f"{len(data.dimensions['realization'])} members"
    caption = ", ".join(filter(None, (name, count_text, make_title_formatter(data)(record).removeprefix(f"{name}, "))))
    write_caption(figure, [caption])
    left, right = curves_figure.subplots(1, 2)
    unit_seconds, unit = time_unit(float(times[-1]))
    draw_energy(left, times / unit_seconds, np.ma.filled(data["energy"][:].astype(float), np.nan))
    draw_spread(right, times / unit_seconds, data[field + "_spread_rms"], data[field].long_name)
    for axes in (left, right):
        axes.set_xlabel(f"time ({unit})")
        axes.margins(x=0.01)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def draw_energy(axes, times: np.ndarray, values: np.ndarray) -> None:
    """Draw the energy [time, member]: thin lines for members, thick ones for member 0 (the control) and the mean."""
    exponent = style.power_of_ten(float(np.nanmax(np.abs(values))))
    values, marker = values * 10.0**-exponent, "." if times.size == 1 else ""
    mean, spread = values.mean(axis=1), values.std(axis=1, ddof=1)
    axes.fill_between(times, mean - spread, mean + spread, color="0.88", lw=0, label="mean ± spread")
    axes.plot(times, values[:, 1:], color=MEMBERS_COLOUR, lw=0.6, marker=marker)
    axes.plot([], [], color=MEMBERS_COLOUR, lw=0.6, label="members")
    axes.plot(times, values[:, 0], color=CONTROL_COLOUR, lw=1.2, marker=marker, label="control")
    axes.plot(times, mean, color=MEAN_COLOUR, lw=1.2, ls=(0, (4, 1.5)), marker=marker, label="mean")
    set_panel_title(axes, style.axis_label("Energy", "J", exponent), MAP_WIDTH_INCHES)
    axes.legend(frameon=False, fontsize=7)


def draw_spread(axes, times: np.ndarray, spread, long_name: str) -> None:
    """Draw the rms over the domain of a field's spread, from the variable `spread` [time] of the file."""
    values = np.ma.filled(spread[:], np.nan)
    exponent = style.power_of_ten(float(np.nanmax(values)))
    axes.plot(times, values * 10.0**-exponent, color=MEAN_COLOUR, lw=1.2, marker="." if times.size == 1 else "")
    axes.set_ylim(bottom=0)
    set_panel_title(axes, style.axis_label(f"{long_name}, spread, rms", spread.units, exponent), MAP_WIDTH_INCHES)
