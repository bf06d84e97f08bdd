"""The picture of an ensemble: mean and spread of a field; energy of all members and the mean spread over time."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from . import style
from .dataset import PlotError, field_names, find_record, seconds
from .overlays import NOTHING, Over
from .panels import LINE, add_map, name_axes, name_panel, wrapped
from .record import read_map
from .scale import OF_RECORD, Scale, looks
from .titles import case_of, time_unit, titles

#: Fields of the maps: the first of these that the file holds, or any.
PREFERRED = ("eta", "speed", "zeta", "h", "u")

#: Inches of a map's width and of the curves' height, and the least and largest ratio of a map's height to its width.
WIDTH, BELOW, LOW, HIGH = 2.8, 2.5, 0.3, 1.6
CONTROL, MEAN, OTHERS = "#b2182b", style.INK, "0.72"


def picture(
    data, record: int = -1, time: float | None = None, scale: Scale = OF_RECORD, over: Over = NOTHING
) -> Figure:
    """The figure of ensemble.nc: two maps of one record above, two time series below (see `maps.plot`)."""
    names = [name.removesuffix("_spread") for name in field_names(data) if name.endswith("_spread")]
    if not names:
        raise PlotError(f"{data.filepath()} is not the file of an ensemble")
    if over:
        raise PlotError("arrows and contours are drawn over fields of a member: name one, or name fields")
    field = next((name for name in PREFERRED if name in names), names[0])
    times, record = seconds(data), find_record(data, record, time)
    maps = [read_map(data, field + suffix, record) for suffix in ("_mean", "_spread")]
    shown = looks(data, maps, record, None, scale)
    height = WIDTH * min(HIGH, max(LOW, maps[0].aspect)) + 0.9
    height += LINE * max(wrapped(look.label, WIDTH + 0.5).count("\n") for look in shown)
    figure = Figure(figsize=(2 * (WIDTH + 1.1), height + BELOW), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=[height, BELOW])
    for number, (axes, panel, look) in enumerate(zip(above.subplots(1, 2), maps, shown, strict=True)):
        add_map(axes, panel, look)
        name_axes(axes, panel, left=number == 0, bottom=True)
        name_panel(axes, look.label, WIDTH)
    case, members = case_of(data), f"{data.dimensions['realization'].size} members"
    words = ", ".join(filter(None, (case, members, titles(data)(record).removeprefix(f"{case}, "))))
    above.suptitle(words, x=0.01, ha="left", fontsize=style.CAPTION, color=style.QUIET)
    left, right = below.subplots(1, 2)
    draw_energy(left, np.ma.filled(data["energy"][:].astype(float), np.nan), times)
    draw_growth(right, data[field + "_spread_rms"], data[field].long_name, times)
    return figure


def draw_energy(axes, values: np.ndarray, times: np.ndarray) -> None:
    """The energy [time, member] of all members as thin lines, of the control and their mean as thick ones."""
    exponent = style.power_of_ten(float(np.nanmax(np.abs(values))))
    values, days = values * 10.0**-exponent, times / time_unit(float(times[-1]))[0]
    marker = "." if times.size == 1 else ""
    mean, spread = values.mean(axis=1), values.std(axis=1, ddof=1)
    axes.fill_between(days, mean - spread, mean + spread, color="0.88", lw=0, label="mean ± spread")
    axes.plot(days, values[:, 1:], color=OTHERS, lw=0.6, marker=marker)
    axes.plot([], [], color=OTHERS, lw=0.6, label="members")
    axes.plot(days, values[:, 0], color=CONTROL, lw=1.2, marker=marker, label="control")
    axes.plot(days, mean, color=MEAN, lw=1.2, ls=(0, (4, 1.5)), marker=marker, label="mean")
    name_series(axes, times, style.label("Energy", "J", exponent))
    axes.legend(frameon=False, fontsize=7)


def draw_growth(axes, spread, long_name: str, times: np.ndarray) -> None:
    """The root mean square over the domain of the spread of a field."""
    values = np.ma.filled(spread[:], np.nan)
    exponent = style.power_of_ten(float(np.nanmax(values)))
    days, marker = times / time_unit(float(times[-1]))[0], "." if times.size == 1 else ""
    axes.plot(days, values * 10.0**-exponent, color=MEAN, lw=1.2, marker=marker)
    axes.set_ylim(bottom=0)
    name_series(axes, times, style.label(f"{long_name}, spread, rms", spread.units, exponent))


def name_series(axes, times: np.ndarray, label: str) -> None:
    """Write the name and units of what is drawn above the panel, those of time below."""
    name_panel(axes, label, WIDTH)
    axes.set_xlabel(f"time ({time_unit(float(times[-1]))[1]})")
    axes.margins(x=0.01)
    axes.spines[["top", "right"]].set_visible(False)
