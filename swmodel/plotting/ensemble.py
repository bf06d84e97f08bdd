"""The picture of an ensemble: mean and spread of a field; energy of all members and the mean spread over time."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from . import style
from .dataset import PlotError, field_names, find_record, seconds
from .overlays import NOTHING, Over
from .panels import LINE, draw_image, name_axes, name_panel, wrapped
from .record import read_map
from .scale import OF_RECORD, Scale, looks
from .titles import case_of, titles

#: Fields of the maps: the first of these that the file holds, or any.
PREFERRED = ("eta", "speed", "zeta", "h", "u")

#: Of a map: its width in inches, the ratio of height to width, and the width of the text above it.
WIDTH, LOW, HIGH = 3.1, 0.3, 1.6
TITLE = 3.3
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
    height = WIDTH * min(HIGH, max(LOW, maps[0].aspect))
    shown = looks(data, maps, record, None, scale)
    height += 0.9 + LINE * max(wrapped(look.label, TITLE).count("\n") for look in shown)
    figure = Figure(figsize=(2 * (WIDTH + 0.8), height + 2.5), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=[height, 2.5])
    panels = above.subplots(1, 2)
    for number, (axes, panel, look) in enumerate(zip(panels, maps, shown, strict=True)):
        image = draw_image(axes, panel, look)
        name_axes(axes, panel, left=number == 0, bottom=True)
        name_panel(axes, wrapped(look.label, TITLE))
        bar = above.colorbar(image, ax=axes, extend=look.extend, extendfrac=0.03, pad=0.02, aspect=30)
        bar.outline.set_linewidth(0.4)
    case, members = case_of(data), f"{data.dimensions['realization'].size} members"
    words = titles(data)(record).removeprefix(f"{case}, ")
    words = ", ".join(filter(None, (case, members, words)))
    above.suptitle(words, x=0.01, ha="left", fontsize=style.CAPTION, color=style.QUIET)
    left, right = below.subplots(1, 2)
    draw_energy(left, data, times)
    draw_growth(right, data, times, field)
    return figure


def draw_energy(axes, data, times) -> None:
    """The energy of all members as thin lines, of the control and their mean as thick ones."""
    values = np.ma.filled(data["energy"][:].astype(float), np.nan)
    exponent = style.power_of_ten(float(np.nanmax(np.abs(values))))
    values, days = values * 10.0**-exponent, times / style.time_unit(float(times[-1]))[0]
    marker = "." if times.size == 1 else ""
    mean, spread = values.mean(axis=1), values.std(axis=1, ddof=1)
    axes.fill_between(days, mean - spread, mean + spread, color="0.88", lw=0, label="mean ± spread")
    axes.plot(days, values[:, 1:], color=OTHERS, lw=0.6, marker=marker)
    axes.plot([], [], color=OTHERS, lw=0.6, label="members")
    axes.plot(days, values[:, 0], color=CONTROL, lw=1.2, marker=marker, label="control")
    axes.plot(days, mean, color=MEAN, lw=1.2, ls=(0, (4, 1.5)), marker=marker, label="mean")
    name_series(axes, times, style.label("Energy", "J", exponent))
    axes.legend(frameon=False, fontsize=7)


def draw_growth(axes, data, times, field: str) -> None:
    """The root mean square over the domain of the spread of a field."""
    spread = data[field + "_spread_rms"]
    values = np.ma.filled(spread[:], np.nan)
    exponent = style.power_of_ten(float(np.nanmax(values)))
    days, marker = times / style.time_unit(float(times[-1]))[0], "." if times.size == 1 else ""
    axes.plot(days, values * 10.0**-exponent, color=MEAN, lw=1.2, marker=marker)
    axes.set_ylim(bottom=0)
    name_series(axes, times, style.label(f"{data[field].long_name}, spread, rms", spread.units, exponent))


def name_series(axes, times, label: str) -> None:
    """Write the name and units of what is drawn above the panel, those of time below."""
    name_panel(axes, wrapped(label, TITLE))
    axes.set_xlabel(f"time ({style.time_unit(float(times[-1]))[1]})")
    axes.margins(x=0.01)
    axes.spines[["top", "right"]].set_visible(False)
