"""Texts about a run and its times: titles, dates, and times in suitable units."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import netCDF4
import numpy as np
from cftime import num2date

from ..files.run_folder import CONFIG
from .dataset import read_configuration, record_times

#: An hour, s. The dates of records at least an hour apart are written without seconds.
HOUR_SECONDS = 3600.0


def run_name(data: netCDF4.Dataset) -> str:
    """The name of the run folder; for other files the name of the case, or "" without a configuration."""
    folder = Path(data.filepath()).resolve().parent
    return folder.name if (folder / CONFIG).is_file() else str(read_configuration(data).get("case", {}).get("name", ""))


def make_title_formatter(data: netCDF4.Dataset) -> Callable[[int], str]:
    """A function that returns the title of a record: "double_gyre, day 30", or "sea, 2012-03-31 00:00 (day 30)"."""
    run, times, format_date = run_name(data), record_times(data), make_date_formatter(data)
    format_time = make_time_formatter(times)

    def title(record: int) -> str:
        number, unit = format_time(times[record]).split()
        elapsed = f"{unit.removesuffix('s')} {number}"
        return ", ".join(filter(None, (run, f"{format_date(record)} ({elapsed})" if format_date else elapsed)))

    return title


def has_dates(data: netCDF4.Dataset) -> bool:
    """Whether the times of a file are dates: a run without time.start counts from an arbitrary day."""
    units, config = getattr(data["time"], "units", ""), read_configuration(data)
    has_epoch = "since" in units and bool(np.all(np.isfinite(record_times(data))))
    return has_epoch and (not config or bool(config.get("time", {}).get("start")))


def make_date_formatter(data: netCDF4.Dataset) -> Callable[[int], str] | None:
    """A function that returns the date of a record, rounded to minutes or seconds; None if the file has no dates."""
    if not has_dates(data):
        return None
    time, times = data["time"], np.round(record_times(data))
    units, calendar = time.units, getattr(time, "calendar", "standard")
    in_minutes = not np.any(times % 60) or np.min(np.diff(np.unique(times)), initial=np.inf) >= HOUR_SECONDS
    step, pattern = (60, "%Y-%m-%d %H:%M") if in_minutes else (1, "%Y-%m-%d %H:%M:%S")
    return lambda record: num2date(step * round(times[record] / step), units, calendar).strftime(pattern)


def time_axis(data: netCDF4.Dataset) -> tuple[np.ndarray, str]:
    """Positions of the records on a time axis, and the label of the axis: dates, or model time in a suitable unit."""
    times, time = record_times(data), data["time"]
    if has_dates(data):
        calendar = getattr(time, "calendar", "standard")
        date_values = num2date(times, time.units, calendar, only_use_cftime_datetimes=False)
        if isinstance(date_values[-1], datetime):  # cftime dates of other calendars are not drawn
            return date_values, f"time (UTC) from {date_values[0]:%Y-%m-%d}"
    unit_seconds, unit = time_unit(float(times[-1]))
    return times / unit_seconds, f"time ({unit})"


def time_unit(span: float) -> tuple[float, str]:
    """A suitable unit for a time axis of this length, s: the seconds in it, and its name."""
    for unit_seconds, name in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if span >= unit_seconds:
            return unit_seconds, name
    return 1.0, "seconds"


def make_time_formatter(times: np.ndarray) -> Callable[[float], str]:
    """A function that returns model time (s) as text in a suitable unit for all `times`: "5 days", "1 hour"."""
    unit_seconds, unit = time_unit(float(np.nanmax(times)))

    def format_time(time: float) -> str:
        number = f"{time / unit_seconds:.5g}"
        return f"{number} {unit.removesuffix('s') if number == '1' else unit}"

    return format_time
