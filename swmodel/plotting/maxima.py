"""Maps of the largest values of a run, the arrival of a wave, and the track of a storm."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import netCDF4
import numpy as np
from matplotlib.figure import Figure

from ..ocean.coordinates import has_lon_lat
from ..ocean.table import ARRIVAL_SUFFIX, INUNDATION, MAXIMUM_SUFFIX
from . import style
from .analytic_solutions import read_builtin_config
from .dataset import PlotError, field_names, find_data_file, find_record, open_data, read_configuration, record_times
from .derived import read_displayed_field
from .field_map import FieldMap, positions_of_lon_lat, read_map
from .files import default_output, save_figure
from .ground import ground_legend
from .overlays import NO_OVERLAYS, Overlays, draw_layers
from .panels import coast_lines, draw_panels
from .series import MAX_PANELS
from .style import RECORD_RANGE, ColourRange
from .titles import make_title_formatter, time_unit

#: The unit for times of inundation is chosen so that the latest time is at least this many units.
MIN_TIME_UNITS = 2
MAX_THICKNESS_FIELD = f"h{MAXIMUM_SUFFIX}"
#: Number of points of a storm's track.
N_TRACK_POINTS = 200
#: Smallest distance between the labels of lines, in map widths; labels keep half of this distance from the edges.
MIN_LABEL_DISTANCE = 0.05
#: Possible intervals between isochrones, s; the first with at most MAX_ISOCHRONES lines is used, or else the last.
ISOCHRONE_INTERVALS_SECONDS = 60.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0, 21600.0, 43200.0, 86400.0, 432000.0
MAX_ISOCHRONES = 16


def plot_maxima(
    path,
    output=None,
    record: int = -1,
    time: float | None = None,
    colour_range: ColourRange = RECORD_RANGE,
    overlays: Overlays = NO_OVERLAYS,
) -> Path:
    """Draw the largest values of a run up to a record, with isochrones of the arrival of a wave if the run has them.

    Args:
        path: run folder, or its output.nc.
        output: picture to write (PNG, PDF or SVG by its name); None: output-maxima.png next to the data.
        record, time, colour_range, overlays: as for `plot`.
    """
    file = find_data_file(path)
    with open_data(file) as data, mpl.rc_context(style.RC_PARAMS):
        figure = draw_maxima(data, find_record(data, record, time), colour_range, overlays)
        return save_figure(figure, output or default_output(file, "maxima"))


def draw_maxima(
    data: netCDF4.Dataset, record: int, colour_range: ColourRange = RECORD_RANGE, overlays: Overlays = NO_OVERLAYS
) -> Figure:
    """The figure of `plot_maxima`; its caption gives the largest values, which may exceed the colour scale."""
    maximum_names = [name for name in field_names(data) if name.endswith(MAXIMUM_SUFFIX)]
    arrival_names = [name for name in field_names(data) if name.endswith(ARRIVAL_SUFFIX) and name != INUNDATION]
    inundation_names = [INUNDATION] if INUNDATION in field_names(data) else []
    if not maximum_names + arrival_names + inundation_names:
        raise PlotError(f"{data.filepath()} has no largest values; set output.maxima or output.arrival for the run")
    shown_names = (maximum_names or arrival_names) + inundation_names
    maps = [to_flood_map(read_displayed_field(data, name, record)) for name in shown_names]
    caption = [make_title_formatter(data)(record), *ground_legend(maps)]
    has_coast = any(len(coast_lines(each.ground)) for each in maps if each.ground and not each.is_drawn_as_line)
    caption += ["black line: the coast at the start"] * has_coast
    caption += [describe_maximum(each) for each in maps[: len(maximum_names)] if each.values.count()]
    field_styles = [style.make_styles(data, [each], [record], None, colour_range)[0] for each in maps]
    arrival = read_map(data, arrival_names[0], record) if maximum_names and arrival_names else None
    if arrival:
        levels, (unit_seconds, unit), interval = isochrone_levels(arrival)
        interval_text = f"{interval:g} {unit}" if interval > 1 else unit.removesuffix("s")
        caption.append(f"lines: {arrival.long_name}, every {interval_text}")
    layers = overlays.make_layers(data, None, [record])
    figure, _ = draw_panels(maps, field_styles, [*caption, *(legend for legend, _ in layers)])
    for axes in (each for each in figure.axes if each.images):
        if arrival and levels.size:
            options: dict[str, Any] = {"colors": style.DARK_GREY, "linewidths": 0.6}
            isochrones = axes.contour(*arrival.axis_positions, arrival.values / unit_seconds, levels, **options)
            isochrones.set_path_effects(style.WHITE_OUTLINE)
            label_contours(axes, isochrones)
        mark_stations(axes, data, maps[0])
        mark_track(axes, data, maps[0], record)
    draw_layers(layers, figure, record)
    return figure


def describe_maximum(field: FieldMap) -> str:
    """The largest value of a field in words, such as "largest sea level so far: at most 2.1 m"."""
    return f"{field.long_name}: at most {field.values.max():.3g} {style.format_units(field.units)}".rstrip()


def to_flood_map(field: FieldMap) -> FieldMap:
    """The field as it is drawn if the run has drying.

    The largest thickness becomes the depth of flooding, only on ground that was dry at the start. Times of inundation
    get a suitable unit. Other fields are unchanged.
    """
    if field.ground is None or field.name not in (MAX_THICKNESS_FIELD, INUNDATION) or not field.values.count():
        return field
    if field.name == INUNDATION:
        unit_seconds, unit = time_unit(float(field.values.max()) / MIN_TIME_UNITS)
        return replace(field, values=field.values / unit_seconds, units=unit, long_name="time of inundation")
    dry_at_start = ~np.ma.getmaskarray(field.ground.values)
    return replace(field, values=np.ma.masked_where(~dry_at_start, field.values), long_name="largest depth of flooding")


def label_contours(axes, contours) -> None:
    """Write the value of each line on its part with the most points, far from other labels and from the edges."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    map_size = np.array([right - left, (high - low) * axes.bbox.width / axes.bbox.height])
    label_positions = np.empty((0, 2))
    for path in contours.get_paths():
        parts = [part for part in path.to_polygons(closed_only=False) if len(part) > 2]
        if not parts:
            continue
        part = max(parts, key=len)
        part = part[len(part) // 5 : len(part) - len(part) // 5]  # the ends of a part lie at coasts and edges
        edge_distance = np.minimum(np.abs(part - [left, low]), np.abs(part - [right, high])) / map_size
        label_distance = np.abs((part[:, None] - label_positions) / map_size).max(axis=2).min(axis=1, initial=0.2)
        score = np.minimum(label_distance, 2 * edge_distance.min(axis=1))
        if score.max() > MIN_LABEL_DISTANCE:
            best = part[int(score.argmax())]
            label_positions = np.vstack([label_positions, best])
            axes.clabel(contours, fmt=lambda level: f"{level:g}", fontsize=6.5, inline_spacing=2, manual=[best])


def isochrone_levels(arrival: FieldMap) -> tuple[np.ndarray, tuple[float, str], float]:
    """The times of isochrones before the latest arrival, their unit (seconds in it, name), and their interval in it."""
    latest = float(arrival.values.max()) if arrival.values.count() else 0.0
    suitable = (each for each in ISOCHRONE_INTERVALS_SECONDS if latest / each <= MAX_ISOCHRONES)
    interval = next(suitable, ISOCHRONE_INTERVALS_SECONDS[-1])
    unit = time_unit(interval)
    return np.arange(interval, latest, interval) / unit[0], unit, interval / unit[0]


def mark_stations(axes, data: netCDF4.Dataset, field_map: FieldMap) -> None:
    """Draw a mark and the name of each of the first MAX_PANELS gauges of the run on a map."""
    scale, _ = field_map.axis_unit
    for station in read_configuration(data).get("output", {}).get("stations", [])[:MAX_PANELS]:
        if "lon" in station:
            x, y = positions_of_lon_lat(field_map, station["lon"], station["lat"])
        else:
            x, y = station["x"], station["y"]
        if x > field_map.domain[1]:  # `wrap_to_domain` moves longitudes outside the map to the east of it
            continue
        axes.plot(x / scale, y / scale, marker="o", ms=3.5, mfc="white", mec=style.DARK_GREY, mew=0.8)
        text_options = {"fontsize": 6.5, "path_effects": style.WHITE_OUTLINE}
        axes.annotate(station["name"], (x / scale, y / scale), (4, 3), textcoords="offset points", **text_options)


def mark_track(axes, data: netCDF4.Dataset, field_map: FieldMap, record: int) -> None:
    """Draw the track of the storm of a built-in case (`case.centre`), and a mark at its position in a record."""
    config = read_builtin_config(data)
    if config is None or config.case.centre(config, 0.0) is None:
        return
    record_time, end_time = record_times(data)[[record, -1]]
    times = [*np.linspace(0.0, end_time, N_TRACK_POINTS), record_time]
    track = np.array([config.case.centre(config, time) for time in times]).T
    x, y = positions_of_lon_lat(field_map, *track) if has_lon_lat(config.grid) else track
    # Longitudes jump where the track crosses the edge of a map round the Earth.
    crossings = np.flatnonzero(field_map.is_geographic & (np.abs(np.diff(x[:-1])) > 180.0)) + 1
    x, y = x / field_map.axis_unit[0], y / field_map.axis_unit[0]
    options = {"color": style.TRACK_COLOUR, "path_effects": style.WHITE_OUTLINE, "scalex": False, "scaley": False}
    line = (np.insert(each[:-1], crossings, np.nan) for each in (x, y))
    axes.plot(*line, linewidth=1.2, linestyle=(0, (4, 2)), **options)
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    if left <= x[-1] <= right and low <= y[-1] <= high:
        options |= {"marker": "o", "markersize": 6, "fillstyle": "none", "markeredgewidth": 1.5, "clip_on": False}
        axes.plot(x[-1:], y[-1:], **options)
