"""Words about the case and the time: titles, dates, and times in units that read well."""

from __future__ import annotations

from collections.abc import Callable

import netCDF4
import numpy as np

from .dataset import configuration, seconds

#: Records this many seconds apart, or more, have dates without seconds.
HOUR = 3600.0


def case_of(data: netCDF4.Dataset) -> str:
    """The name of the case; empty for a file without a configuration."""
    return str(configuration(data).get("case", {}).get("name", ""))


def titles(data: netCDF4.Dataset) -> Callable[[int], str]:
    """A function of the record's number: "double_gyre, 2000-01-31 00:00 (day 30)"."""
    case, times = case_of(data), seconds(data)
    date = dates(data)
    now = clock(times, resolution(times) / 2 if date else np.inf)

    def title(record: int) -> str:
        number, unit = now(times[record]).split()
        since = f"{unit.removesuffix('s')} {number}"
        when = f"{date(record)} ({since})" if date else since
        return ", ".join(filter(None, (case, when)))

    return title


def dates(data: netCDF4.Dataset) -> Callable[[int], str] | None:
    """A function of a record's number to its date, rounded to a `resolution`; None if the file has no calendar."""
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


def time_unit(span: float) -> tuple[float, str]:
    """A suitable unit for a time axis of this length: seconds in it, and its name."""
    for size, name in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if span >= size:
            return size, name
    return 1.0, "seconds"


def clock(times: np.ndarray, exact: float = np.inf):
    """A function that writes model time (s) in a suitable unit for all `times`, with enough digits to distinguish them.

    Args:
        exact: largest distance from a time that is written as a whole number, s.
    """
    size, unit = time_unit(float(np.nanmax(times)))
    written = np.unique(np.asarray(times) / size)
    step = np.min(np.diff(written), initial=max(1.0, written[-1]))
    digits = next((d for d in range(3) if np.all(np.abs(written - np.round(written, d)) < 0.05 * step)), 3)
    while np.any(np.abs(written - np.round(written))[np.round(written, digits) % 1 == 0] * size > exact):
        digits += 1

    def write(time: float) -> str:
        number = f"{time / size:.{digits}f}"
        return f"{number} {unit.removesuffix('s') if number == '1' else unit}"

    return write
