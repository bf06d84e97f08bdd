"""The track of a hurricane from a file: HURDAT2, a best track of ATCF (b-deck), or a table of numbers (`text_table`).

    HURDAT2   20170825, 1800,  , HU, 27.1N,  96.3W, 100,  949, ...       and a header for each storm
    ATCF      AL, 09, 2017082518,   , BEST,   0, 271N,  963W, 100,  949, HU, ..., outer pressure and radius follow
    table     time,lon,lat,wind,pressure,radius,outer   with this header: date, degrees, m/s, hPa, km and hPa

Winds in the first two are knots, radii nautical miles, pressures hPa. Of a file with several storms, FILE:AL092017 or
FILE:HARVEY is one. A table has several where it has a column sid, id, storm or name.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .. import text_table
from ..errors import UsageError
from .holland import Storm

KNOT, NAUTICAL_MILE, HECTOPASCAL = 1852.0 / 3600.0, 1852.0, 100.0
#: Pressure around a storm if the file has none, Pa.
DEFAULT_OUTER_PRESSURE = 101300.0
#: Columns of a table, and the factors that convert them to SI units; the last two are optional.
COLUMNS = {"time": 1.0, "lon": 1.0, "lat": 1.0, "wind": 1.0, "pressure": 100.0, "radius": 1e3, "outer": 100.0}
#: The values at a time, with wide limits for files, and a unit with its name.
VALUE_LIMITS = {
    "longitude": (-360.0, 360.0, 1.0, "degrees"),
    "latitude": (-75.0, 75.0, 1.0, "degrees"),
    "wind": (0.0, 120.0, 1.0, "m/s"),
    "pressure in the centre": (85000.0, 105000.0, HECTOPASCAL, "hPa"),
    "pressure around": (90000.0, 107000.0, HECTOPASCAL, "hPa"),
    "radius of the largest wind": (1e3, 1e6, 1e3, "km"),
}
#: Columns of a table that tell storms apart: the first that it has, and the others are further names.
IDENTIFIERS = ("sid", "id", "storm", "name")
#: Largest velocity of a storm, m s-1, and error of a position, m, for the check of jumps.
MAX_STORM_SPEED, POSITION_ERROR_METRES = 60.0, 50e3
EARTH_RADIUS = 6.371e6
#: Longest time between two lines of a track, s; and the longest that no message mentions.
MAX_GAP_SECONDS, REMARKABLE_GAP_SECONDS = 3 * 86400.0, 86400.0
#: Most times of a track: a run records them in its configuration, which has at most 64 KiB in files.
MAX_TIMES = 400
#: Most storms of a file that a message lists.
MAX_LISTED_STORMS = 5


class Fix(NamedTuple):
    """A line of a track."""

    context: str  # of the line, "file:12"
    storm: str  # identifier of the storm, "AL092017"; "" in a table without one
    name: str  # "HARVEY"; "" without one
    date: datetime
    values: list[float]  # as in VALUE_LIMITS, NaN where missing


class Track(NamedTuple):
    """A storm at some times: longitude, continuous across 180, and latitude, degrees, and numbers as in a Storm."""

    dates: tuple[datetime, ...]  # rising
    values: np.ndarray  # [times, 6]: longitude, latitude, wind, pressure, outer pressure, radius
    n_estimated: dict[str, int]  # number of times at which a value of VALUE_LIMITS was missing, by its name

    def seconds(self, start: datetime) -> np.ndarray:
        """The times, s after a date."""
        return np.array([(date - start).total_seconds() for date in self.dates])


def split_storm(path: str) -> tuple[str, str]:
    """The file and the storm of FILE:STORM; without a storm "" is it."""
    file, colon, storm = path.rpartition(":")
    return (file, storm) if colon and file and not os.path.exists(path) else (path, "")


def read(path) -> Track:
    """The track in a file, or that of one of its storms: FILE:STORM."""
    file, storm = split_storm(str(path))
    try:
        return parse_track(Path(file).read_text().splitlines(), file, storm)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: cannot be read: {getattr(error, 'strerror', None) or 'it is no text'}") from None


def parse_track(lines, path, storm: str = "") -> Track:
    """The track of a storm in the lines of a file, which messages call `path`; of the only one without `storm`."""
    fixes = select_storm(list(read_fixes("\n".join(lines), path)), path, storm)
    values_by_date: dict[datetime, list] = {}
    for fix in fixes:
        last = next(reversed(values_by_date.items()), None)
        if problem := implausible_reason(fix.date, fix.values, last):
            raise UsageError(f"{fix.context}: {problem}")
        values_by_date[fix.date] = fix.values
    if not 2 <= len(values_by_date) <= MAX_TIMES:
        raise UsageError(f"{path}: a track has 2 to {MAX_TIMES} times, and this one has {len(values_by_date)}")
    file_values = np.array([*values_by_date.values()])
    missing = {name: int(np.isnan(column).sum()) for name, column in zip(VALUE_LIMITS, file_values.T, strict=True)}
    values = np.array([estimate_missing(values) for values in values_by_date.values()])
    values[:, 0] = np.unwrap(values[:, 0], period=360.0)  # 179 E and 179 W are two degrees apart
    return Track(tuple(values_by_date), values, {name: count for name, count in missing.items() if count})


def read_fixes(text: str, path) -> Iterator[Fix]:
    """The fixes of all storms in a text."""
    table = text_table.parse_table(text, str(path))
    is_table = {"time", "lon", "lat", "wind", "pressure"} <= {*table.columns}
    if is_table:
        lines, parse_line = {context: table.row(context) for context in table.rows}, parse_table_row
    else:
        text = text.removeprefix("\ufeff").upper()
        lines = {
            f"{path}:{n}": [part.strip() for part in line.split(",")] for n, line in enumerate(text.splitlines(), 1)
        }
        lines = {context: parts for context, parts in lines.items() if parts != [""] and not parts[0].startswith("#")}
        parse_line = line_parser(next(iter(lines.values()), [""]))
    if parse_line is None:
        raise UsageError(f"{path}: is no track of HURDAT2, no best track of ATCF and no table {','.join(COLUMNS)}")
    last: dict[str, tuple] = {}
    for context, parts in lines.items():
        try:
            fix = parse_line(parts)
        except IndexError:
            raise UsageError(f"{context}: cannot be read: has only {len(parts)} values") from None
        except ValueError as error:
            raise UsageError(f"{context}: cannot be read: {error}") from None
        if fix is None:
            continue
        storm, _, date, values = fix
        if is_table or last.get(storm) != (date, values[:4]):  # a best track has a line for each wind radius
            yield Fix(context, *fix)
        last[storm] = date, values[:4]


def select_storm(fixes: list[Fix], path, storm: str) -> list[Fix]:
    """The fixes of a storm, given by its identifier, its name or both. UsageError: there is not exactly one."""
    if not fixes:
        raise UsageError(f"{path}: has no fix of a storm: no row of a table, no line of HURDAT2, no BEST line of ATCF")
    names: dict[str, set[str]] = {}  # a best track may rename its storm
    labels: dict[str, str] = {}
    for fix in fixes:
        labels[fix.storm] = f"{fix.storm} {fix.name}".strip() or "one without a name"
        names.setdefault(fix.storm, set()).update(each.upper() for each in (fix.storm, fix.name, labels[fix.storm]))
    matching = [one for one in names if not storm or storm.upper() in names[one]]
    if len(matching) == 1:
        return [fix for fix in fixes if fix.storm == matching[0]]
    candidates = [labels[one] for one in matching or names]
    shown = ", ".join(candidates[:MAX_LISTED_STORMS]) + (", ..." if len(candidates) > MAX_LISTED_STORMS else "")
    if not matching and not any(names):
        columns = f"{', '.join(IDENTIFIERS[:-1])} or {IDENTIFIERS[-1]}"
        raise UsageError(f"{path}: has no storm {storm}: its table lacks a column {columns}; give {path} alone")
    if not matching:
        raise UsageError(f"{path}: has no storm {storm}, but {shown}")
    example = next(filter(None, matching))
    raise UsageError(f"{path}: has {len(matching)} storms ({shown}); name one, as {path}:{example}")


def implausible_reason(date: datetime, values: list[float], last: tuple[datetime, list] | None) -> str:
    """Why no storm can have these values, NaN if missing, after the `last` date and values; "": it can."""
    for value, (name, (minimum, maximum, unit, units)) in zip(values, VALUE_LIMITS.items(), strict=True):
        if not minimum <= value <= maximum and not math.isnan(value):
            return f"the {name} is {value / unit:.6g} {units}; must lie from {minimum / unit:g} to {maximum / unit:g}"
    lon, lat, wind, pressure, outer, _ = values
    if math.isnan(lon + lat + wind):
        missing = next(name for name, value in zip(VALUE_LIMITS, values, strict=True) if math.isnan(value))
        return f"the {missing} is missing; a track has a place and a wind at all times: add it, or delete the line"
    if outer < pressure:
        around, centre = outer / HECTOPASCAL, pressure / HECTOPASCAL
        return f"the pressure around is {around:g} hPa, below the {centre:g} hPa of the centre"
    if last is None:
        return ""
    seconds = (date - last[0]).total_seconds()
    if seconds <= 0:
        return f"times must rise, but {date:%Y-%m-%dT%H:%M} is not after {last[0]:%Y-%m-%dT%H:%M}"
    if seconds > MAX_GAP_SECONDS:
        return (
            f"{seconds / 86400:.3g} days without a fix lie between {last[0]:%Y-%m-%dT%H:%M} and {date:%Y-%m-%dT%H:%M}, "
            f"and a track has at most {MAX_GAP_SECONDS / 86400:g}; is this another storm, or are lines missing?"
        )
    if (moved_metres := distance(lon, lat, *last[1][:2])) > MAX_STORM_SPEED * seconds + POSITION_ERROR_METRES:
        return (
            f"the storm moves {moved_metres / 1e3:.0f} km in {seconds / 3600:g} h; has a longitude or latitude lost "
            "its sign?"
        )
    return ""


def distance(lon, lat, other_lon, other_lat):
    """Between points on the Earth, m; all in degrees."""
    lon, lat, other_lon, other_lat = (np.radians(x) for x in (lon, lat, other_lon, other_lat))
    square = np.sin((lat - other_lat) / 2) ** 2 + np.cos(lat) * np.cos(other_lat) * np.sin((lon - other_lon) / 2) ** 2
    return 2 * EARTH_RADIUS * np.arcsin(np.sqrt(np.minimum(square, 1.0)))


def track_table(track: Track) -> tuple[str, ...]:
    """The lines of a table with all that a track has."""
    order = [0, 1, 2, 3, 5, 4]  # radius before outer pressure
    rows = track.values[:, order] / list(COLUMNS.values())[1:]
    dated_rows = zip(track.dates, rows.tolist(), strict=True)
    return ",".join(COLUMNS), *(",".join([date.isoformat(), *map(repr, row)]) for date, row in dated_rows)


def parse_table_row(row: dict[str, str]):
    """The storm and its name, the date and the values of a row of a table."""
    lon, lat, wind = (parse_number(name, row[name]) for name in ("lon", "lat", "wind"))
    optional = (parse_positive(name, row.get(name, ""), COLUMNS[name]) for name in ("pressure", "outer", "radius"))
    try:
        date = datetime.fromisoformat(row["time"])
    except ValueError:
        raise ValueError(f'the time is "{row["time"]}"; write it as 2017-08-25T18:00') from None
    date = date.astimezone(UTC).replace(tzinfo=None) if date.tzinfo else date
    storm, *names = [row[name] for name in IDENTIFIERS if name in row] or [""]
    return storm, " ".join(filter(None, names)), date, [lon, lat, wind, *optional]


def line_parser(parts: list[str]):
    """A function of the parts of each line of a file that begins with these; None: it is no track."""
    if re.fullmatch(r"[A-Z]{2}\d{6}", parts[0]) and len(parts) >= 3:
        return HurdatParser()
    return AtcfParser() if re.fullmatch(r"[A-Z]{2}", parts[0]) and len(parts) >= 8 else None


class HurdatParser:
    """The storm and its name, the date and the values of each line of HURDAT2; None for headers, which name it."""

    storm, name = "", ""

    def __call__(self, parts: list[str]):
        if re.fullmatch(r"[A-Z]{2}\d{6}", parts[0]):
            self.storm, self.name = parts[:2]
            return None
        radius = parse_positive("radius", parts[20], NAUTICAL_MILE) if len(parts) > 20 else math.nan
        lon_lat, wind = [parse_degrees(parts[5]), parse_degrees(parts[4])], parse_positive("wind", parts[6], KNOT)
        values = [*lon_lat, wind, parse_positive("pressure", parts[7], HECTOPASCAL), math.nan, radius]
        return self.storm, self.name, parse_date(parts[0], parts[1]), values


class AtcfParser:
    """The storm and its name, the date and the values of each line of ATCF; None for forecasts.

    A storm has the number of its basin and the year in which it begins; later ones of this number follow after months.
    In southern basins the year is that of the season, which begins in July of the year before. Lines of early years
    end after the wind.
    """

    def __init__(self):
        self.last_fix: dict[str, tuple[str, datetime]] = {}  # identifier and date by basin and number

    def __call__(self, parts: list[str]):
        if parts[4] != "BEST":
            return None
        wind, pressure, outer, radius, name = (parts[n] if n < len(parts) else "" for n in (8, 9, 17, 19, 27))
        date = parse_date(parts[2][:8], parts[2][8:] + (parts[3] or "00"))
        values = [
            *(parse_degrees(parts[7], 0.1), parse_degrees(parts[6], 0.1), parse_positive("wind", wind, KNOT)),
            *(parse_positive("pressure", pressure, HECTOPASCAL), parse_positive("outer pressure", outer, HECTOPASCAL)),
            parse_positive("radius", radius, NAUTICAL_MILE),
        ]
        number = parts[0] + parts[1]
        storm, last = self.last_fix.get(number, ("", datetime.min))
        if abs(date - last).days > 30:
            storm = f"{number}{date.year + (number[0] == 'S' and date.month >= 7)}"
        self.last_fix[number] = storm, date
        return storm, name, date, values


def parse_date(day: str, time: str) -> datetime:
    """The date of a day, "20170825", and a time, "1800"."""
    try:
        return datetime.strptime(day + time, "%Y%m%d%H%M")
    except ValueError:
        raise ValueError(f'"{day}" and "{time}" are no date and time, as 20170825 and 1800 are') from None


def parse_degrees(text: str, unit: float = 1.0) -> float:
    """Degrees east or north from text such as "96.3W"."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([NSEW])", text)
    if match is None:
        raise ValueError(f'"{text}" is no longitude or latitude')
    return float(match[1]) * unit * (-1 if match[2] in "SW" else 1)


