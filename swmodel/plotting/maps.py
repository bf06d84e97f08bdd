"""Maps of a run (one panel for each field), of derivatives, of tides and of a grid."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import netCDF4
import numpy as np
from matplotlib.figure import Figure

from ..files.run_folder import ANALYSIS, ASSIMILATION_FIGURE, ENSEMBLE, SENSITIVITY, SNAPSHOT_FILES
from . import assimilation, ensemble, spectra_figure, style
from .dataset import PlotError, find_data_file, find_field, find_record, open_data, read_field, record_times
from .derived import choose_fields, has_records, read_displayed_field
from .field_map import FieldMap, read_map, to_picture_positions, wrap_to_domain
from .files import default_output, save_figure
from .ground import ground_legend, read_depth_with_ground
from .overlays import NO_OVERLAYS, Overlays, draw_layers
from .panels import draw_panels
from .style import RECORD_RANGE, ColourRange
from .titles import make_title_formatter, run_name

log = logging.getLogger(__name__)

#: `plot` draws the first of these files that exists in a run folder.
DRAWABLE_FILES = (*SNAPSHOT_FILES, ENSEMBLE, SENSITIVITY, ANALYSIS)
#: Colour of the marks on cells that `swmodel grid` turned into land.
CLOSED_CELL_COLOUR = "#d7301f"
#: Suffixes and dimension in a file of harmonic constants, and the interval between cophase lines, degrees.
AMPLITUDE_SUFFIX, PHASE_SUFFIX, CONSTITUENT_DIMENSION, COPHASE_INTERVAL_DEGREES = (
    "_amplitude",
    "_phase",
    "constituent",
    30,
)
#: Fraction of the upper colour limit of amplitudes below which no cophase lines are drawn, because they would crowd.
MIN_AMPLITUDE_FRACTION = 0.003


def plot(
    path,
    fields: Sequence[str] | None = None,
    record: int = -1,
    time: float | None = None,
    output=None,
    member: int | None = None,
    colour_range: ColourRange = RECORD_RANGE,
    overlays: Overlays = NO_OVERLAYS,
) -> Path:
    """Draw fields of one record into a picture next to the data.

    Args:
        path: run folder, NetCDF file or Zarr store; also of an ensemble, sensitivities, tides, spectra or an
            assimilation.
        fields: names of fields; None: for a run relative vorticity and sea level, or others if these are zero or
            missing; for an ensemble mean and spread of sea level, and time series; for sensitivities all maps; for
            tides the first amplitude, with cophase lines; for spectra all of them; for an assimilation its summary.
        record: number of the record; negative ones count from the last.
        time: model time, s; the record nearest to it is drawn, and `record` is ignored.
        output: picture to write (PNG, PDF or SVG by its name); None: a PNG named after the data and the fields, or
            ASSIMILATION_FIGURE for the summary of an assimilation.
        member: the member of an ensemble whose fields are drawn.
        colour_range: how the limits of the colour scale are chosen.
        overlays: what is drawn over each map.
    """
    file = find_data_file(path, *DRAWABLE_FILES)
    with open_data(file) as data, mpl.rc_context(style.RC_PARAMS):
        is_summary = fields is None and assimilation.is_analysis(data)
        target = file.with_name(ASSIMILATION_FIGURE) if is_summary else default_output(file, fields, member=member)
        return save_figure(make_figure(data, fields, record, time, member, colour_range, overlays), output or target)


def make_figure(
    data: netCDF4.Dataset, fields, record, time, member, colour_range: ColourRange, overlays: Overlays
) -> Figure:
    """The figure of `plot` for an open file; arguments as for `plot`."""
    is_default_figure, has_spectra = fields is None and member is None, "wavenumber" in data.dimensions
    if has_spectra or (is_default_figure and assimilation.is_analysis(data)):
        if not (is_default_figure and overlays == NO_OVERLAYS and colour_range == RECORD_RANGE):
            raise PlotError(
                f"the figure of {data.filepath()} cannot be changed: leave out fields, members, colours and overlays"
            )
        return spectra_figure.draw_spectra(data, record, time) if has_spectra else assimilation.draw_analysis(data)
    if is_default_figure and "realization" in data.dimensions:
        if overlays != NO_OVERLAYS:
            raise PlotError("arrows, contours and tracks are drawn over fields: name a member or fields")
        return ensemble.draw_ensemble(data, record, time, colour_range)
    names = fields and choose_fields(data, fields)
    if hasattr(data, "quantity") and member is None:
        return draw_sensitivities(data, names, colour_range, overlays)
    if CONSTITUENT_DIMENSION in data.dimensions and member is None:
        return draw_harmonics(data, names, colour_range, overlays)
    return draw_fields(data, names or choose_fields(data, None), record, time, member, colour_range, overlays)


def draw_results(file) -> None:
    """Draw the picture of a file next to it, like `plot`; a failure is only logged, because the results are written."""
    try:
        plot(file)
    except Exception as error:
        log.warning("no picture: %s", error)


def draw_fields(
    data: netCDF4.Dataset,
    names: Sequence[str],
    record: int = -1,
    time=None,
    member=None,
    colour_range=RECORD_RANGE,
    overlays=NO_OVERLAYS,
) -> Figure:
    """The figure of fields of one record, with a panel for each; arguments as for `plot`."""
    caption = run_name(data)
    if any(has_records(data, name) for name in (*names, *overlays.field_names)):
        record = find_record(data, record, time)
        caption = make_title_formatter(data)(record)
    maps = [read_displayed_field(data, name, record, member) for name in names]
    return draw_maps(data, maps, [caption], record, member, colour_range, overlays)


def draw_maps(
    data: netCDF4.Dataset,
    maps: list[FieldMap],
    caption_lines: list[str],
    record: int = -1,
    member=None,
    colour_range=RECORD_RANGE,
    overlays=NO_OVERLAYS,
) -> Figure:
    """A figure of maps of one record, with overlays."""
    all_records = range(record_times(data).size) if colour_range.range == "run" else []
    layers = overlays.make_layers(data, member, all_records or [record])
    field_styles = style.make_styles(data, maps, [record], member, colour_range)
    figure, _ = draw_panels(
        maps, field_styles, [*caption_lines, *ground_legend(maps), *(legend for legend, _ in layers)]
    )
    draw_layers(layers, figure, record)
    return figure


def draw_sensitivities(data: netCDF4.Dataset, names, colour_range: ColourRange, overlays: Overlays) -> Figure:
    """The figure of fields in a sensitivity file, by default of all derivatives that are maps.

    If the differentiated quantity belongs to a position or a section, a mark or a line shows where it is.
    """
    names = names or [name for name, v in data.variables.items() if name.startswith("d_") and v.ndim == 2]
    if not names:
        raise PlotError(f"{data.filepath()} holds only numbers and no maps; `swmodel info` and status.json show them")
    maps = []
    for field_map in (read_map(data, name) for name in names):
        quantity, _, control = field_map.long_name.removeprefix("derivative of ").rpartition(" with respect to ")
        if quantity:
            units_per_cell = f"{field_map.units} per cell"
            field_map = replace(field_map, long_name=f"∂({quantity}) / ∂({control})", units=units_per_cell)
        maps.append(field_map)
    value, units = f"{float(data.quantity_value):.4g}", style.format_units(data.quantity_units)
    caption = f"{run_name(data)}, {data.quantity_long_name}: {value} {units}".removeprefix(", ")
    figure = draw_maps(data, maps, [caption], colour_range=colour_range, overlays=overlays)
    x, y = (np.atleast_1d(getattr(data, f"quantity_{axis}", [])) for axis in "xy")
    x, y = (each / maps[0].axis_unit[0] for each in wrap_to_domain(maps[0], *to_picture_positions(data, x, y)))
    line_style: dict[str, Any] = {"color": style.DARK_GREY, "linewidth": 1.2, "path_effects": style.WHITE_OUTLINE}
    line_style |= {"scalex": False, "scaley": False}
    line_style |= {"marker": "o", "markersize": 5, "fillstyle": "none"} if len(x) == 1 else {}
    for axes in figure.axes:
        if axes.images and len(x):
            axes.plot(x, y, **line_style)
    return figure


def draw_harmonics(data: netCDF4.Dataset, names, colour_range: ColourRange, overlays: Overlays) -> Figure:
    """The figure of fields in a file of harmonic constants, by default the first amplitude: a panel per constituent."""
    if overlays != NO_OVERLAYS:
        raise PlotError("maps of harmonic constants show cophase lines and no arrows, contours or tracks")
    names = names or [name for name in data.variables if name.endswith(AMPLITUDE_SUFFIX)][:1]
    pairs = [pair for name in names for pair in read_maps_with_phases(data, name)]
    days_text = f"harmonic analysis of days {data.first_day:.4g} to {data.last_day:.4g}"
    caption_lines = [f"{run_name(data)}, {days_text}".removeprefix(", ")]
    if any(phase for _, phase in pairs):
        caption_lines.append(f"lines: Greenwich phase lag, every {COPHASE_INTERVAL_DEGREES}°; thick: 0°")
    figure = draw_maps(data, [amplitude for amplitude, _ in pairs], caption_lines, colour_range=colour_range)
    map_axes = [axes for axes in figure.axes if axes.images]
    for axes, (amplitude, phase) in zip(map_axes, pairs, strict=False):
        if phase:
            is_weak = amplitude.values < MIN_AMPLITUDE_FRACTION * style.limits_by_kind(amplitude.values)[1, 1]
            draw_cophase_lines(axes, replace(phase, values=np.ma.masked_where(is_weak, phase.values)))
    return figure


def read_maps_with_phases(data: netCDF4.Dataset, name: str) -> Iterator[tuple[FieldMap, FieldMap | None]]:
    """The map of a field, or of each of its constituents, in pairs with the map of the phase if it is an amplitude."""
    if find_field(data, name).dimensions[0] != CONSTITUENT_DIMENSION:
        yield read_map(data, name), None
        return
    for number, constituent in enumerate(data[CONSTITUENT_DIMENSION][:]):
        field_map, phase = read_map(data, name, constituent_index=number), None
        if name.endswith(AMPLITUDE_SUFFIX):
            phase_name = name.removesuffix(AMPLITUDE_SUFFIX) + PHASE_SUFFIX
            phase = read_map(data, phase_name, constituent_index=number)
        yield replace(field_map, long_name=f"{constituent}: {field_map.long_name}"), phase


def draw_cophase_lines(axes, phase: FieldMap) -> None:
    """Draw lines of equal phase.

    On a line, the sine of the difference from its phase changes sign and the cosine is positive.
    """
    for degrees in range(0, 360, COPHASE_INTERVAL_DEGREES):
        phase_difference = np.radians(phase.values - degrees)
        sine = np.ma.masked_where(np.cos(phase_difference) <= 0, np.sin(phase_difference))
        if sine.count() and sine.min() < 0 < sine.max():
            contour_options = {"colors": style.DARK_GREY, "linewidths": 0.5 if degrees else 1.1}
            axes.contour(*phase.axis_positions, sine, [0.0], **contour_options).set_path_effects(style.WHITE_OUTLINE)


def plot_grid(file) -> Path:
    """Draw the depth in a file of `swmodel grid` into a picture next to it; marks on a map show the closed cells."""
    file = Path(file)
    with open_data(file) as data, mpl.rc_context(style.RC_PARAMS):
        depth, closed = read_depth_with_ground(data), read_field(data, "closed", -1, None)
        rows, columns = np.nonzero(np.ma.filled(closed, 0))
        places = to_picture_positions(data, data["x_c"][:][columns], data["y_c"][:][rows])
        x, y = (each / depth.axis_unit[0] for each in wrap_to_domain(depth, *places))
        colour = "" if depth.is_drawn_as_line else "red: "
        closed_cells_text = f"; {colour}{rows.size} cell{'s' * (rows.size > 1)} that became land" if rows.size else ""
        figure = draw_maps(data, [depth], [f"{file.name}{closed_cells_text}"])
        if not depth.is_drawn_as_line:
            figure.axes[0].scatter(x, y, s=5, marker="s", color=CLOSED_CELL_COLOUR, linewidths=0)
        return save_figure(figure, file.with_suffix(".png"))
