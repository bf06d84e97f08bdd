"""Maps of the largest values of a run, with lines of equal time of the first arrival, and its gauges."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import netCDF4
import numpy as np
from matplotlib.figure import Figure

from ..ocean.table import ARRIVAL, MAXIMUM
from . import style
from .dataset import PlotError, configuration, data_file, field_names, find_record, open_data
from .files import default_output, save
from .panels import draw
from .record import Map, along_axes, read_map
from .series import DRAWN
from .style import OF_RECORD, Scale
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
    """The figure of `plot_maxima`; unless ends are given, the colours of a largest value end with it."""
    names = [name for name in field_names(data) if name.endswith(MAXIMUM)]
    arrivals = [name for name in field_names(data) if name.endswith(ARRIVAL)]
    if not names + arrivals:
        raise PlotError(f"{data.filepath()} has no largest values; set output.maxima or output.arrival for the run")
    maps, caption = [read_map(data, name, record) for name in names or arrivals], [titles(data)(record)]
    tops = [float(each.values.max()) if names and each.values.count() else 0.0 for each in maps]
    scales = [replace(scale, high=top) if scale.ends == (None, None) and top > 0 else scale for top in tops]
    looks = [style.looks(data, [each], [record], None, one)[0] for each, one in zip(maps, scales, strict=True)]
    arrival = read_map(data, arrivals[0], record) if names and arrivals else None
    if arrival:
        levels, (size, unit), step = isochrones(arrival)
        apart = f"{step:g} {unit}" if step > 1 else unit.removesuffix("s")
        caption.append(f"lines: {arrival.long_name}, every {apart}")
    figure, _ = draw(maps, looks, caption)
    for axes in (each for each in figure.axes if each.images):
        if arrival and levels.size:
            lines = axes.contour(*arrival.places, arrival.values / size, levels, colors=style.INK, linewidths=0.6)
            axes.clabel(lines, fmt=lambda level: f"{level:g}", fontsize=6.5, inline_spacing=2)
        mark_stations(axes, data, maps[0])
    return figure


def isochrones(arrival: Map) -> tuple[np.ndarray, tuple[float, str], float]:
    """Round times up to the latest arrival, in a unit of time; the unit, s and its name; and the step between them."""
    latest = float(arrival.values.max()) if arrival.values.count() else 0.0
    step = next((each for each in STEPS if latest / each <= MOST), STEPS[-1])
    unit = time_unit(step)
    return np.arange(step, latest, step) / unit[0], unit, step / unit[0]


def mark_stations(axes, data: netCDF4.Dataset, panel: Map) -> None:
    """A mark and the name of each gauge of the run on a map, of many at the first ones."""
    scale, _ = panel.unit
    for station in configuration(data).get("output", {}).get("stations", [])[:DRAWN]:
        x, y = along_axes(panel, *(station[key] for key in (("lon", "lat") if "lon" in station else ("x", "y"))))
        if x > panel.domain[1]:
            continue
        axes.plot(x / scale, y / scale, marker="o", ms=3.5, mfc="white", mec=style.INK, mew=0.8)
        look = {"fontsize": 6.5, "path_effects": style.EDGE}
        axes.annotate(station["name"], (x / scale, y / scale), (4, 3), textcoords="offset points", **look)