def parse_number(name: str, text: str) -> float:
    """The number in a text, which messages call `name`; NaN where there is none."""
    try:
        return float(text or "nan")
    except ValueError:
        raise ValueError(f'the {name} is "{text}"; must be a number') from None


def parse_positive(name: str, text: str, unit: float) -> float:
    """A number in SI units; NaN for a number not above zero, which means missing."""
    value = parse_number(name, text)
    return value * unit if value > 0 else math.nan


def estimate_missing(values: list[float]) -> list[float]:
    """The values at a time, with estimates of missing ones.

    Central pressure: wind = 6.7 (1010 - p)^0.644 kt, Atkinson and Holliday (1977). Radius: 46.4 km
    exp(-0.0155 wind + 0.0169 |latitude|), wind in m s-1, Willoughby and others (2006).
    """
    lon, lat, wind, pressure, outer, radius = values
    outer = outer if math.isfinite(outer) else DEFAULT_OUTER_PRESSURE
    if not math.isfinite(pressure):
        pressure = 101000.0 - HECTOPASCAL * (wind / KNOT / 6.7) ** (1 / 0.644)
    if not math.isfinite(radius):
        radius = 46.4e3 * math.exp(-0.0155 * wind + 0.0169 * abs(lat))
    return [lon, lat, wind, pressure, max(outer, pressure + HECTOPASCAL), radius]


def storm_at(seconds: np.ndarray, values: np.ndarray, t: float, degree: float) -> Storm:
    """The storm at a time, linear in time between those of a track; just after the last, it moves on unchanged.

    Args:
        seconds, values: [times] and [times, 6], as in a Track.
        degree: length of a degree of latitude, m; one of longitude is shorter, by the cosine of the storm's latitude.
    """
    n = int(np.clip(np.searchsorted(seconds, t, side="right") - 1, 0, len(seconds) - 2))
    rate = (values[n + 1, :2] - values[n, :2]) / (seconds[n + 1] - seconds[n])
    x, y = values[n, :2] + rate * (t - seconds[n])
    u, v = (rate * degree * [math.cos(math.radians(y)), 1.0]).tolist()
    return Storm(x, y, *(np.interp(t, seconds, column) for column in values.T[2:]), u, v)
