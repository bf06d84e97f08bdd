"""The largest values of a run, the arrival of a wave, and the track of a storm on maps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import netCDF4
import numpy as np
from matplotlib.figure import Figure

from ..ocean.table import ARRIVAL, INUNDATION, MAXIMUM
from . import style
from .dataset import PlotError, configuration, data_file, field_names, find_record, open_data, seconds
from .derived import shown
from .files import default_output, save
from .ground import legend
from .known import config_of
from .overlays import NOTHING, Over, draw_layers
from .panels import coasts, draw
from .record import Map, along_axes, read_map
from .series import DRAWN
from .style import OF_RECORD, Scale
from .titles import time_unit, titles

#: Least number of units of time up to the last inundation.
FEWEST = 2
#: The name of the largest thickness.
FLOOD = f"h{MAXIMUM}"
#: Points of a storm's way.
WAY = 200
#: Least distance of the values on lines, and twice that from the edges, in widths of a map.
APART = 0.05
#: Seconds between isochrones: the first of these that gives at most so many lines.
STEPS, MOST = (60.0, 300.0, 600.0, 1800.0, 3600.0, 2 * 3600.0, 6 * 3600.0, 12 * 3600.0, 86400.0, 5 * 86400.0), 16


def plot_maxima(
    path, output=None, record: int = -1, time: float | None = None, scale: Scale = OF_RECORD, over: Over = NOTHING
) -> Path:
    """Draw the largest values of a run up to a record, with isochrones of the arrival, if there are any.

    Args:
        path: run folder, or its output.nc.
        output: picture to write (PNG, PDF or SVG by its name); None: output-maxima.png beside the data.
        record, time, scale, over: as for `plot`.
    """
    file = data_file(path)
    with open_data(file) as data, mpl.rc_context(style.RC):
        figure = largest(data, find_record(data, record, time), scale, over)
        return save(figure, output or default_output(file, "maxima"))


def largest(data: netCDF4.Dataset, record: int, scale: Scale = OF_RECORD, over: Over = NOTHING) -> Figure:
    """The figure of `plot_maxima`; its caption has the largest values, which may lie beyond the colours."""
    names = [name for name in field_names(data) if name.endswith(MAXIMUM)]
    arrivals = [name for name in field_names(data) if name.endswith(ARRIVAL) and name != INUNDATION]
    floods = [name for name in field_names(data) if name == INUNDATION]
    if not names + arrivals + floods:
        raise PlotError(f"{data.filepath()} has no largest values; set output.maxima or output.arrival for the run")
    maps = [on_land(shown(data, name, record)) for name in (names or arrivals) + floods]
    caption = [titles(data)(record), *legend(maps)]
    coast = any(len(coasts(each.ground)) for each in maps if each.ground and not each.slim)
    caption += ["black line: the coast at the start"] * coast
    caption += [at_most(each) for each in maps[: len(names)] if each.values.count()]
    looks = [style.looks(data, [each], [record], None, scale)[0] for each in maps]
    arrival = read_map(data, arrivals[0], record) if names and arrivals else None
    if arrival:
        levels, (size, unit), step = isochrones(arrival)
        apart = f"{step:g} {unit}" if step > 1 else unit.removesuffix("s")
        caption.append(f"lines: {arrival.long_name}, every {apart}")
    layers = over.layers(data, None, [record])
    figure, _ = draw(maps, looks, [*caption, *(words for words, _ in layers)])
    for axes in (each for each in figure.axes if each.images):
        if arrival and levels.size:
            lines = axes.contour(*arrival.places, arrival.values / size, levels, colors=style.INK, linewidths=0.6)
            lines.set_path_effects(style.EDGE)
            label_lines(axes, lines)
        mark_stations(axes, data, maps[0])
        mark_track(axes, data, maps[0], record)
    draw_layers(layers, figure, record)
    return figure


def at_most(field: Map) -> str:
    """The largest value of a field in words, such as "largest sea level so far: at most 2.1 m"."""
    return f"{field.long_name}: at most {field.values.max():.3g} {style.units_of(field.units)}".rstrip()


def on_land(field: Map) -> Map:
    """The largest thickness as the depth of floods, on ground that was dry at the start; their times in a good unit."""
    if field.ground is None or field.name not in (FLOOD, INUNDATION) or not field.values.count():
        return field
    if field.name == INUNDATION:
        size, unit = time_unit(float(field.values.max()) / FEWEST)
        return replace(field, values=field.values / size, units=unit, long_name="time of inundation")
    dry_at_start = ~np.ma.getmaskarray(field.ground.values)
    return replace(field, values=np.ma.masked_where(~dry_at_start, field.values), long_name="largest depth of flooding")


def label_lines(axes, lines) -> None:
    """Write its value on each line, in its longest part, far from other values and from the edges."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    unit = np.array([right - left, (high - low) * axes.bbox.width / axes.bbox.height])
    taken = np.empty((0, 2))
    for path in lines.get_paths():
        parts = [part for part in path.to_polygons(closed_only=False) if len(part) > 2]
        if not parts:
            continue
        part = max(parts, key=len)
        part = part[len(part) // 5 : len(part) - len(part) // 5]  # the ends lie at coasts and edges
        room = np.minimum(np.abs(part - [left, low]), np.abs(part - [right, high])) / unit
        apart = np.abs((part[:, None] - taken) / unit).max(axis=2).min(axis=1, initial=0.2)
        score = np.minimum(apart, 2 * room.min(axis=1))
        if score.max() > APART:
            best = part[int(score.argmax())]
            taken = np.vstack([taken, best])
            axes.clabel(lines, fmt=lambda level: f"{level:g}", fontsize=6.5, inline_spacing=2, manual=[best])


def isochrones(arrival: Map) -> tuple[np.ndarray, tuple[float, str], float]:
    """Round times up to the latest arrival, in a unit of time; that unit (s, name), and the step between them."""
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


def mark_track(axes, data: netCDF4.Dataset, panel: Map, record: int) -> None:
    """The way of a case's storm, by its function `centre`, and a mark where it is in a record."""
    config = config_of(data)
    if config is None or config.case.centre(config, 0.0) is None:
        return
    times, scale = seconds(data), panel.unit[0]
    way = np.array([config.case.centre(config, t) for t in [*np.linspace(0.0, times[-1], WAY), times[record]]]).T
    x, y = (each / scale for each in along_axes(panel, *way))
    look = {"color": style.TRACK, "path_effects": style.EDGE, "scalex": False, "scaley": False}
    axes.plot(x[:-1], y[:-1], linewidth=1.2, linestyle=(0, (4, 2)), **look)
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    if left <= x[-1] <= right and low <= y[-1] <= high:
        axes.plot(
            x[-1:], y[-1:], marker="o", markersize=6, fillstyle="none", markeredgewidth=1.5, clip_on=False, **look
        )
