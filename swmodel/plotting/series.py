"""Series at the gauges of a run, and through its sections: a panel for each over one time axis."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import netCDF4
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..errors import suggest
from ..files.run_folder import SECTIONS, STATIONS
from . import style
from .dataset import PlotError, data_file, open_data, seconds
from .degrees import degrees
from .diagnostics import LINE
from .files import default_output, save
from .titles import case_of

#: Most panels in a single column, more are put in two; and most of a picture, the first ones of more places.
MOST, DRAWN = 8, 40

#: Factor to the unit in which quantities are shown, and its name, if it differs from that in the file.
SHOWN = {"m3 s-1": (1e-6, "Sv")}


def plot_stations(path, field: str | None = None, output=None, names: Sequence[str] = ()) -> Path:
    """Draw the series of the gauges of a run into a picture beside them: of those named, else of the first DRAWN.

    Args:
        path: run folder, or its stations.nc.
        field: eta, u, v or tracer; None: eta.
        output: picture to write (PNG, PDF or SVG by its name); None: stations.png beside the data.
        names: of gauges.
    """
    return plot_series(data_file(path, STATIONS), "station", field or "eta", output, names)


def plot_sections(path, output=None) -> Path:
    """Draw the transports through all sections of a run, as `plot_stations`."""
    return plot_series(data_file(path, SECTIONS), "section", "transport", output)


def plot_series(file: Path, dimension: str, field: str, output, wanted: Sequence[str] = ()) -> Path:
    """See `plot_stations`; `dimension` is the name of the places' dimension."""
    with open_data(file) as data, mpl.rc_context(style.RC):
        if dimension not in data.dimensions:
            raise PlotError(f"{file} has no series of any {dimension}")
        names = [name for name, v in data.variables.items() if v.dimensions == ("time", dimension)]
        if field not in names:
            raise PlotError(f"no {field} in {file}; {suggest(field, names)}")
        if not len(data.dimensions["time"]):
            raise PlotError(f"{file} holds no value yet")
        figure = draw(data, dimension, field, wanted)
        return save(figure, output or default_output(file, field if field not in ("eta", "transport") else None))


def chosen(data: netCDF4.Dataset, dimension: str, wanted: Sequence[str] = ()) -> list[int]:
    """The numbers of the places that are drawn: those that are named, else the first DRAWN."""
    known = {str(name): number for number, name in enumerate(np.atleast_1d(data[f"{dimension}_name"][:]))}
    for name in wanted:
        if name not in known:
            raise PlotError(f'no {dimension} "{name}" in {data.filepath()}; {suggest(name, list(known)[:DRAWN])}')
    if len(wanted) > DRAWN:
        raise PlotError(f"{len(wanted)} {dimension}s are named; a picture has {DRAWN} at most")
    return [known[name] for name in wanted] or list(range(len(known)))[:DRAWN]


def draw(data: netCDF4.Dataset, dimension: str, field: str, wanted: Sequence[str] = ()) -> Figure:
    """The figure: one panel for each place that is `chosen`, its name and position above it."""
    shown = chosen(data, dimension, wanted)
    times = seconds(data)
    values, label = scaled(data[field], data[field][:, shown])
    size, unit_of_time = style.time_unit(float(times[-1]))
    count = values.shape[1]
    columns = 1 if count <= MOST else 2
    rows = -(-count // columns)
    figure = Figure(figsize=(7.2, 0.8 + (1.9 if count == 1 else 1.25) * rows), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.06, h_pad=0.05)
    figure.suptitle(caption(data, dimension, shown), x=0.01, ha="left", fontsize=style.CAPTION, color=style.QUIET)
    figure.supylabel(label, fontsize=8)
    panels = figure.subplots(rows, columns, sharex=True, squeeze=False).T.flat
    for number, (axes, title) in enumerate(zip(panels, titles(data, dimension, shown), strict=False)):
        axes.plot(times / size, values[:, number], color=LINE, linewidth=1.0)
        axes.set_title(title, loc="left", fontsize=8)
        axes.spines[["top", "right"]].set_visible(False)
        axes.margins(x=0.01)
        axes.xaxis.set_major_locator(MaxNLocator(8, steps=[1, 2, 2.5, 5, 10]))
        axes.yaxis.set_major_locator(MaxNLocator(4))
        axes.tick_params(labelbottom=number % rows == rows - 1 or number == count - 1)
        if number % rows == rows - 1:
            axes.set_xlabel(f"time ({unit_of_time})")
    for axes in list(figure.axes)[count:]:
        axes.remove()
    return figure


def caption(data: netCDF4.Dataset, dimension: str, shown: list[int]) -> str:
    """The case, and how many of all places are shown where that is a part."""
    total = len(data.dimensions[dimension])
    others = ": --station NAME draws others" if dimension == "station" else ""
    part = f"{len(shown)} of {total} {dimension}s{others}" if len(shown) < total else ""
    return ", ".join(filter(None, (case_of(data), part)))


def scaled(variable, values) -> tuple[np.ndarray, str]:
    """Values of a variable in a suitable unit and power of ten, and their label."""
    factor, unit = SHOWN.get(variable.units, (1.0, variable.units))
    values = np.ma.filled(np.ma.asarray(values, dtype=float), np.nan) * factor
    exponent = style.power_of_ten(float(np.nanmax(np.abs(values), initial=0.0)))
    return values * 10.0**-exponent, style.label(variable.long_name, unit, exponent)


def titles(data: netCDF4.Dataset, dimension: str, shown: list[int]) -> list[str]:
    """Name and position of each place that is shown; for a station also the depth."""
    names = np.atleast_1d(data[f"{dimension}_name"][:])[shown]
    if dimension == "section":
        ends = [places(data, f"{end}_", shown) for end in ("start", "end")]
        return [f"{name}: {start} to {end}" for name, start, end in zip(names, *ends, strict=True)]
    deep = (f"{depth:.0f} m deep" if depth >= 10 else f"{depth:.2g} m deep" for depth in data["depth"][shown])
    return [
        f"{name}: {place}, {words}" for name, place, words in zip(names, places(data, "", shown), deep, strict=True)
    ]


def places(data: netCDF4.Dataset, before: str, shown: list[int]) -> list[str]:
    """Positions of places that are shown, in words, from the coordinates whose names begin so."""
    if f"{before}lon" in data.variables:
        pairs = zip(data[f"{before}lon"][shown], data[f"{before}lat"][shown], strict=True)
        return [f"{degrees(lon, 'EW')} {degrees(lat, 'NS')}" for lon, lat in pairs]
    pairs = zip(data[f"{before}x"][shown], data[f"{before}y"][shown], strict=True)
    return [f"x = {x / 1e3:.6g} km, y = {y / 1e3:.6g} km" for x, y in pairs]
