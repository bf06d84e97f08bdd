"""Curves over time, a panel for each: of the whole domain, at the gauges of a run, and through its sections."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import zip_longest
from pathlib import Path

import matplotlib as mpl
import netCDF4
import numpy as np
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..errors import suggest
from ..files.run_folder import DIAGNOSTICS, SECTIONS, STATIONS
from ..ocean.table import INFLOW
from . import style
from .dataset import EXTREMES, PlotError, data_file, integrals, numbers, open_data, seconds
from .files import default_output, save
from .panels import STEPS, write_caption
from .record import degrees, length_unit
from .titles import run_name, time_axis

#: Values and label of a curve.
Curve = tuple[np.ndarray, str]

#: The name under which the current at gauges is drawn, as a hodograph; and such panels side by side.
CURRENT, ACROSS = "current", 3
#: Most panels in a single column, more are put in two; and most of a picture, the first ones of more places.
MOST, DRAWN = 8, 40
#: Factor to the unit in which places show a quantity, and its name, if it differs from that in the file.
SHOWN = {"m3 s-1": (1e-6, "Sv")}


def plot_diagnostics(path, output=None) -> Path:
    """Draw mass, energy, extremes and the like over time into a picture beside their file.

    Args:
        path: run folder, or the file of the time series.
        output: picture to write (PNG, PDF or SVG by its name); None: diagnostics.png beside the data.
    """
    file = data_file(path, DIAGNOSTICS)
    with open_data(file) as data, mpl.rc_context(style.RC):
        both = zip_longest(integrals(data), numbers(data))  # the left and the right column
        names = [name for pair in both for name in pair if name]
        if not names or seconds(data).size == 0:
            raise PlotError(f"{file} holds no record of mass, energy, ..., {', '.join(EXTREMES)}")
        figure = draw_curves(data, [of_domain(data[name]) for name in names], run_name(data), columns=2)
        return save(figure, output or file.with_suffix(".png"))


def of_domain(variable) -> Curve:
    """The curve of a series of the whole domain.

    Sums are shown as relative changes since the start, unless a change is as large as the first value.
    """
    values = np.ma.filled(variable[:].astype(float), np.nan)
    long_name, units = getattr(variable, "long_name", variable.name.replace("_", " ")), getattr(variable, "units", "1")
    a_sum = variable.name not in EXTREMES and not variable.name.startswith(INFLOW)
    if a_sum and np.nanmax(np.abs(values - values[0])) < abs(values[0]):
        values, units = (values - values[0]) / abs(values[0]), "1"
        long_name = f"relative change of {variable.name.replace('_', ' ')}"
    return scaled(values, long_name, units)


def scaled(values: np.ndarray, long_name: str, units: str) -> Curve:
    """The values in a power of ten that suits them."""
    exponent = style.power_of_ten(float(np.nanmax(np.abs(values), initial=0.0)))
    return values * 10.0**-exponent, style.label(long_name, units, exponent)


def plot_stations(path, field: str | None = None, output=None, names: Sequence[str] = ()) -> Path:
    """Draw the series of the gauges of a run into a picture beside them: of those named, else of the first DRAWN.

    Args:
        path: run folder, or its stations.nc.
        field: eta, u, v or tracer; None: eta.
        output: picture to write (PNG, PDF or SVG by its name); None: stations.png beside the data.
        names: of gauges.
    """
    return plot_places(data_file(path, STATIONS), "station", field or "eta", output, names)


def plot_sections(path, output=None) -> Path:
    """Draw the transports through all sections of a run, as `plot_stations`."""
    return plot_places(data_file(path, SECTIONS), "section", "transport", output)


def plot_places(file: Path, dimension: str, field: str, output, wanted: Sequence[str] = ()) -> Path:
    """Draw the series of the places along a dimension: see `plot_stations`."""
    with open_data(file) as data, mpl.rc_context(style.RC):
        names = [name for name, v in data.variables.items() if v.dimensions == ("time", dimension)]
        names += [CURRENT] if {"u", "v"} <= set(names) else []
        if field not in names:
            raise PlotError(f"no {field} in {file}; {suggest(field, names)}")
        if not len(data.dimensions["time"]):
            raise PlotError(f"{file} holds no value yet")
        figure = draw_places(data, dimension, field, wanted)
        return save(figure, output or default_output(file, field if field not in ("eta", "transport") else None))


def draw_places(data: netCDF4.Dataset, dimension: str, field: str, wanted: Sequence[str] = ()) -> Figure:
    """The figure: one panel for each place that is `chosen`, its name and position above it."""
    shown, total = chosen(data, dimension, wanted), len(data.dimensions[dimension])
    others = ": --station NAME draws others" if dimension == "station" else ""
    part = f"{len(shown)} of {total} {dimension}s{others}" if len(shown) < total else ""
    caption, titles = ", ".join(filter(None, (run_name(data), part))), place_titles(data, dimension, shown)
    if field == CURRENT:
        return draw_hodographs(data, shown, titles, caption)
    values, label = scaled(*at_places(data[field], shown))
    curves = [*zip(values.T, titles, strict=True)]
    figure = draw_curves(data, curves, caption, 1 if len(shown) <= MOST else 2)
    figure.supylabel(label, fontsize=8)
    return figure


def chosen(data: netCDF4.Dataset, dimension: str, wanted: Sequence[str] = ()) -> list[int]:
    """The numbers of the places that are drawn: those that are named, else the first DRAWN."""
    known = {str(name): number for number, name in enumerate(np.atleast_1d(data[f"{dimension}_name"][:]))}
    for name in wanted:
        if name not in known:
            raise PlotError(f'no {dimension} "{name}" in {data.filepath()}; {suggest(name, list(known)[:DRAWN])}')
    if len(wanted) > DRAWN:
        raise PlotError(f"{len(wanted)} {dimension}s are named; a picture has {DRAWN} at most")
    return [known[name] for name in wanted] or list(range(len(known)))[:DRAWN]


def at_places(variable, shown: list[int]) -> tuple[np.ndarray, str, str]:
    """Values [time, place] of a variable at places, its long name, and the unit of the values."""
    factor, unit = SHOWN.get(variable.units, (1.0, variable.units))
    values = np.ma.filled(np.ma.asarray(variable[:, shown], dtype=float), np.nan) * factor
    return values, variable.long_name, unit


def place_titles(data: netCDF4.Dataset, dimension: str, shown: list[int]) -> list[str]:
    """Name and position of each place that is shown; for a station also the depth."""
    names = np.atleast_1d(data[f"{dimension}_name"][:])[shown]
    if dimension == "section":
        ends = [positions(data, f"{end}_", shown) for end in ("start", "end")]
        return [f"{name}: {start} to {end}" for name, start, end in zip(names, *ends, strict=True)]
    sizes = [f"{size:.0f}" if size >= 10 else f"{size:.2g}" for size in np.abs(data["depth"][shown])]
    deep = [f"{s} m {'deep' if d >= 0 else 'high'}" for s, d in zip(sizes, data["depth"][shown], strict=True)]
    return [f"{n}: {place}, {d}" for n, place, d in zip(names, positions(data, "", shown), deep, strict=True)]


def positions(data: netCDF4.Dataset, before: str, shown: list[int]) -> list[str]:
    """Positions of places that are shown, in words, from the coordinates whose names begin so."""
    earth = f"{before}lon" in data.variables
    pairs = zip(*(data[before + axis][shown] for axis in (("lon", "lat") if earth else "xy")), strict=True)
    if earth:
        return [f"{degrees(lon, 'EW')} {degrees(lat, 'NS')}" for lon, lat in pairs]
    pairs = [*pairs]
    size, unit = length_unit(float(np.abs(pairs).max()))
    return [f"x = {x / size:.6g} {unit}, y = {y / size:.6g} {unit}" for x, y in pairs]


def draw_hodographs(data: netCDF4.Dataset, shown: Sequence[int], titles: Sequence[str], caption: str) -> Figure:
    """The tips of the current's arrows at places over the run, from a dot on; one panel for each place."""
    (u, *of_u), (v, *of_v) = (at_places(data[name], list(shown)) for name in "uv")
    size = max(float(np.nanmax(np.abs([u, v]))), np.finfo(float).tiny)
    exponent = style.power_of_ten(size)
    columns = min(len(shown), ACROSS)
    rows = -(-len(shown) // columns)
    figure = caption_figure(0.6 + 2.9 * columns, 0.5 + 2.9 * rows, caption)
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axes in grid.flat[len(shown) :]:
        axes.remove()
    for axes, title, *current in zip(grid.flat, titles, u.T * 10.0**-exponent, v.T * 10.0**-exponent, strict=False):
        axes.axhline(0.0, color=style.QUIET, linewidth=0.4)
        axes.axvline(0.0, color=style.QUIET, linewidth=0.4)
        axes.plot(*current, color=style.LINE, linewidth=1.1)
        axes.plot(current[0][:1], current[1][:1], "o", color=style.LINE, markersize=4)
        axes.set_title(title.replace(": ", "\n", 1), loc="left", fontsize=8)
        axes.set(
            xlim=1.1 * size * 10.0**-exponent * np.array([-1, 1]), ylim=1.1 * size * 10.0**-exponent * np.array([-1, 1])
        )
        axes.set(box_aspect=1, xlabel=style.label(*of_u, exponent), ylabel=style.label(*of_v, exponent))
        axes.label_outer()
    return figure


def draw_curves(data: netCDF4.Dataset, curves: Sequence[Curve], caption: str, columns: int) -> Figure:
    """A figure of one panel for each curve, row by row over the same time axis; labels are above the panels."""
    rows = -(-len(curves) // columns)
    times, label = time_axis(data)
    dated, most = isinstance(times[0], datetime), 5 if columns > 1 else 8
    figure = caption_figure(7.2, 0.7 + (1.9 if len(curves) == 1 else 1.4) * rows, caption)
    grid = figure.subplots(rows, columns, sharex=True, squeeze=False)
    for axes in grid.flat[len(curves) :]:
        axes.remove()
    for number, (axes, (values, title)) in enumerate(zip(grid.flat, curves, strict=False)):
        axes.plot(times, values, color=style.LINE, linewidth=1.1, marker="." if times.size == 1 else "")
        axes.set_title(title, loc="left", fontsize=8)
        axes.spines[["top", "right"]].set_visible(False)
        axes.margins(x=0.01)
        locator = AutoDateLocator(minticks=2, maxticks=most) if dated else MaxNLocator(most, steps=STEPS)
        axes.xaxis.set_major_locator(locator)
        if dated:
            axes.xaxis.set_major_formatter(ConciseDateFormatter(locator, show_offset=False))
        axes.yaxis.set_major_locator(MaxNLocator(4))
        if number + columns >= len(curves):
            axes.tick_params(labelbottom=True)
            axes.set_xlabel(label)
    return figure


def caption_figure(width: float, height: float, caption: str) -> Figure:
    """A figure that lays itself out, with words at its top left."""
    figure = style.Picture(figsize=(width, height), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.06, h_pad=0.05)
    write_caption(figure, [caption])
    return figure
