"""Pictures of time series, one panel each: of the whole domain, at the gauges of a run, and through its sections."""

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
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import Locator, MaxNLocator

from ..errors import suggest
from ..files.run_folder import DIAGNOSTICS, SECTIONS, STATIONS
from ..ocean.table import INFLOW_PREFIX
from . import style
from .dataset import (
    NON_INTEGRAL_SERIES,
    PlotError,
    absolute_series_names,
    find_data_file,
    integral_names,
    open_data,
    record_times,
)
from .field_map import format_degrees, length_unit
from .files import default_output, save_figure
from .observed import read_observed
from .panels import TICK_STEPS, write_caption
from .titles import run_name, time_axis

#: Values and label of a curve.
Curve = tuple[np.ndarray, str]

#: The field name that selects hodographs of the current, and the number of hodographs side by side.
CURRENT_FIELD, HODOGRAPHS_PER_ROW = "current", 3
#: Largest number of panels in a figure with one column, and in any figure, which leaves out further gauges or sections.
MAX_PANELS_IN_COLUMN, MAX_PANELS = 8, 40
#: {unit in the file: (factor, unit in pictures)}, where they differ.
DISPLAY_UNITS = {"m3 s-1": (1e-6, "Sv")}


def plot_diagnostics(path, output=None) -> Path:
    """Draw mass, energy, extremes and other series of the whole domain into a picture next to their file.

    Args:
        path: run folder, or the file of the time series.
        output: picture to write (PNG, PDF or SVG by its name); None: diagnostics.png next to the data.
    """
    file = find_data_file(path, DIAGNOSTICS)
    with open_data(file) as data, mpl.rc_context(style.RC_PARAMS):
        rows = zip_longest(integral_names(data), absolute_series_names(data))  # left and right column
        names = [name for row in rows for name in row if name]
        if not names or record_times(data).size == 0:
            raise PlotError(f"{file} holds no record of mass, energy, ..., {', '.join(NON_INTEGRAL_SERIES)}")
        figure = draw_curves(data, [domain_curve(data[name]) for name in names], run_name(data), columns=2)
        return save_figure(figure, output or file.with_suffix(".png"))


def domain_curve(variable) -> Curve:
    """The curve of a series of the whole domain.

    Integrals are shown as relative changes since the start, unless a change is as large as the first value.
    """
    values = np.ma.filled(variable[:].astype(float), np.nan)
    long_name, units = getattr(variable, "long_name", variable.name.replace("_", " ")), getattr(variable, "units", "1")
    is_integral = variable.name not in NON_INTEGRAL_SERIES and not variable.name.startswith(INFLOW_PREFIX)
    if is_integral and np.nanmax(np.abs(values - values[0])) < abs(values[0]):
        values, units = (values - values[0]) / abs(values[0]), "1"
        long_name = f"relative change of {variable.name.replace('_', ' ')}"
    return scale_to_power_of_ten(values, long_name, units)


def scale_to_power_of_ten(values: np.ndarray, long_name: str, units: str) -> Curve:
    """The values divided by a suitable power of ten, and their label."""
    exponent = style.power_of_ten(float(np.nanmax(np.abs(values), initial=0.0)))
    return values * 10.0**-exponent, style.axis_label(long_name, units, exponent)


def plot_stations(
    path, field: str | None = None, output=None, names: Sequence[str] = (), observed: Sequence[str] = ()
) -> Path:
    """Draw the series at the gauges `names`, or at the first MAX_PANELS, into a picture next to their file.

    Observed sea level is drawn as dots; the title gives the rms of its difference from the run. Levels relative to the
    gauge's own datum (`files.gauge_series`) are shifted so that the mean difference is zero.

    Args:
        path: run folder, or its stations.nc.
        field: eta, u, v, a tracer, or "current" for hodographs; None: eta.
        output: picture to write (PNG, PDF or SVG by its name); None: stations.png next to the data, or stations-u.png
            for the field u.
        names: names of gauges.
        observed: files of observed sea level, "NAME=FILE", or FILE if one gauge is drawn.
    """
    return plot_sites(find_data_file(path, STATIONS), "station", field or "eta", output, names, observed)


def plot_sections(path, output=None) -> Path:
    """Draw the transports through the first MAX_PANELS sections of a run, like `plot_stations`."""
    return plot_sites(find_data_file(path, SECTIONS), "section", "transport", output)


