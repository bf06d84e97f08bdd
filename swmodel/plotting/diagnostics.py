"""Time series of a run: mass, energy, potential enstrophy, extremes of speed and thickness, CFL number."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..files.run_folder import DIAGNOSTICS
from ..ocean.table import INFLOW
from . import style
from .dataset import EXTREMES, PlotError, data_file, integrals, numbers, open_data, seconds
from .files import save
from .titles import case_of

COLUMNS = 2
LINE = "#1f4e79"


def plot_diagnostics(path, output=None) -> Path:
    """Draw the time series of a run into a picture beside them.

    Args:
        path: run folder, or the file of the time series.
        output: picture to write (PNG, PDF or SVG by its name); None: diagnostics.png beside the data.
    """
    file = data_file(path, DIAGNOSTICS)
    with open_data(file) as data:
        times = seconds(data)
        sides = zip_longest(integrals(data), numbers(data))  # the left and the right of two columns
        names = [name for both in sides for name in both if name]
        if not names or times.size == 0:
            raise PlotError(f"{file} holds no record of mass, energy, ..., {', '.join(EXTREMES)}")
        series, case = [series_of(data[name]) for name in names], case_of(data)
    with mpl.rc_context(style.RC):
        return save(draw(times, series, case), output or file.with_suffix(".png"))


def series_of(variable) -> tuple[np.ndarray, str]:
    """Values and label of a series, in the power of ten that suits it.

    Sums over the domain are shown as relative changes since the start, unless a change is as large as the first value.
    """
    values = np.ma.filled(variable[:].astype(float), np.nan)
    long_name = getattr(variable, "long_name", variable.name.replace("_", " "))
    units = getattr(variable, "units", "1")
    as_it_is = variable.name in EXTREMES or variable.name.startswith(INFLOW)
    if not as_it_is and np.nanmax(np.abs(values - values[0])) < abs(values[0]):
        values, units = (values - values[0]) / abs(values[0]), "1"
        long_name = f"relative change of {variable.name.replace('_', ' ')}"
    exponent = style.power_of_ten(float(np.nanmax(np.abs(values))))
    return values * 10.0**-exponent, style.label(long_name, units, exponent)


def draw(times: np.ndarray, series: list[tuple[np.ndarray, str]], case: str) -> Figure:
    """One small panel for each series over the same time axis; labels are above the panels, the case is above all."""
    rows = -(-len(series) // COLUMNS)
    size, unit = style.time_unit(float(times[-1]))
    figure = Figure(figsize=(7.2, 0.5 + 1.55 * rows), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.06, h_pad=0.05)
    figure.suptitle(case, x=0.01, ha="left", fontsize=style.CAPTION, color=style.QUIET)
    panels = figure.subplots(rows, COLUMNS, sharex=True, squeeze=False).flat
    for number, (axes, (values, label)) in enumerate(zip(panels, series, strict=False)):
        axes.plot(times / size, values, color=LINE, linewidth=1.1, marker="." if times.size == 1 else "")
        axes.set_title(label, loc="left", fontsize=8)
        axes.spines[["top", "right"]].set_visible(False)
        axes.margins(x=0.01)
        axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
        axes.yaxis.set_major_locator(MaxNLocator(4))
        if number + COLUMNS >= len(series):
            axes.set_xlabel(f"time ({unit})")
            axes.tick_params(labelbottom=True)
    for axes in list(figure.axes)[len(series) :]:
        axes.remove()
    return figure
