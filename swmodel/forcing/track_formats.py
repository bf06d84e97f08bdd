"""The files that hold tracks of storms, and the fixes in them.

    table     time,lon,lat,wind,pressure,radius,outer   is the header; wind in m/s, pressures in hPa, radius in km
    HURDAT2   20170825, 1800,  , HU, 27.1N,  96.3W, 100,  949, ...       and a header for each storm (NOAA)
    ATCF      AL, 09, 2017082518,   , BEST,   0, 271N,  963W, 100,  949, HU, ..., outer pressure and radius follow
    JMA       17082518 002 5 271 1263  949  080 ...     and a header 66666 for each storm (RSMC Tokyo)
    IBTrACS   CSV or NetCDF of version 4 (NOAA)

The model needs the largest wind over one minute. HURDAT2, ATCF and the American columns of IBTrACS have it. Winds over
ten minutes, of the JMA and of the WMO's other agencies in IBTrACS, are divided by ONE_TO_TEN_MINUTE_WIND. Winds over
two or three minutes (China, India) are taken as they are.

Sources: Landsea and Franklin (2013), Mon. Wea. Rev. 141, 3576-3592; Sampson and Schrader (2000), Bull. Amer. Meteor.
Soc. 81, 1231-1240; RSMC Tokyo, Format of RSMC best track data; Knapp and others (2010), Bull. Amer. Meteor. Soc. 91,
363-376, and the column documentation of IBTrACS version 04r01.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

from .. import text_table
from ..errors import UsageError
from .fixes import HECTOPASCAL, KNOT, NAUTICAL_MILE, Fix, fix_of_line, parse_number, parse_positive
from .holland import ONE_TO_TEN_MINUTE_WIND
from .ibtracs import IBTRACS_HEADER, read_csv_fixes, read_netcdf_fixes
from .storm_tracks import COLUMNS, Track, make_track, split_file_and_storm

#: Columns of a table that name its storms: the first that the table has identifies storms, the others are names.
IDENTIFIERS = ("sid", "id", "storm", "name")
#: The first bytes of NetCDF files.
NETCDF_SIGNATURES = (b"\x89HDF", b"CDF")
#: Number of values in a line of ATCF that ends after the wind.
ATCF_VALUES_UP_TO_WIND = 9
#: The year with which two-digit years of the JMA begin: 51 is 1951, 50 is 2050.
FIRST_JMA_YEAR = 51


def read_track(path) -> Track:
    """The track in a file, or that of one of its storms: FILE:STORM. UsageError: see `storm_tracks.make_track`."""
    file, storm = split_file_and_storm(str(path))
    try:
        with Path(file).open("rb") as binary_file:
            is_netcdf = binary_file.read(4).startswith(NETCDF_SIGNATURES)
        if is_netcdf:
            return make_track(read_netcdf_fixes(file, storm), file, storm)
        with Path(file).open(newline="", encoding="utf-8", errors="replace") as lines:
            return parse_track(lines, file, storm)
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}") from None


def parse_track(lines: Iterable[str], path, storm: str = "") -> Track:
    """The track of a storm in the lines of a text file, which messages call `path`."""
    lines = iter(lines)
    first = next(lines, "").removeprefix("\ufeff")
    if IBTRACS_HEADER.match(first):
        return make_track([*read_csv_fixes(first, lines, path, storm)], path, storm)
    text = "\n".join(line.rstrip("\r\n") for line in [first, *lines])
    table = text_table.parse_table(text, str(path))
    if {"time", "lon", "lat", "wind", "pressure"} <= {*table.columns}:
        return make_track([*table_fixes(table)], path, storm)
    text_lines = {f"{path}:{n}": line.upper() for n, line in enumerate(text.splitlines(), 1)}
    text_lines = {context: line for context, line in text_lines.items() if line.strip() and line[0] != "#"}
    first = next(iter(text_lines.values()), "")
    for text_format in TEXT_FORMATS:
        if text_format.header.match(first):
            return make_track([*text_fixes(text_format.make_parser(), text_lines)], path, storm)
    raise UsageError(
        f"{path}: is no track of HURDAT2, JMA or IBTrACS, no best track of ATCF and no table {','.join(COLUMNS)}"
    )


def table_fixes(table: text_table.TextTable) -> Iterator[Fix]:
    """The fixes in the rows of a table; a row with too few or too many cells counts as one of the storm before it."""
    storm = ""
    names: list[str] = []
    for context, cells in table.rows.items():
        if len(cells) != len(table.columns):
            problem = f"cannot be read: it has {len(cells)} values for {len(table.columns)} columns"
            yield Fix(context, storm, " ".join(filter(None, names)), None, [], "", problem)
            continue
        row = table.row(context)
        storm, *names = [row[name] for name in IDENTIFIERS if name in row] or [""]
        yield fix_of_line(context, storm, " ".join(filter(None, names)), partial(parse_table_row, row))


def text_fixes(parser, lines: dict[str, str]) -> Iterator[Fix]:
    """The fixes in the lines of HURDAT2, ATCF or the JMA; lines that repeat a fix, with other radii, count once."""
    last: dict[str, tuple] = {}
    header, n_lines = StormHeader(), 0
    for context, line in lines.items():
        fix = parser(context, line)
        if fix is None:
            continue
        if isinstance(fix, StormHeader):
            yield from filter(None, [header.missing_lines(n_lines)])
            header, n_lines = fix, 0
            continue
        n_lines += 1
        key = fix.date, fix.values[:4]
        if fix.problem or last.get(fix.storm) != key:
            yield fix
        last[fix.storm] = key
    yield from filter(None, [header.missing_lines(n_lines)])


def parse_table_row(row: dict[str, str]) -> tuple[datetime, list[float]]:
    """The date and the values of a row of a table."""
    lon, lat = (parse_number(name, row[name]) for name in ("lon", "lat"))
    wind = parse_number("wind", row["wind"])
    optional = (parse_positive(name, row.get(name, ""), COLUMNS[name]) for name in ("pressure", "outer", "radius"))
    try:
        date = datetime.fromisoformat(row["time"])
    except ValueError:
        raise ValueError(f'the time is "{row["time"]}"; write it as 2017-08-25T18:00') from None
    date = date.astimezone(UTC).replace(tzinfo=None) if date.tzinfo else date
    return date, [lon, lat, wind, *optional]


class StormHeader(NamedTuple):
    """What the line above the fixes of a storm says."""

    context: str = ""
    storm: str = ""
    name: str = ""
    season: str = ""
    n_lines: str = ""  # number of lines that follow

    def missing_lines(self, n_found: int) -> Fix | None:
        """A Fix with a `problem` if the number of lines that follow is not `n_lines`; else None."""
        if not self.n_lines.isdigit() or int(self.n_lines) == n_found:
            return None
        problem = f"says that {int(self.n_lines)} lines follow, but {n_found} do"
        return Fix(self.context, self.storm, self.name, None, [], self.season, problem)


class HurdatParser:
    """The fix in each line of HURDAT2, or the StormHeader."""

    header = StormHeader()

    def __call__(self, context: str, line: str) -> Fix | StormHeader:
        parts = [part.strip() for part in line.split(",")]
        if re.fullmatch(r"[A-Z]{2}\d{6}", parts[0]):
            self.header = StormHeader(context, parts[0], "".join(parts[1:2]), n_lines="".join(parts[2:3]))
            return self.header

        def parse():
            radius = parse_positive("radius", parts[20], NAUTICAL_MILE) if len(parts) > 20 else math.nan
            lon_lat, wind = [parse_degrees(parts[5]), parse_degrees(parts[4])], parse_positive("wind", parts[6], KNOT)
            values = [*lon_lat, wind, parse_positive("pressure", parts[7], HECTOPASCAL), math.nan, radius]
            return parse_date(parts[0], parts[1]), values

        return fix_of_line(context, self.header.storm, self.header.name, parse)


class AtcfParser:
    """The fix in each BEST line of ATCF; None for forecasts.

    A storm is identified by its basin and number, such as AL09, and by the year in which it begins; the next storm with
    the same basin and number begins months later. In southern basins the year is that of the season, which begins in
    July of the year before. Lines of early years end after the wind; a line that ends there after longer lines is cut
    off.
    """

    def __init__(self) -> None:
        self.last_fix: dict[str, tuple[str, datetime]] = {}  # identifier and date by basin and number
        self.had_longer_line = False

    def __call__(self, context: str, line: str) -> Fix | None:
        parts = [part.strip() for part in line.split(",")]
        if len(parts) > 4 and parts[4] != "BEST":
            return None
        number, name = "".join(parts[:2]), parts[27] if len(parts) > 27 else ""
        is_cut_off = self.had_longer_line and len(parts) <= ATCF_VALUES_UP_TO_WIND
        self.had_longer_line |= len(parts) > ATCF_VALUES_UP_TO_WIND

        def parse():
            if is_cut_off:
                raise IndexError
            wind, pressure, outer, radius = (parts[n] if n < len(parts) else "" for n in (8, 9, 17, 19))
            date = parse_date(parts[2][:8], parts[2][8:] + (parts[3] or "00"))
            pressures = {"pressure": pressure, "outer pressure": outer}
            return date, [
                *(parse_degrees(parts[7], 0.1), parse_degrees(parts[6], 0.1), parse_positive("wind", wind, KNOT)),
                *(parse_positive(what, text, HECTOPASCAL) for what, text in pressures.items()),
                parse_positive("radius", radius, NAUTICAL_MILE),
            ]

        first = atcf_identifier(number, parts[2]) if len(parts) > 2 and parts[2][:6].isdigit() else ""
        storm, last = self.last_fix.get(number, (first, datetime.min))
        fix = fix_of_line(context, storm, name, parse)
        if fix.date is None:
            return fix
        if abs(fix.date - last).days > 30:
            storm = first
        self.last_fix[number] = storm, fix.date
        return fix._replace(storm=storm)


def atcf_identifier(number: str, date: str) -> str:
    """The identifier of a storm, such as AL092017 from AL09 and the date 2017082518; southern years begin in July."""
    return f"{number}{int(date[:4]) + (number.startswith('S') and date[4:6] >= '07')}"


class JmaParser:
    """The fix in each line of the JMA's best tracks, or the StormHeader.

    The number of a storm, such as 1709, means the ninth of 2017. Depressions, and storms of early years, have no wind.
    """

    header = StormHeader()

    def __call__(self, context: str, line: str) -> Fix | StormHeader:
        if line.startswith("66666"):
            storm, name, n_lines = line[6:10].strip(), line[30:50].strip(), line[12:15].strip()
            year = str(jma_year(storm[:2])) if storm[:2].isdigit() else ""
            self.header = StormHeader(context, storm, name, year, n_lines)
            return self.header

        def parse():
            parts = line.split()
            date = parse_date(f"{jma_year(parts[0][:2])}{parts[0][2:6]}", f"{parts[0][6:8]}00")
            lat, lon = 0.1 * parse_number("latitude", parts[3]), 0.1 * parse_number("longitude", parts[4])
            wind = parse_positive("wind", line[33:36].strip(), KNOT / ONE_TO_TEN_MINUTE_WIND)
            pressure = parse_positive("pressure", parts[5], HECTOPASCAL)
            return date, [lon, lat, wind, pressure, math.nan, math.nan]

        return fix_of_line(context, self.header.storm, self.header.name, parse, self.header.season)


def jma_year(digits: str) -> int:
    """The year, 1951 to 2050, of its last two digits."""
    return (1900 if int(digits) >= FIRST_JMA_YEAR else 2000) + int(digits)


class TextFormat(NamedTuple):
    """A format whose lines are parsed one by one: HURDAT2, ATCF or JMA."""

    header: re.Pattern  # of the first line, in capitals
    make_parser: Callable[[], Callable[[str, str], Fix | StormHeader | None]]


TEXT_FORMATS = (
    TextFormat(re.compile(r"[A-Z]{2}\d{6}\s*,.*,"), HurdatParser),
    TextFormat(re.compile(r"[A-Z]{2}\s*,(.*,){6}"), AtcfParser),
    TextFormat(re.compile(r"66666 \d{4}"), JmaParser),
)


def parse_date(day: str, time: str) -> datetime:
    """The date of a day, "20170825", and a time, "1800"."""
    try:
        return datetime.strptime(day + time, "%Y%m%d%H%M")
    except ValueError:
        raise ValueError(f'"{day}" and "{time}" are no date and time, as 20170825 and 1800 are') from None


def parse_degrees(text: str, unit: float = 1.0) -> float:
    """Degrees east or north from a text such as "96.3W"; `unit`: degrees for each 1 in its number."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([NSEW])", text)
    if match is None:
        raise ValueError(f'"{text}" is no longitude or latitude')
    return float(match[1]) * unit * (-1 if match[2] in "SW" else 1)