def plot_sites(
    file: Path, dimension: str, field: str, output, site_names: Sequence[str] = (), observed: Sequence[str] = ()
) -> Path:
    """Write the figure of `draw_sites`; `dimension` is "station" or "section"."""
    with open_data(file) as data, mpl.rc_context(style.RC_PARAMS):
        names = [name for name, v in data.variables.items() if v.dimensions == ("time", dimension)]
        names += [CURRENT_FIELD] if {"u", "v"} <= set(names) else []
        if not names:
            raise PlotError(f"{file} holds no series at {dimension}s")
        if field not in names:
            raise PlotError(f"no {field} in {file}; {suggest(field, names)}")
        if not len(data.dimensions["time"]):
            raise PlotError(f"{file} holds no value yet")
        figure = draw_sites(data, dimension, field, site_names, observed)
        return save_figure(figure, output or default_output(file, field if field not in ("eta", "transport") else None))


def draw_sites(
    data: netCDF4.Dataset, dimension: str, field: str, site_names: Sequence[str] = (), observed: Sequence[str] = ()
) -> Figure:
    """A figure with one panel for each gauge or section, titled with its name and position."""
    indices, total = choose_sites(data, dimension, site_names), len(data.dimensions[dimension])
    hint = ": --station NAME draws others" if dimension == "station" else ""
    count_text = f"{len(indices)} of {total} {dimension}s{hint}" if len(indices) < total else ""
    caption = ", ".join(filter(None, (run_name(data), count_text)))
    titles = site_titles(data, dimension, indices)
    if observed and field != "eta":
        raise PlotError(f"observations are sea levels and cannot be compared with {field}; choose the field eta")
    if field == CURRENT_FIELD:
        return draw_hodographs(data, indices, titles, caption)
    values, long_name, unit = read_sites(data[field], indices)
    comparisons = read_observed(data, indices, values, observed) if observed else {}
    titles = [f"{title}{comparisons[n].title_suffix if n in comparisons else ''}" for n, title in enumerate(titles)]
    exponent = style.power_of_ten(float(np.nanmax(np.abs(values), initial=0.0)))
    curves = [*zip((values * 10.0**-exponent).T, titles, strict=True)]
    figure = draw_curves(data, curves, caption, 1 if len(indices) <= MAX_PANELS_IN_COLUMN else 2)
    for number, (times, levels, _) in comparisons.items():
        figure.axes[number].plot(times, levels * 10.0**-exponent, ".", color=style.REFERENCE_COLOUR, markersize=3)
    figure.supylabel(style.axis_label(long_name, unit, exponent), fontsize=8)
    return figure


def choose_sites(data: netCDF4.Dataset, dimension: str, site_names: Sequence[str] = ()) -> list[int]:
    """The indices of the gauges or sections to draw: those called `site_names`, or else the first MAX_PANELS."""
    index_by_name = {str(name): number for number, name in enumerate(np.atleast_1d(data[f"{dimension}_name"][:]))}
    for name in site_names:
        if name not in index_by_name:
            names = list(index_by_name)[:MAX_PANELS]
            raise PlotError(f'no {dimension} "{name}" in {data.filepath()}; {suggest(name, names)}')
    if len(site_names) > MAX_PANELS:
        raise PlotError(f"{len(site_names)} {dimension}s are named; a picture shows {MAX_PANELS} at most")
    return [index_by_name[name] for name in site_names] or list(range(len(index_by_name)))[:MAX_PANELS]


def read_sites(variable, indices: list[int]) -> tuple[np.ndarray, str, str]:
    """Values [time, site] of a variable at some gauges or sections, its long name, and the unit of the values."""
    factor, unit = DISPLAY_UNITS.get(variable.units, (1.0, variable.units))
    values = np.ma.filled(np.ma.asarray(variable[:, indices], dtype=float), np.nan) * factor
    return values, variable.long_name, unit


def site_titles(data: netCDF4.Dataset, dimension: str, indices: list[int]) -> list[str]:
    """Name and position of each gauge or section; for a gauge also the depth."""
    names = np.atleast_1d(data[f"{dimension}_name"][:])[indices]
    if dimension == "section":
        end_positions = [format_positions(data, f"{end}_", indices) for end in ("start", "end")]
        return [f"{name}: {start} to {end}" for name, start, end in zip(names, *end_positions, strict=True)]
    positions, depths = format_positions(data, "", indices), map(format_depth, data["depth"][indices])
    return [f"{name}: {position}, {depth}" for name, position, depth in zip(names, positions, depths, strict=True)]


