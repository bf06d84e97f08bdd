"""Observed sea level beside that of a run at its gauges."""

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
    """Observed levels, m, at times on the axis of a picture; the title ends with their difference from the run."""

    times: np.ndarray
    levels: np.ndarray
    title_suffix: str


def read_observed(
    data: netCDF4.Dataset, indices: Sequence[int], values: np.ndarray, observed_files: Sequence[str]
) -> dict[int, ComparedSeries]:
    """{number of the panel: ComparedSeries} of files, FILE or NAME=FILE; `values` [time, panel]: those of the run."""
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
        comparisons[number] = compare_series(data, read_gauge_series(path), values[:, number], path)
    return comparisons


def compare_series(data: netCDF4.Dataset, series: GaugeSeries, values: np.ndarray, path: str) -> ComparedSeries:
    """The part of an observed series during the run, whose `values` have the times of `data`."""
    seconds, axis = record_times(data), time_axis(data)[0]
    if series.times.dtype.kind != "M":
        observed_times = series.times
    elif isinstance(axis[0], datetime):
        start = np.datetime64(axis[0], "ms") - np.timedelta64(round(1e3 * seconds[0]), "ms")
        observed_times = (series.times - start) / np.timedelta64(1, "s")
    else:
        raise PlotError(f"{path} has dates, but the run has none, as time.start is not set")
    modelled = np.interp(observed_times, seconds, values, left=np.nan, right=np.nan)
    within = np.isfinite(modelled)
    if not within.any():
        first, last = series.times[[0, -1]]
        raise PlotError(f"{path} has levels from {first} to {last}, but the run has none at this gauge in that time")
    differences = (modelled - series.level)[within]
    shift = differences.mean() if series.has_own_datum else 0.0
    shift_words = f", shifted by {shift:.4g} m" if series.has_own_datum else ""
    rms = np.sqrt(((differences - shift) ** 2).mean())
    title_suffix = f"; observed (dots, {series.layout}{shift_words}): rms of difference {rms:.2g} m"
    times = np.interp(observed_times[within], seconds, date2num(axis) if isinstance(axis[0], datetime) else axis)
    return ComparedSeries(times, series.level[within] + shift, title_suffix)
