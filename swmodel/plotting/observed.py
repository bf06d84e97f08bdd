"""Observed sea level compared with the sea level of a run at its gauges."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import netCDF4
import numpy as np
from matplotlib.dates import date2num

from ..files.gauge_series import GaugeSeries, read_gauge_series
from .dataset import PlotError, record_times
from .titles import time_axis


class ComparedSeries(NamedTuple):
    """Observed levels, m, at times on the axis of a picture, and a text for the title about their difference."""

    times: np.ndarray
    levels: np.ndarray
    title_suffix: str


def read_observed(
    data: netCDF4.Dataset, indices: Sequence[int], values: np.ndarray, observed_files: Sequence[str]
) -> dict[int, ComparedSeries]:
    """{number of the panel: ComparedSeries} for files of observations.

    Args:
        indices: indices of the gauges in the file, one for each panel.
        values: sea level of the run, m, [time, panel].
        observed_files: "NAME=FILE", or "FILE" if there is only one panel.
    """
    names = [str(np.atleast_1d(data["station_name"][:])[index]) for index in indices]
    comparisons = {}
    for text in observed_files:
        name, separator, path = text.partition("=")
        if not separator or name not in names:
            name, path = names[0] if len(names) == 1 else "", text
        if name not in names:
            raise PlotError(
                f'"{text}" names no gauge of the picture; write NAME=FILE, with NAME one of {", ".join(names)}'
            )
        number = names.index(name)
        if number in comparisons:
            raise PlotError(f'"{text}" is the second file for the gauge {name}; give one')
        comparisons[number] = compare_series(data, read_gauge_series(path), values[:, number], path)
    return comparisons


def compare_series(data: netCDF4.Dataset, series: GaugeSeries, values: np.ndarray, path: str) -> ComparedSeries:
    """The part of an observed series during the run, compared with the `values` of the run, m, at the times of `data`.

    Levels relative to the gauge's own datum are shifted by the mean difference.
    """
    seconds, axis = record_times(data), time_axis(data)[0]
    if series.times.dtype.kind != "M":
        observed_times = series.times
    elif isinstance(axis[0], datetime):
        start = np.datetime64(axis[0], "ms") - np.timedelta64(round(1e3 * seconds[0]), "ms")
        observed_times = (series.times - start) / np.timedelta64(1, "s")
    else:
        raise PlotError(f"{path} has dates, but the run has none, because time.start is not set")
    modelled = np.interp(observed_times, seconds, values, left=np.nan, right=np.nan)
    is_compared = np.isfinite(modelled)
    if not is_compared.any():
        first, last = series.times[[0, -1]]
        raise PlotError(f"{path} has levels from {first} to {last}, but the run has none at this gauge in that time")
    differences = (modelled - series.level)[is_compared]
    shift = differences.mean() if series.has_own_datum else 0.0
    shift_text = f", shifted by {shift:.4g} m" if series.has_own_datum else ""
    rms = np.sqrt(((differences - shift) ** 2).mean())
    title_suffix = f"; observed (dots, {series.format_name}{shift_text}): rms of difference {rms:.2g} m"
    times = np.interp(observed_times[is_compared], seconds, date2num(axis) if isinstance(axis[0], datetime) else axis)
    return ComparedSeries(times, series.level[is_compared] + shift, title_suffix)
