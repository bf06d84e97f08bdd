"""Maps of the fields of a run: one panel for each field, all of the same record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import netCDF4
import numpy as np
from matplotlib.figure import Figure

from . import style
from .dataset import (
    Map,
    PlotError,
    data_file,
    field_names,
    find_field,
    find_record,
    open_data,
    read_map,
    seconds,
    values_of,
)
from .ensemble import plot_ensemble
from .panels import draw, save, write_caption

#: Fields of the default picture: the first two of these that the file holds and that are not zero everywhere.
PREFERRED = ("zeta", "eta", "speed", "u", "v", "q", "h")


def plot(
    path,
    fields: Sequence[str] | None = None,
    record: int = -1,
    time: float | None = None,
    output=None,
    member: int | None = None,
) -> Path:
    """Draw fields of one record into a picture beside the data.

    Args:
        path: run folder or NetCDF file.
        fields: names of fields; without them, relative vorticity and sea level, or others where these are zero; of an
            ensemble, mean and spread of its sea level, and its time series.
        record: number of the record; negative ones count from the last.
        time: model time, s; the nearest record is drawn.
        output: picture to write (PNG, PDF or SVG by its name); otherwise a PNG named after the data and the fields.
        member: of an ensemble, whose fields are drawn.

    Raises:
        PlotError: the file, the field, the record or the member does not exist, or the picture cannot be written.
    """
    file = data_file(path)
    with open_data(file) as data, mpl.rc_context(style.RC):
        target = output or default_output(file, fields, member=member)
        if fields is None and member is None and "realization" in data.dimensions:
            return plot_ensemble(file, target, record, time)
        return save(picture(data, chosen(data, fields), record, time, member), target)


def picture(data: netCDF4.Dataset, names: Sequence[str], record: int = -1, time=None, member=None) -> Figure:
    """The figure of some fields of one record, with its model time if any of them changes with time."""
    caption = ""
    if any(find_field(data, name).ndim > 2 for name in names):
        record = find_record(data, record, time)
        times = seconds(data)
        caption = style.clock(times)(times[record])
    panels = [read(data, name, record, member) for name in names]
    figure, _ = draw(panels, [style.look([panel]) for panel in panels])
    write_caption(figure, caption)
    return figure


def chosen(data: netCDF4.Dataset, fields: Sequence[str] | None) -> list[str]:
    """The fields asked for, or the default ones."""
    if fields is not None:
        return [fields] if isinstance(fields, str) else list(fields)
    names = field_names(data)
    if not names:
        raise PlotError(f"{data.filepath()} holds no field on a grid with dimensions y and x")
    found = [name for name in PREFERRED if name in names] or names[:1]
    return [name for name in found if np.ma.any(values_of(data, name))][:2] or found[:2]


def default_output(file: Path, fields: Sequence[str] | None, suffix: str = ".png", member: int | None = None) -> Path:
    """Beside the data: output.png for the default picture, output-eta.png for the field eta."""
    names = [fields] if isinstance(fields, str) else fields or []
    of_member = [] if member is None else [f"member-{member}"]
    return file.with_name("-".join([file.stem, *names, *of_member]) + suffix)


def read(data: netCDF4.Dataset, name: str, record: int, member: int | None = None) -> Map:
    """One record of a field; relative vorticity in units of the Coriolis parameter unless that comes close to zero."""
    field = read_map(data, name, record, member)
    if name.removesuffix("_mean") != "zeta" or "f" not in field_names(data):
        return field
    f = read_map(data, "f", record).values
    smallest, largest = np.sort(np.abs([f.min(), f.max()]))
    if f.min() * f.max() <= 0 or smallest < 0.05 * largest:
        return field
    return replace(field, values=field.values / f, long_name=rf"{field.long_name} $\zeta/f$", units="1")
