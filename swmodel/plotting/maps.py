"""Maps of a run, one panel for each field, all of the same record; and of a grid."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import netCDF4
import numpy as np
from matplotlib.figure import Figure

from ..files.run_folder import ANALYSIS, ENSEMBLE, OUTPUT, SENSITIVITY
from . import assimilation, ensemble, sensitivity, spectrum, style, tides
from .dataset import PlotError, data_file, find_record, open_data, seconds
from .files import default_output, save
from .overlays import NOTHING, Over
from .panels import draw, write_caption
from .record import read_map
from .scale import OF_RECORD, Scale, looks
from .shown import changes, chosen, read
from .titles import case_of, titles

log = logging.getLogger(__name__)

#: The colour of marks on cells of a grid that were closed.
MARK = "#d7301f"


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
        fields: names of fields; None: relative vorticity and sea level, or others if these are zero; for an ensemble
            mean and spread of its sea level, and its time series; for sensitivities all maps; for tides the amplitudes
            with lines of equal phase; for an assimilation its summary.
        record: number of the record; negative ones count from the last.
        time: model time, s; the nearest record is drawn.
        output: picture to write (PNG, PDF or SVG by its name); None: a PNG named after the data and the fields.
        member: the member of an ensemble whose fields are drawn.
        scale: the values at the ends of the colours.
        over: arrows of the current and lines of equal value, over each map.
    """
    file = data_file(path, OUTPUT, ENSEMBLE, SENSITIVITY, ANALYSIS)
    target = output or default_output(file, fields, member=member)
    with open_data(file) as data, mpl.rc_context(style.RC):
        whole = fields is None and member is None
        if "wavenumber" in data.dimensions:
            if fields or member is not None or over or scale != OF_RECORD:
                raise PlotError(f"{file} holds spectra, whose picture has no fields, members, colours or arrows")
            figure = spectrum.picture(data, record, time)
        elif hasattr(data, "quantity") and member is None:
            figure = sensitivity.picture(data, fields and chosen(data, fields), scale, over)
        elif "constituent" in data.dimensions and member is None:
            figure = tides.picture(data, fields and chosen(data, fields), scale, over)
        elif whole and "iteration" in data.dimensions:
            if over or scale != OF_RECORD:
                raise PlotError(f"the picture of an assimilation has colours of its own; name a field of {file}")
            figure, target = assimilation.picture(data), output or file.with_name(assimilation.PICTURE)
        elif whole and "realization" in data.dimensions:
            figure = ensemble.picture(data, record, time, scale, over)
        else:
            figure = picture(data, chosen(data, fields), record, time, member, scale, over)
        return save(figure, target)


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
    caption = case_of(data)
    if any(changes(data, name) for name in (*names, *over.fields)):
        record = find_record(data, record, time)
        caption = titles(data)(record)
    panels = [read(data, name, record, member) for name in names]
    figure, _ = draw(panels, looks(data, panels, record, member, scale), 1 + len(over))
    write_caption(figure, caption)
    over.draw(data, figure, record, member, range(seconds(data).size) if scale.range == "run" else [record])
    return figure


def plot_grid(file) -> Path:
    """Draw the depth of a file of `swmodel grid` into a picture beside it, with a mark on each cell that was closed."""
    file = Path(file)
    with open_data(file) as data, mpl.rc_context(style.RC):
        depth, closed = read_map(data, "depth"), read_map(data, "closed")
        figure, _ = draw([depth], [style.look([depth])])
        rows, columns = np.nonzero(np.ma.filled(closed.values, 0))
        figure.axes[0].scatter(closed.x[columns], closed.y[rows], s=5, marker="s", color=MARK, linewidths=0)
        marks = f"; {rows.size} cells that became land in red" if rows.size else ""
        write_caption(figure, f"{file.name}{marks}")
        return save(figure, file.with_suffix(".png"))
