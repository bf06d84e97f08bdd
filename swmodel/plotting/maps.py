"""Maps of a run (one panel for each field), of derivatives, of tides and of a grid."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import netCDF4
import numpy as np
from matplotlib.figure import Figure

from ..files.run_folder import ANALYSIS, ENSEMBLE, SENSITIVITY, SNAPSHOTS
from . import assimilation, ensemble, spectrum, style
from .dataset import PlotError, data_file, find_field, find_record, open_data, seconds, stored
from .derived import changes, chosen, shown
from .files import default_output, save
from .ground import legend, of_depth
from .overlays import NOTHING, Over, draw_layers
from .panels import draw
from .record import Map, along_axes, read_map, true_places
from .style import OF_RECORD, Scale
from .titles import run_name, titles

log = logging.getLogger(__name__)

#: The files of a run folder that `plot` draws: the first of them.
DRAWABLE = (*SNAPSHOTS, ENSEMBLE, SENSITIVITY, ANALYSIS)
#: The colour of marks on cells of a grid that were closed.
MARK = "#d7301f"
#: Names in a file of harmonic constants, and degrees between lines of equal phase.
AMPLITUDE, PHASE, AXIS, EVERY = "_amplitude", "_phase", "constituent", 30
#: The part of the largest amplitude below which there are no lines of equal phase: they crowd there.
FAINT = 0.003


def plot(
    path,
    fields: Sequence[str] | None = None,
    record: int = -1,
    time: float | None = None,
    output=None,
    member: int | None = None,
    scale: Scale = OF_RECORD,
    over: Over = NOTHING,
) -> Path:
    """Draw fields of one record into a picture beside the data.

    Args:
        path: run folder or NetCDF file; also of an ensemble, of sensitivities, of tides or of an assimilation.
        fields: names of fields. With None, the picture of a run has relative vorticity and sea level, or others if
            these are zero. An ensemble has mean and spread of its sea level, and time series. Sensitivities have all
            maps, tides the amplitudes with lines of equal phase, and an assimilation its summary.
        record: number of the record; negative ones count from the last.
        time: model time, s; the nearest record is drawn.
        output: picture to write (PNG, PDF or SVG by its name); None: a PNG named after the data and the fields.
        member: the member of an ensemble whose fields are drawn.
        scale: the values at the ends of the colours.
        over: arrows of the current and lines of equal value, over each map.
    """
    file = data_file(path, *DRAWABLE)
    with open_data(file) as data, mpl.rc_context(style.RC):
        summary = fields is None and assimilation.is_analysis(data)
        target = file.with_name(assimilation.PICTURE) if summary else default_output(file, fields, member=member)
        return save(figure_of(data, fields, record, time, member, scale, over), output or target)


def figure_of(data: netCDF4.Dataset, fields, record, time, member, scale: Scale, over: Over) -> Figure:
    """The figure that `plot` writes."""
    whole, plain = fields is None and member is None, over == NOTHING and scale == OF_RECORD
    if "wavenumber" in data.dimensions or (whole and assimilation.is_analysis(data)):
        if not (whole and plain):
            raise PlotError(f"the picture of {data.filepath()} has no fields, members, colours or arrows to choose")
        return spectrum.picture(data, record, time) if "wavenumber" in data.dimensions else assimilation.picture(data)
    if whole and "realization" in data.dimensions:
        if over.fields:
            raise PlotError("arrows and contours are drawn over fields of a member: name one, or name fields")
        return ensemble.picture(data, record, time, scale)
    if hasattr(data, "quantity") and member is None:
        return derivatives(data, fields and chosen(data, fields), scale, over)
    if AXIS in data.dimensions and member is None:
        return constants(data, fields and chosen(data, fields), scale, over)
    return picture(data, chosen(data, fields), record, time, member, scale, over)


def draw_results(file) -> None:
    """Draw the picture of a file beside it, like `plot`; a failure is only logged, as the results are complete."""
    try:
        plot(file)
    except Exception as error:
        log.warning("no picture: %s", error)


def picture(
    data: netCDF4.Dataset, names: Sequence[str], record: int = -1, time=None, member=None, scale=OF_RECORD, over=NOTHING
) -> Figure:
    """The figure of some fields of one record: see `plot`."""
    caption = run_name(data)
    if any(changes(data, name) for name in (*names, *over.fields)):
        record = find_record(data, record, time)
        caption = titles(data)(record)
    return panels_of(
        data, [shown(data, name, record, member) for name in names], [caption], record, member, scale, over
    )


def panels_of(
    data: netCDF4.Dataset,
    maps: list[Map],
    caption: list[str],
    record: int = -1,
    member=None,
    scale=OF_RECORD,
    over=NOTHING,
) -> Figure:
    """A figure of maps of one record, with what is wanted over them."""
    whole = range(seconds(data).size) if scale.range == "run" else []
    layers = over.layers(data, member, whole or [record])
    looks = style.looks(data, maps, [record], member, scale)
    figure, _ = draw(maps, looks, [*caption, *legend(maps), *(words for words, _ in layers)])
    draw_layers(layers, figure, record)
    return figure


def derivatives(data: netCDF4.Dataset, names=None, scale: Scale = OF_RECORD, over: Over = NOTHING) -> Figure:
    """The figure of some fields of a file of sensitivities, or of all derivatives that are maps, with its place."""
    names = names or [name for name, v in data.variables.items() if name.startswith("d_") and v.ndim == 2]
    if not names:
        raise PlotError(f"{data.filepath()} holds no map, only numbers; `swmodel info` and status.json have them")
    maps = []
    for each in (read_map(data, name) for name in names):
        of, _, by = each.long_name.removeprefix("derivative of ").rpartition(" with respect to ")
        maps.append(replace(each, long_name=f"∂({of}) / ∂({by})", units=f"{each.units} per cell") if of else each)
    value, units = f"{float(data.quantity_value):.4g}", style.units_of(data.quantity_units)
    caption = f"{run_name(data)}, {data.quantity_long_name}: {value} {units}".removeprefix(", ")
    figure = panels_of(data, maps, [caption], scale=scale, over=over)
    x, y = (np.atleast_1d(getattr(data, f"quantity_{axis}", [])) for axis in "xy")
    x, y = (each / maps[0].unit[0] for each in along_axes(maps[0], *true_places(data, x, y)))
    line = {"color": style.INK, "linewidth": 1.2, "path_effects": style.EDGE, "scalex": False, "scaley": False}
    station = {"marker": "o", "markersize": 5, "fillstyle": "none"} if len(x) == 1 else {}
    for axes in figure.axes:
        if axes.images and len(x):
            axes.plot(x, y, **line, **station)
    return figure


def constants(data: netCDF4.Dataset, names=None, scale: Scale = OF_RECORD, over: Over = NOTHING) -> Figure:
    """The figure of some fields of a file of harmonic constants, or of the amplitudes of its first field.

    A field has a panel for each constituent.
    """
    if over.fields:
        raise PlotError("maps of harmonic constants have lines of equal phase, and no arrows or contours besides")
    fields = names or [name for name in data.variables if name.endswith(AMPLITUDE)][:1]
    pairs = [pair for name in fields for pair in maps_and_phases(data, name)]
    days = f"harmonic analysis of days {data.first_day:.4g} to {data.last_day:.4g}"
    caption = [f"{run_name(data)}, {days}".removeprefix(", ")]
    if any(phase for _, phase in pairs):
        caption.append(f"lines: phase lag behind Greenwich, every {EVERY}°; thick: 0°")
    figure = panels_of(data, [each for each, _ in pairs], caption, scale=scale)
    maps = [axes for axes in figure.axes if axes.images]
    for axes, (amplitude, phase) in zip(maps, pairs, strict=False):
        if phase:
            weak = amplitude.values < FAINT * style.spans(amplitude.values)[1, 1]
            draw_phase(axes, replace(phase, values=np.ma.masked_where(weak, phase.values)))
    return figure


def maps_and_phases(data: netCDF4.Dataset, name: str) -> Iterator[tuple[Map, Map | None]]:
    """The map of a field, or those of its constituents; behind each amplitude the map of its phase, else None."""
    if find_field(data, name).dimensions[0] != AXIS:
        yield read_map(data, name), None
        return
    for number, each in enumerate(data[AXIS][:]):
        found = read_map(data, name, along=number)
        phase = name.endswith(AMPLITUDE) and read_map(data, name.removesuffix(AMPLITUDE) + PHASE, along=number)
        yield replace(found, long_name=f"{each}: {found.long_name}"), phase or None


def draw_phase(axes, phase: Map) -> None:
    """Lines of equal phase: where the sine of the difference passes zero and its cosine is positive."""
    for degrees in range(0, 360, EVERY):
        rest = np.radians(phase.values - degrees)
        near = np.ma.masked_where(np.cos(rest) <= 0, np.sin(rest))
        if near.count() and near.min() < 0 < near.max():
            pen = {"colors": style.INK, "linewidths": 0.5 if degrees else 1.1}
            axes.contour(*phase.places, near, [0.0], **pen).set_path_effects(style.EDGE)


def plot_grid(file) -> Path:
    """Draw the depth of a file of `swmodel grid` into a picture beside it, with a mark on each cell that was closed."""
    file = Path(file)
    with open_data(file) as data, mpl.rc_context(style.RC):
        depth, closed = of_depth(data), stored(data, "closed", -1, None)
        rows, columns = np.nonzero(np.ma.filled(closed, 0))
        places = along_axes(depth, *true_places(data, data["x_c"][:][columns], data["y_c"][:][rows]))
        marks = f"; red: {rows.size} cell{'s' * (rows.size > 1)} that became land" if rows.size else ""
        figure = panels_of(data, [depth], [f"{file.name}{marks}"])
        figure.axes[0].scatter(*places, s=5, marker="s", color=MARK, linewidths=0)
        return save(figure, file.with_suffix(".png"))
