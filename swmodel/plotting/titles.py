"""The titles of pictures: the case, the date and the model time."""

from __future__ import annotations

from collections.abc import Callable

import netCDF4
import numpy as np

from . import style
from .dataset import configuration, seconds

#: Seconds between records, or more, for dates without seconds.
HOUR = 3600.0


def case_of(data: netCDF4.Dataset) -> str:
    """The name of the case; empty for a file without a configuration."""
    return str(configuration(data).get("case", {}).get("name", ""))


def titles(data: netCDF4.Dataset) -> Callable[[int], str]:
    """A function of the record's number: "double_gyre, 2000-01-31 00:00 (day 30)"."""
    case, times = case_of(data), seconds(data)
    date = dates(data)
    now = style.clock(times, resolution(times) / 2 if date else np.inf)

    def title(record: int) -> str:
        number, unit = now(times[record]).split()
        since = f"{unit.removesuffix('s')} {number}"
        when = f"{date(record)} ({since})" if date else since
        return ", ".join(filter(None, (case, when)))

    return title


def dates(data: netCDF4.Dataset) -> Callable[[int], str] | None:
    """A function of a record's number to its date and time of day; None if the file has no calendar.

    Times are rounded to their `resolution`.
    """
    time, times = data["time"], np.round(seconds(data))
    units, calendar = getattr(time, "units", ""), getattr(time, "calendar", "standard")
    if "since" not in units or not np.all(np.isfinite(times)):
        return None
    step = resolution(times)

    def date(record: int) -> str:
        shown = step * round(times[record] / step)
        return netCDF4.num2date(shown, units, calendar).strftime("%Y-%m-%d %H:%M" + (":%S" if step == 1 else ""))

    return date


def resolution(times: np.ndarray) -> int:
    """Resolution of dates, s: 60 if all are full minutes, or records are an hour or more apart; else 1."""
    times = np.round(times)
    apart = np.min(np.diff(np.unique(times)), initial=max(HOUR, float(times.max())))
    return 60 if apart >= HOUR or not np.any(times % 60) else 1
