"""Maps of the largest values of a run, with lines of equal time of the first arrival, and its gauges."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import netCDF4
import numpy as np
from matplotlib.figure import Figure

from ..ocean.table import ARRIVAL, MAXIMUM
from . import panels, style
from .dataset import PlotError, configuration, data_file, field_names, find_record, open_data
from .files import default_output, save
from .record import Map, read_map
from .scale import OF_RECORD, Scale, looks
from .series import DRAWN
from .titles import time_unit, titles

#: Seconds between isochrones: the first of these that gives at most so many lines.
STEPS, MOST = (60.0, 300.0, 600.0, 1800.0, 3600.0, 2 * 3600.0, 6 * 3600.0, 12 * 3600.0, 86400.0, 5 * 86400.0), 16


def plot_maxima(path, output=None, record: int = -1, time: float | None = None, scale: Scale = OF_RECORD) -> Path:
    """Draw the largest values of a run up to a record, with isochrones of the arrival, if there are any.

    Args:
        path: run folder, or its output.nc.
        output: picture to write (PNG, PDF or SVG by its name); None: output-maxima.png beside the data.
        record, time, scale: as for `maps.plot`.
    """
    file = data_file(path)
    with open_data(file) as data, mpl.rc_context(style.RC):
        figure = picture(data, find_record(data, record, time), scale)
        return save(figure, output or default_output(file, "maxima"))


def picture(data: netCDF4.Dataset, record: int, scale: Scale = OF_RECORD) -> Figure:
    """The figure of `plot_maxima`."""
    names = [name for name in field_names(data) if name.endswith(MAXIMUM)]
    arrivals = [name for name in field_names(data) if name.endswith(ARRIVAL)]
    if not names + arrivals:
        raise PlotError(f"{data.filepath()} has no largest values; set output.maxima or output.arrival for the run")
    maps = [read_map(data, name, record) for name in names or arrivals]
    own = [style.look([each], (None, top(each))) for each in maps]
    drawn = own if scale.ends == (None, None) else looks(data, maps, record, None, scale)
    timed = names and arrivals
    figure, _ = panels.draw(maps, drawn, 2 if timed else 1)
    axes, caption = [each for each in figure.axes if each.images], titles(data)(record)
    if timed:
        caption += "\n" + isochrones(axes, read_map(data, arrivals[0], record))
    panels.write_caption(figure, caption)
    for each in axes:
        mark_stations(each, data, maps[0])
    return figure


def top(field: Map) -> float | None:
    """The upper end of the colours, the largest value; None: the usual one."""
    high = float(field.values.max()) if field.values.count() else 0.0
    return high if field.name.endswith(MAXIMUM) and high > 0 else None


def isochrones(axes: Sequence, arrival: Map) -> str:
    """Draw lines of equal time on maps; returns their interval, in words."""
    latest = float(arrival.values.max()) if arrival.values.count() else 0.0
    step = next((each for each in STEPS if latest / each <= MOST), STEPS[-1])
    (unit, name), (scale, _) = time_unit(step), arrival.unit
    levels = np.arange(step, latest, step) / unit
    for each in axes if levels.size else ():
        place = arrival.x / scale, arrival.y / scale
        lines = each.contour(*place, arrival.values / unit, levels, colors=style.INK, linewidths=0.6)
        each.clabel(lines, fmt=lambda level: f"{level:g}", fontsize=6.5, inline_spacing=2)
    return f"lines: {arrival.long_name}, every {f'{step / unit:g} {name}' if step > unit else name.removesuffix('s')}"


def mark_stations(axes, data: netCDF4.Dataset, panel: Map) -> None:
    """A mark and the name of each gauge of the run on a map, of many at the first ones."""
    scale, _ = panel.unit
    for station in configuration(data).get("output", {}).get("stations", [])[:DRAWN]:
        x, y = panel.along_axes(*(station[key] for key in (("lon", "lat") if "lon" in station else ("x", "y"))))
        if x > panel.domain[1]:
            continue
        axes.plot(x / scale, y / scale, marker="o", ms=3.5, mfc="white", mec=style.INK, mew=0.8)
        look = {"fontsize": 6.5, "path_effects": style.EDGE}
        axes.annotate(station["name"], (x / scale, y / scale), (4, 3), textcoords="offset points", **look)