def format_depth(depth: float) -> str:
    """A depth in words; a negative one is the height of ground."""
    metres = f"{abs(depth):.0f}" if abs(depth) >= 10 else f"{abs(depth):.2g}"
    return f"{metres} m {'deep' if depth >= 0 else 'high'}"


def format_positions(data: netCDF4.Dataset, prefix: str, indices: list[int]) -> list[str]:
    """Positions of sites as text, from the coordinates whose names begin with `prefix`."""
    is_geographic = f"{prefix}lon" in data.variables
    names = ("lon", "lat") if is_geographic else ("x", "y")
    pairs = [*zip(*(data[prefix + name][indices] for name in names), strict=True)]
    if is_geographic:
        return [f"{format_degrees(lon, 'EW')} {format_degrees(lat, 'NS')}" for lon, lat in pairs]
    scale, unit = length_unit(float(np.abs(pairs).max()))
    return [f"x = {x / scale:.6g} {unit}, y = {y / scale:.6g} {unit}" for x, y in pairs]


def draw_hodographs(data: netCDF4.Dataset, indices: Sequence[int], titles: Sequence[str], caption: str) -> Figure:
    """A figure with a hodograph for each site: the path of the tip of the current vector, with a dot at its start."""
    (u, u_name, u_units), (v, v_name, v_units) = (read_sites(data[name], list(indices)) for name in "uv")
    max_speed = float(np.nanmax(np.abs([u, v]), initial=np.finfo(float).tiny))
    exponent = style.power_of_ten(max_speed)
    limit = 1.1 * max_speed * 10.0**-exponent
    columns = min(len(indices), HODOGRAPHS_PER_ROW)
    rows = -(-len(indices) // columns)
    figure = make_captioned_figure(0.6 + 2.9 * columns, 0.5 + 2.9 * rows, caption)
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axes in grid.flat[len(indices) :]:
        axes.remove()
    for axes, title, *current in zip(grid.flat, titles, u.T * 10.0**-exponent, v.T * 10.0**-exponent, strict=False):
        axes.axhline(0.0, color=style.MID_GREY, linewidth=0.4)
        axes.axvline(0.0, color=style.MID_GREY, linewidth=0.4)
        axes.plot(*current, color=style.LINE_COLOUR, linewidth=1.1)
        axes.plot(current[0][:1], current[1][:1], "o", color=style.LINE_COLOUR, markersize=4)
        axes.set_title(title.replace(": ", "\n", 1), loc="left", fontsize=8)
        axes.set(xlim=(-limit, limit), ylim=(-limit, limit), box_aspect=1)
        axes.set(xlabel=style.axis_label(u_name, u_units, exponent), ylabel=style.axis_label(v_name, v_units, exponent))
        axes.label_outer()
    return figure


def draw_curves(data: netCDF4.Dataset, curves: Sequence[Curve], caption: str, columns: int) -> Figure:
    """A figure with one panel for each curve, row by row, with a common time axis and the labels as titles."""
    rows = -(-len(curves) // columns)
    times, label = time_axis(data)
    has_date_axis = isinstance(times[0], datetime)
    max_ticks = 5 if columns > 1 else 8
    figure = make_captioned_figure(7.2, 0.7 + (1.9 if len(curves) == 1 else 1.4) * rows, caption)
    grid = figure.subplots(rows, columns, sharex=True, squeeze=False)
    for axes in grid.flat[len(curves) :]:
        axes.remove()
    for number, (axes, (values, title)) in enumerate(zip(grid.flat, curves, strict=False)):
        axes.plot(times, values, color=style.LINE_COLOUR, linewidth=1.1, marker="." if times.size == 1 else "")
        axes.set_title(title, loc="left", fontsize=8)
        axes.spines[["top", "right"]].set_visible(False)
        axes.margins(x=0.01)
        locator: Locator = MaxNLocator(max_ticks, steps=TICK_STEPS)
        if has_date_axis:
            locator = AutoDateLocator(minticks=2, maxticks=max_ticks)
            axes.xaxis.set_major_formatter(ConciseDateFormatter(locator, show_offset=False))
        axes.xaxis.set_major_locator(locator)
        axes.yaxis.set_major_locator(MaxNLocator(4))
        if number + columns >= len(curves):
            axes.tick_params(labelbottom=True)
            axes.set_xlabel(label)
    return figure


def make_captioned_figure(width: float, height: float, caption: str) -> Figure:
    layout = ConstrainedLayoutEngine(w_pad=0.06, h_pad=0.05)
    figure = style.NotebookFigure(figsize=(width, height), layout=layout)
    write_caption(figure, [caption])
    return figure
