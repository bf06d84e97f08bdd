"""Observed sea level at a gauge, from text files of agencies and users in one of several FORMATS.

Commas, semicolons, tabs or spaces separate the cells. Unless commas do, numbers may have a decimal comma; a file with
spaces and decimal commas needs a header. A byte-order mark, empty lines and any line endings are accepted. Times
without a time zone are UTC.

Reference: UHSLC, hourly data in CSV (uhslc.soest.hawaii.edu); NOAA CO-OPS, data API and water levels (tidesandcurrents.
noaa.gov); NOAA NDBC, DART measurement descriptions (ndbc.noaa.gov/dart_stations).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import UsageError, as_line, translate_os_errors
from ..setup.fields.netcdf_input.errors import log_once
from ..setup.fields.netcdf_input.missing_values import MISSING_VALUE_MARKS
from ..setup.fields.netcdf_input.units import conversion_factor
from ..text_table import TIME_ZONES, split_cells, split_column, with_decimal_point

FOOT_METRES = 0.3048
#: The name of the DART format, and the numbers that mark missing values in it.
DART, MISSING_IN_DART = "DART", (9999.0,)
#: A number in MISSING_VALUE_MARKS means a missing value unless, as a level in m, it lies between these.
LOWEST_LEVEL_METRES, HIGHEST_LEVEL_METRES = -9.0, 20.0
#: Largest accepted difference of a level from the median of its series, m; not applied to DART.
MAX_DIFFERENCE_METRES = 30.0
#: Texts that stand for a missing value, in lower case.
MISSING_TEXTS = ("", "-", "nan", "null", "na")

#: Names of the columns of a table, in lower case and without units.
TIME_NAMES = ("time", "datetime", "date_time", "date time", "timestamp", "date")
LEVEL_NAMES = ("eta", "level", "height", "ssh", "sealevel", "sea_level", "sea level", "water_level", "water level")

#: Separators of cells in the order in which they are looked for, the comma last, because it may be a decimal comma. If
#: a line has none of them, spaces separate its cells.
DELIMITERS = "\t;,"

DATE_PATTERN = re.compile(
    r"(?:(?P<year>\d{4})[-/](?P<month>\d\d?)[-/](?P<day>\d\d?)|(?P<first>\d\d?)\.(?P<second>\d\d?)\.(?P<last>\d{4}))"
    r"(?:[T\s]+(?P<hour>\d\d?):(?P<minute>\d\d)(?::(?P<seconds>[0-5]\d(?:\.\d+)?))?)?"
    r"\s*(?P<zone>Z|UTC|GMT|[+-]\d\d:?\d\d)?",
    re.IGNORECASE | re.ASCII,
)


class GaugeSeries(NamedTuple):
    """Observed sea level.

    Attributes:
        format_name: the name of the file's format.
        times: [n], ascending: datetime64 in UTC, or in the format "two columns" s since the start of a run.
        level: [n], m, without missing values.
        has_own_datum: whether levels refer to the gauge's own datum, so that only their variations can be compared.
    """

    format_name: str
    times: np.ndarray
    level: np.ndarray
    has_own_datum: bool


class GaugeFormat(NamedTuple):
    """A format of text files.

    Attributes:
        name, rows: its name and the contents of its rows, for messages.
        matches: function that says whether a file of this format begins with a row of these cells, in lower case.
        row_reader: function of the cells of the first line, in lower case. It returns a function that turns the cells
            of a row into a time and a level, m (NaN: missing).
        has_header: whether the first line is a header, not a row of values.
        has_own_datum: see GaugeSeries.
    """

    name: str
    rows: str
    matches: Callable[[Sequence[str]], bool]
    row_reader: Callable[[Sequence[str]], Callable[[Sequence[str]], tuple]]
    has_header: bool
    has_own_datum: bool


def read_gauge_series(path) -> GaugeSeries:
    """Read the series in a file.

    UsageError: the file has none of the FORMATS or no values, the header or a row cannot be read, two rows have
    different levels at the same time, or, except in DART, a level is far from the others; the message names the row, if
    there is one.
    FilesError: the file cannot be read.
    """
    with translate_os_errors(path, "read"):
        text = Path(path).read_bytes().decode("utf-8-sig", errors="replace")
    lines = {f"{path}:{number}": line for number, line in enumerate(text.splitlines(), 1) if line.strip()}
    gauge_format, header, delimiter = find_format(lines, path)
    rows = []
    try:
        read_row = gauge_format.row_reader(header)
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None
    for context, line in lines.items():
        if line.startswith("#"):
            continue
        cells = split_row(line, delimiter, context)
        try:
            if len(cells) != len(header):
                raise ValueError(f"has {len(cells)} values, not {len(header)}")
            rows.append((*read_row(cells), context))
        except (ValueError, OverflowError) as error:  # OverflowError: a time before year 1, or 400 digits
            expected = f'each row of the format "{gauge_format.name}" has {gauge_format.rows}'
            raise UsageError(as_line(f"{context}: {error}; {expected}")) from None
    rows = sorted((row for row in rows if np.isfinite(row[1])), key=lambda row: row[0])
    if not rows:
        raise UsageError(f"{path}: the file has no values")
    for (time, first, _), (next_time, second, context) in pairwise(rows):
        if time == next_time and first != second:
            raise UsageError(f"{context}: the level at this time is {second:g} m, but {first:g} m in an earlier row")
    times, level, contexts = zip(*rows, strict=True)
    differences = np.abs(np.array(level) - np.median(level))
    if gauge_format.name != DART and differences.max() > MAX_DIFFERENCE_METRES:
        number = int(differences.argmax())
        raise UsageError(
            f"{contexts[number]}: the level is {level[number]:g} m, but the median of all is {np.median(level):g} m; "
            "leave out rows whose level is missing or wrong"
        )
    dtype = "M8[ms]" if isinstance(times[0], datetime) else float
    return GaugeSeries(gauge_format.name, np.array(times, dtype), np.array(level), gauge_format.has_own_datum)


def find_format(lines: dict[str, str], path) -> tuple[GaugeFormat, list[str], str]:
    """Return the format, the cells of the first line in lower case, and the delimiter; remove the header from `lines`.

    The header may be a comment, as in DART. Units in a second line, as in ERDDAP, are added to the column names.
    """
    first_lines = []
    for context, line in lines.items():
        first_lines.append(context)
        delimiter = next((each for each in DELIMITERS if each in line), "")
        header = [cell.strip('" ').lower() for cell in split_row(line.lstrip("# "), delimiter, context)]
        gauge_format = next((candidate for candidate in FORMATS if candidate.matches(header)), None)
        if gauge_format or not line.startswith("#"):
            break
    else:
        raise UsageError(f"{path}: the file has no rows")
    if gauge_format is None:
        known = "; ".join(f"{candidate.name}: {candidate.rows}" for candidate in FORMATS)
        raise UsageError(as_line(f'{context}: "{line.strip()[:60]}" begins no known series of a gauge ({known})'))
    if gauge_format.has_header:
        for context in first_lines:
            del lines[context]
        context, line = next(iter(lines.items()), ("", ""))
        if line.strip('" ').upper().startswith("UTC"):
            del lines[context]
            units = [unit.lower() for unit in split_row(line, delimiter, context)]
            header = [f"{name} ({unit})" for name, unit in zip_longest(header, units, fillvalue="")]
    return gauge_format, header, delimiter


def split_row(line: str, delimiter: str, context: str) -> list[str]:
    """The cells of a line, separated by `delimiter`, or by spaces if `delimiter` is empty."""
    return split_cells(line, delimiter, context) if delimiter else [with_decimal_point(cell) for cell in line.split()]


def parse_number(text: str) -> float:
    """The number in a cell; NaN for MISSING_TEXTS and numbers that are not finite. ValueError: it is not a number."""
    if text.lower() in MISSING_TEXTS:
        return np.nan
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f'"{text}" is not a number') from None
    return value if np.isfinite(value) else np.nan


def parse_level(text: str, factor: float = 1.0, missing_marks: Sequence[float] = ()) -> float:
    """A level, m: the number in `text` times `factor`, or NaN if it is missing. ValueError: the text is not a number.

    `missing_marks`: the numbers that mark missing values; if empty, those of MISSING_VALUE_MARKS that cannot be levels.
    """
    value = parse_number(text)
    is_level = LOWEST_LEVEL_METRES < value * factor < HIGHEST_LEVEL_METRES
    is_missing = value in missing_marks if missing_marks else value in MISSING_VALUE_MARKS and not is_level
    return np.nan if is_missing else value * factor


def parse_time(text: str) -> datetime:
    """A date and time, converted to UTC. ValueError: any other text, such as a date with unclear month and day."""
    match = DATE_PATTERN.fullmatch(text.strip())
    if not match:
        raise ValueError(f'"{text}" is not a time such as 2020-03-01 06:00 or 01.03.2020 06:00')
    date = match.group("year", "month", "day") if match["year"] else match.group("last", "second", "first")
    time = make_time(*map(int, date), int(match["hour"] or 0), int(match["minute"] or 0))
    time += timedelta(seconds=float(match["seconds"] or 0))
    if zone := re.fullmatch(r"([+-])(\d\d):?(\d\d)", match["zone"] or ""):
        offset = timedelta(hours=int(zone[2]), minutes=int(zone[3]))
        return time - offset if zone[1] == "+" else time + offset
    return time


def make_time(*parts: int) -> datetime:
    """The datetime of year, month, day, hour and perhaps minute and second. ValueError: there is no such time."""
    year, month, day, hour, minute, second = (*parts, 0, 0)[:6]
    try:
        return datetime(year, month, day, hour, minute, second)
    except ValueError as error:
        raise ValueError(f"{'-'.join(map(str, parts[:3]))} {':'.join(map(str, parts[3:]))}: {error}") from None


def whole_numbers(cells: Sequence[str]) -> list[int]:
    """The cells as integers. ValueError: a cell is not a whole number."""
    for cell in cells:
        if not re.fullmatch(r"\d+(\.0*)?", cell.strip()):
            raise ValueError(f'"{cell}" is not a whole number')
    return [int(float(cell)) for cell in cells]


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def uhslc_reader(header: Sequence[str]):
    def read(cells):
        return make_time(*whole_numbers(cells[:4])), parse_level(cells[4], 1e-3)

    return read


def seconds_reader(header: Sequence[str]):
    def read(cells):
        if not np.isfinite(seconds := float(cells[0])):
            raise ValueError(f'"{cells[0]}" is not a time')
        return seconds, parse_level(cells[1])

    return read


def dart_reader(header: Sequence[str]):
    def read(cells):
        return make_time(*whole_numbers(cells[:6])), parse_level(cells[7], missing_marks=MISSING_IN_DART)

    return read


def coops_page_reader(header: Sequence[str]):
    """Reader of rows of a web page of CO-OPS: the verified level or, where it is missing, the preliminary level."""
    date, clock = header.index("date"), next(n for n, name in enumerate(header) if name.startswith("time"))
    check_zone(header[clock])
    columns = [header.index(name) for word in ("verified", "preliminary") for name in header if name.startswith(word)]
    factors = [unit_factor(header[column]) for column in columns]

    def read(cells):
        levels = [parse_level(cells[n], factor) for n, factor in zip(columns, factors, strict=True)]
        return parse_time(f"{cells[date]} {cells[clock]}"), next(filter(np.isfinite, levels), np.nan)

    return read


def coops_api_reader(header: Sequence[str]):
    """Reader of rows of the data API of CO-OPS, whose files do not name the units and time zone of the request."""
    log_once(
        "files of the CO-OPS data API name neither units nor time zone: m and GMT are assumed "
        "(units=metric, time_zone=gmt)"
    )
    time, level = header.index("date time"), header.index("water level")
    return lambda cells: (parse_time(cells[time]), parse_level(cells[level]))


def table_reader(header: Sequence[str]):
    """Reader of rows of a table with a column of times, or of dates and of times, and one of levels."""
    names = [split_column(cell)[0] for cell in header]
    levels = [n for n, name in enumerate(names) if name in LEVEL_NAMES]
    if len(levels) > 1:
        raise ValueError(f"has several columns of levels, {', '.join(header[n] for n in levels)}; keep one of them")
    (level,) = levels
    factor = unit_factor(header[level])
    time = [names.index(name) for name in ("date", "time")] if {"date", "time"} <= {*names} else []
    time = time or [next(n for n, name in enumerate(names) if name in TIME_NAMES)]
    check_zone(header[time[-1]])

    def read(cells):
        return parse_time(" ".join(cells[n] for n in time)), parse_level(cells[level], factor)

    return read


def check_zone(column: str) -> None:
    """Raise ValueError if the name of a column of times contains a time zone other than UTC."""
    if split_column(column)[1].lower() not in TIME_ZONES:
        raise ValueError(f'the column "{column}" must be in UTC or GMT')


def unit_factor(column: str) -> float:
    """The factor that converts a column of levels to m, from the units in its name; a column without units is in m.

    ValueError: the units are not units of length.
    """
    units = split_column(column)[1] or "m"
    factor = FOOT_METRES if units in ("ft", "feet") else conversion_factor(units, "m")
    if factor is None:
        raise ValueError(f'"{column}" is not in m, cm, mm or ft')
    return factor


def is_table(header: Sequence[str]) -> bool:
    names = {split_column(cell)[0] for cell in header}
    return bool(names & {*TIME_NAMES} and names & {*LEVEL_NAMES})


def is_uhslc(header: Sequence[str]) -> bool:
    return len(header) == 5 and all(map(is_number, header)) and re.fullmatch(r"(1[89]|20)\d\d", header[0]) is not None


def is_coops_page(header: Sequence[str]) -> bool:
    has_level = any(name.startswith(("verified", "preliminary")) for name in header)
    return "date" in header and any(name.startswith("time") for name in header) and has_level


def is_dart(header: Sequence[str]) -> bool:
    return header[1:] == ["mm", "dd", "hh", "mm", "ss", "t", "height"] and header[0] in ("yy", "yyyy")


#: The formats; a file is read with the first that matches.
FORMATS = (
    GaugeFormat("UHSLC", "year, month, day, hour and level in mm", is_uhslc, uhslc_reader, False, True),
    GaugeFormat(DART, "YY MM DD hh mm ss T HEIGHT in m", is_dart, dart_reader, True, True),
    GaugeFormat(
        "CO-OPS",
        "Date Time and Water Level",
        lambda header: {"date time", "water level"} <= {*header},
        coops_api_reader,
        True,
        True,
    ),
    GaugeFormat(
        "a page of CO-OPS",
        "Date, Time (GMT) and Verified (m)",
        is_coops_page,
        coops_page_reader,
        True,
        True,
    ),
    GaugeFormat(
        "two columns",
        "s since the start of the run and level in m",
        lambda header: len(header) == 2 and all(map(is_number, header)),
        seconds_reader,
        False,
        False,
    ),
    GaugeFormat("a table", "time and level", is_table, table_reader, True, False),
)
