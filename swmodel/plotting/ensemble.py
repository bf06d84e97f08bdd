"""The picture of an ensemble: mean and spread of a field; energy of all members and the mean spread over time."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from . import style
from .dataset import PlotError, field_names, find_record, seconds
from .panels import add_map, name_panel, write_caption
from .record import read_map
from .style import OF_RECORD, Scale
from .titles import run_name, time_unit, titles

#: Fields of the maps: the first of these that the file holds, or any.
PREFERRED = ("eta", "speed", "zeta", "h", "u")

#: Inches of a map's width and of the curves' height, and the least and largest ratio of a map's height to its width.
WIDTH, BELOW, LOW, HIGH = 2.8, 2.5, 0.3, 1.6
CONTROL, MEAN, OTHERS = "#b2182b", style.INK, "0.72"


def picture(data, record: int = -1, time: float | None = None, scale: Scale = OF_RECORD) -> Figure:
    """The figure of ensemble.nc: two maps of one record above, two time series below (see `maps.plot`)."""
    names = [name.removesuffix("_spread") for name in field_names(data) if name.endswith("_spread")]
    if not names:
        raise PlotError(f"{data.filepath()} is not the file of an ensemble")
    field = next((name for name in PREFERRED if name in names), names[0])
    times, record = seconds(data), find_record(data, record, time)
    maps = [read_map(data, field + suffix, record) for suffix in ("_mean", "_spread")]
    height = WIDTH * min(HIGH, max(LOW, maps[0].aspect)) + 1.1
    figure = style.Picture(figsize=(2 * (WIDTH + 1.1), height + BELOW), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=[height, BELOW])
    looks = style.looks(data, maps, [record], None, scale)
    for axes, panel, look in zip(above.subplots(1, 2, sharey=True), maps, looks, strict=True):
        add_map(axes, panel, look, WIDTH)
        axes.label_outer()
    run, members = run_name(data), f"{len(data.dimensions['realization'])} members"
    words = ", ".join(filter(None, (run, members, titles(data)(record).removeprefix(f"{run}, "))))
    write_caption(figure, [words])
    left, right = below.subplots(1, 2)
    size, unit = time_unit(float(times[-1]))
    draw_energy(left, times / size, np.ma.filled(data["energy"][:].astype(float), np.nan))
    draw_growth(right, times / size, data[field + "_spread_rms"], data[field].long_name)
    for axes in (left, right):
        axes.set_xlabel(f"time ({unit})")
        axes.margins(x=0.01)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def draw_energy(axes, times: np.ndarray, values: np.ndarray) -> None:
    """The energy [time, member] of all members as thin lines, of the control and their mean as thick ones."""
    exponent = style.power_of_ten(float(np.nanmax(np.abs(values))))
    values, marker = values * 10.0**-exponent, "." if times.size == 1 else ""
    mean, spread = values.mean(axis=1), values.std(axis=1, ddof=1)
    axes.fill_between(times, mean - spread, mean + spread, color="0.88", lw=0, label="mean ± spread")
    axes.plot(times, values[:, 1:], color=OTHERS, lw=0.6, marker=marker)
    axes.plot([], [], color=OTHERS, lw=0.6, label="members")
    axes.plot(times, values[:, 0], color=CONTROL, lw=1.2, marker=marker, label="control")
    axes.plot(times, mean, color=MEAN, lw=1.2, ls=(0, (4, 1.5)), marker=marker, label="mean")
    name_panel(axes, style.label("Energy", "J", exponent), WIDTH)
    axes.legend(frameon=False, fontsize=7)


def draw_growth(axes, times: np.ndarray, spread, long_name: str) -> None:
    """The root mean square over the domain of the spread of a field."""
    values = np.ma.filled(spread[:], np.nan)
    exponent = style.power_of_ten(float(np.nanmax(values)))
    axes.plot(times, values * 10.0**-exponent, color=MEAN, lw=1.2, marker="." if times.size == 1 else "")
    axes.set_ylim(bottom=0)
    name_panel(axes, style.label(f"{long_name}, spread, rms", spread.units, exponent), WIDTH)
