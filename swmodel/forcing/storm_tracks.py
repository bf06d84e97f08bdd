"""The track of a storm, from the checked and completed fixes of a file (`track_formats`), and the storm at any time.

FILE:STORM chooses one storm of a file, by its identifier (AL092017, 2017228N14314), its name (HARVEY) or its name and
a year (HARVEY 2017).
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

import numpy as np

from ..errors import UsageError
from .fixes import HECTOPASCAL, KNOT, Fix, storm_names
from .holland import Storm

#: Dates in messages.
DATE_FORMAT = "%Y-%m-%dT%H:%M"
#: Pressure around a storm if the file has none, Pa.
DEFAULT_OUTER_PRESSURE = 101300.0
#: Columns of a table, and the factors that convert them to SI units; the last two are optional.
COLUMNS = {"time": 1.0, "lon": 1.0, "lat": 1.0, "wind": 1.0, "pressure": 100.0, "radius": 1e3, "outer": 100.0}
#: {value of a fix: (smallest, largest, unit of messages in SI units, name of this unit)}; the limits are wide.
VALUE_LIMITS = {
    "longitude": (-360.0, 360.0, 1.0, "degrees"),
    "latitude": (-75.0, 75.0, 1.0, "degrees"),
    "wind": (0.0, 120.0, 1.0, "m/s"),
    "pressure in the centre": (85000.0, 105000.0, HECTOPASCAL, "hPa"),
    "pressure around": (90000.0, 107000.0, HECTOPASCAL, "hPa"),
    "radius of the largest wind": (1e3, 1e6, 1e3, "km"),
}
#: Largest velocity of a storm, m s-1, and error of a position, m, for the check of jumps.
MAX_STORM_SPEED, POSITION_ERROR_METRES = 60.0, 50e3
EARTH_RADIUS = 6.371e6  # m
#: Longest time between two fixes of a track, s; and the longest that no message mentions.
MAX_GAP_SECONDS, REMARKABLE_GAP_SECONDS = 3 * 86400.0, 86400.0
#: Largest number of times of a track: a run records them in its configuration, which has at most 64 KiB in files.
MAX_TIMES = 400
#: Largest fraction of the fixes of a storm that may be left out because they are implausible; one fix always may.
MAX_FRACTION_LEFT_OUT = 0.1
#: Largest numbers of storms of a file, and of fixes that were left out, that a message lists.
MAX_LISTED_STORMS, MAX_LISTED_FIXES = 5, 3


class Track(NamedTuple):
    """A storm at the times of its fixes: longitude (continuous across 180) and latitude, degrees; else SI units."""

    dates: tuple[datetime, ...]  # rising
    values: np.ndarray  # [times, 6]: longitude, latitude, wind, pressure, outer pressure, radius
    n_estimated: dict[str, int]  # number of times at which a value of VALUE_LIMITS was missing, by its name
    left_out: tuple[str, ...] = ()  # lines of the file that are not in the track, with the reason

    def seconds(self, start: datetime) -> np.ndarray:
        """The times, s after a date."""
        return np.array([(date - start).total_seconds() for date in self.dates])


def split_file_and_storm(path: str) -> tuple[str, str]:
    """The file and the storm of FILE:STORM; the storm is "" if none is named."""
    file, colon, storm = path.rpartition(":")
    return (file, storm) if colon and file and not os.path.exists(path) else (path, "")


def make_track(fixes: list[Fix], path, storm: str = "") -> Track:
    """The track of a storm from the fixes of a file, which messages call `path`.

    Without `storm` the file must have exactly one storm. Implausible fixes, and lines that cannot be read, are left
    out: at most one, or MAX_FRACTION_LEFT_OUT of all if that is more.

    UsageError: the file does not have exactly one such storm, more fixes cannot be used, there are fewer than 2 or more
    than MAX_TIMES, or a fix comes more than MAX_GAP_SECONDS after the previous one.
    """
    fixes = mark_unknown_ends(select_storm(fixes, path, storm))
    values_by_date: dict[datetime, list] = {}
    left_out = []
    for fix in fixes:
        previous = next(reversed(values_by_date.items()), None)
        if fix.problem or fix.date is None:
            left_out.append(f"{fix.context}: {fix.problem}")
        elif problem := implausible_reason(fix.date, fix.values, previous):
            left_out.append(f"{fix.context}: {problem}")
        else:
            refuse_gap(fix.context, fix.date, previous and previous[0])
            values_by_date[fix.date] = fix.values
    if len(left_out) > max(1, MAX_FRACTION_LEFT_OUT * len(fixes)) or left_out and len(values_by_date) < 2:
        raise UsageError(f"{describe_left_out(left_out)}; {len(left_out)} of {len(fixes)} fixes cannot be used")
    if not 2 <= len(values_by_date) <= MAX_TIMES:
        raise UsageError(f"{path}: a track has 2 to {MAX_TIMES} times, and this one has {len(values_by_date)}")
    file_values = np.array([*values_by_date.values()])
    missing = {name: int(np.isnan(column).sum()) for name, column in zip(VALUE_LIMITS, file_values.T, strict=True)}
    first_date = min(values_by_date)
    times = np.array([(date - first_date).total_seconds() for date in values_by_date])
    values = estimate_missing(times, file_values)
    values[:, 0] = np.unwrap(values[:, 0], period=360.0)  # 179 E and 179 W are two degrees apart
    n_estimated = {name: count for name, count in missing.items() if count}
    return Track(tuple(values_by_date), values, n_estimated, tuple(left_out))


def mark_unknown_ends(fixes: list[Fix]) -> list[Fix]:
    """The fixes, with a `problem` in those before the first and after the last one that has a wind or a pressure."""
    known = [n for n, fix in enumerate(fixes) if not np.isnan(fix.values[2:4]).all()]
    inside = range(known[0], known[-1] + 1) if known else ()
    problem = "wind and pressure are missing here, and in all fixes before it or in all after it"
    return [fix if fix.problem or n in inside else fix._replace(problem=problem) for n, fix in enumerate(fixes)]


def describe_left_out(lines: Iterable[str]) -> str:
    """The first lines that were left out, for a message."""
    first, *others = lines
    shown = "; ".join([first, *others[: MAX_LISTED_FIXES - 1]])
    return shown + ("; ..." if len(others) >= MAX_LISTED_FIXES else "")


def select_storm(fixes: list[Fix], path, storm: str) -> list[Fix]:
    """The fixes of the storm that `storm` names (see the module). UsageError: there is not exactly one such storm."""
    if not fixes:
        raise UsageError(f"{path}: has no fix of a storm: no row of a table, no line of HURDAT2, no BEST line of ATCF")
    names: dict[str, set[str]] = {}  # a best track may rename its storm
    labels: dict[str, str] = {}
    for fix in fixes:
        years = {fix.season or (str(fix.date.year) if fix.date else "")}
        labels[fix.storm] = f"{fix.storm} {fix.name}".strip() or labels.get(fix.storm, "") or "one without a name"
        names.setdefault(fix.storm, set()).update(storm_names(fix.storm, fix.name, years))
    matching = [identifier for identifier in names if not storm or storm.upper() in names[identifier]]
    if len(matching) == 1:
        return [fix for fix in fixes if fix.storm == matching[0]]
    candidates = [labels[identifier] for identifier in matching or names]
    shown = ", ".join(candidates[:MAX_LISTED_STORMS]) + (", ..." if len(candidates) > MAX_LISTED_STORMS else "")
    if not matching and names == {"": {""}}:
        raise UsageError(f"{path}: has no storm {storm}: its table lacks a column with the storm; give {path} alone")
    if not matching:
        raise UsageError(f"{path}: has no storm {storm}, but {shown}")
    example = next(filter(None, matching))
    raise UsageError(f"{path}: has {len(matching)} storms ({shown}); name one, for example {path}:{example}")


def implausible_reason(date: datetime, values: list[float], previous: tuple[datetime, list] | None) -> str:
    """Why no storm can have these values, NaN if missing, after the `previous` date and values; "": it can."""
    for value, (name, (minimum, maximum, unit, units)) in zip(values, VALUE_LIMITS.items(), strict=True):
        if not minimum <= value <= maximum and not math.isnan(value):
            return f"the {name} is {value / unit:.6g} {units}; must lie from {minimum / unit:g} to {maximum / unit:g}"
    lon, lat, _, pressure, outer, _ = values
    if math.isnan(lon + lat):
        return f"the {'longitude' if math.isnan(lon) else 'latitude'} is missing"
    if outer < pressure:
        around, centre = outer / HECTOPASCAL, pressure / HECTOPASCAL
        return f"the surrounding pressure is {around:g} hPa, below the {centre:g} hPa of the centre"
    if previous is None:
        return ""
    seconds = (date - previous[0]).total_seconds()
    if seconds <= 0:
        return f"times must increase, but {date:{DATE_FORMAT}} is not after {previous[0]:{DATE_FORMAT}}"
    if (moved_metres := distance(lon, lat, *previous[1][:2])) > MAX_STORM_SPEED * seconds + POSITION_ERROR_METRES:
        return (
            f"the storm moves {moved_metres / 1e3:.0f} km in {seconds / 3600:g} h; has a longitude or latitude lost "
            "its sign?"
        )
    return ""


def refuse_gap(context: str, date: datetime, previous_date: datetime | None) -> None:
    """Raise UsageError if a fix comes more than MAX_GAP_SECONDS after the previous one."""
    if previous_date and (seconds := (date - previous_date).total_seconds()) > MAX_GAP_SECONDS:
        raise UsageError(
            f"{context}: {seconds / 86400:.3g} days without a fix lie between {previous_date:{DATE_FORMAT}} and "
            f"{date:{DATE_FORMAT}}, and a gap may last at most {MAX_GAP_SECONDS / 86400:g}; is this another storm, "
            "or are lines missing?"
        )


def distance(lon, lat, other_lon, other_lat):
    """The distance between points on the Earth, m; the arguments are in degrees."""
    lon, lat, other_lon, other_lat = (np.radians(x) for x in (lon, lat, other_lon, other_lat))
    square = np.sin((lat - other_lat) / 2) ** 2 + np.cos(lat) * np.cos(other_lat) * np.sin((lon - other_lon) / 2) ** 2
    return 2 * EARTH_RADIUS * np.arcsin(np.sqrt(np.minimum(square, 1.0)))


def estimate_missing(times: np.ndarray, file_values: np.ndarray) -> np.ndarray:
    """The values [times, 6], in which estimates replace missing ones (NaN).

    Where only one of wind and pressure is known, the other follows from it: wind = 6.7 (1010 - p)^0.644 kt (Atkinson
    and Holliday 1977). Where both are missing, they are linear in time between the fixes around. A missing radius
    is 46.4 km exp(-0.0155 wind + 0.0169 |latitude|), with the wind in m s-1 (Willoughby and others 2006). The outer
    pressure is DEFAULT_OUTER_PRESSURE where missing, and everywhere at least 1 hPa above the pressure in the centre.
    """
    lon, lat, wind, pressure, outer, radius = file_values.T.copy()
    outer = np.where(np.isnan(outer), DEFAULT_OUTER_PRESSURE, outer)
    with np.errstate(invalid="ignore"):
        wind_of_pressure = 6.7 * KNOT * np.maximum(1010.0 - pressure / HECTOPASCAL, 0.0) ** 0.644
        pressure_of_wind = 101000.0 - HECTOPASCAL * (wind / KNOT / 6.7) ** (1 / 0.644)
    wind = np.where(np.isnan(wind), wind_of_pressure, wind)
    pressure = np.where(np.isnan(pressure), pressure_of_wind, pressure)
    known = ~np.isnan(wind)
    wind, pressure = (np.interp(times, times[known], column[known]) for column in (wind, pressure))
    estimate = 46.4e3 * np.exp(-0.0155 * wind + 0.0169 * np.abs(lat))
    radius = np.where(np.isnan(radius), estimate, radius)
    return np.stack([lon, lat, wind, pressure, np.maximum(outer, pressure + HECTOPASCAL), radius], axis=1)


def track_table(track: Track) -> tuple[str, ...]:
    """The lines of a table with the dates and values of a track."""
    order = [0, 1, 2, 3, 5, 4]  # radius before outer pressure
    rows = track.values[:, order] / list(COLUMNS.values())[1:]
    dated_rows = zip(track.dates, rows.tolist(), strict=True)
    return ",".join(COLUMNS), *(",".join([date.isoformat(), *map(repr, row)]) for date, row in dated_rows)


def storm_at(seconds: np.ndarray, values: np.ndarray, t: float, metres_per_degree: float) -> Storm:
    """The storm at a time, linear in time between those of a track.

    Before the first time and after the last, the storm keeps its velocity, and its other values stay constant.

    Args:
        seconds, values: [times] and [times, 6], as in a Track.
        metres_per_degree: of latitude; a degree of longitude is shorter, by the cosine of the storm's latitude.
    """
    n = int(np.clip(np.searchsorted(seconds, t, side="right") - 1, 0, len(seconds) - 2))
    rate = (values[n + 1, :2] - values[n, :2]) / (seconds[n + 1] - seconds[n])
    x, y = values[n, :2] + rate * (t - seconds[n])
    u, v = (rate * metres_per_degree * [math.cos(math.radians(y)), 1.0]).tolist()
    wind, pressure, outer, radius = (np.interp(t, seconds, column) for column in values.T[2:])
    return Storm(x, y, wind, pressure, outer, radius, u, v)
