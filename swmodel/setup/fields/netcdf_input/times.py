"""Choose a record of a file by its number, its time or its constituent, and convert times to dates with cftime."""

from __future__ import annotations

import re
from datetime import timedelta

import numpy as np

from ....ocean.dates import format_date
from .dataset import CFDataset, is_numeric, read_values, translate_read_errors
from .errors import InputError

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
#: Units of time since a date, 2020-03-01 or 01-MAR-2020. The time zone is an offset from UTC; without one, it is UTC.
TIME_UNITS_PATTERN = re.compile(
    r"(?P<unit>\w+)\s+since\s+"
    r"(?:(?P<year>[-+]?\d{1,6})-(?P<month>\d\d?)-(?P<day>\d\d?)"
    rf"|(?P<day_first>\d\d?)-(?P<month_name>{'|'.join(MONTHS)})[a-z]*-(?P<year_last>\d{{4}}))"
    r"(?:[T\s]\s*(?P<hour>\d\d?)(?::(?P<minute>\d\d?)(?::(?P<second>\d\d?(?:\.\d*)?))?)?)?"
    r"\s*(?P<zone>Z|UTC|GMT|[-+]\d\d?(?::?\d\d)?|\d\d?:\d\d)?",
    re.IGNORECASE | re.ASCII,
)

#: Largest offset of a time zone from UTC, hours.
MAX_ZONE_HOURS = 14

#: Names of variables that hold the names of tidal constituents.
CONSTITUENT_VARIABLES = ("con", "cons", "constituent", "constituents", "name")

#: Standard names of times in forecasts that are not the times for which the records hold.
FORECAST_TIMES_PATTERN = re.compile("forecast_reference_time|forecast_period")

#: A time in an entry chooses a record whose time differs by at most this, s.
MAX_TIME_DIFFERENCE_SECONDS = 1.0


def choose_record(
    dataset: CFDataset, other_dimensions: dict[str, int], record: str | None, context: str, constituent: str = ""
) -> dict[str, int]:
    """The index of a record along each of `other_dimensions`, {name: size}, which are those that the grid lacks.

    Args:
        record: text after "@" in an entry: a number (-1 is the last), a time, or the name of a constituent; None: there
            is no "@".
        constituent: constituent that the entry is for, which matters only if the file names constituents.

    Raises:
        InputError: no record fits, or according to the file the chosen record belongs to another constituent.
    """
    if not other_dimensions and record is not None:
        raise InputError(f"{context} has no records; leave out @{record}")
    name = max(other_dimensions, key=other_dimensions.__getitem__, default="")
    index_by_dimension, size = dict.fromkeys(other_dimensions, 0), other_dimensions.get(name, 1)
    names = constituent_names(dataset, name, size)
    record_in_capitals = (record or "").strip().upper()
    if record_in_capitals in names:
        number = names.index(record_in_capitals)
    elif record is None and constituent in names:
        number = names.index(constituent)
    elif record is None and size == 1:
        number = 0
    elif record is not None and re.fullmatch(r"[+-]?\d{1,9}", record) and -size <= int(record) < size:
        number = int(record) % size
    else:
        number = None
    if number is not None:
        if constituent and names and names[number] != constituent:
            raise InputError(
                f"{context}: the file calls this constituent {names[number]}, but the entry is for {constituent}; "
                f"the file has {', '.join(names)}"
                + (f': end the entry with "@{constituent}"' if constituent in names else "")
            )
        return index_by_dimension | {name: number} if name else index_by_dimension
    if constituent and names:
        raise InputError(f"{context} has the constituents {', '.join(names)}, not {record or constituent}")
    times = RecordTimes(dataset, name, size)
    if record is None:
        raise InputError(
            f"{context} has {size} records along {name}{times.describe_range()}, but the model needs one; choose it "
            f'at the end of the entry: "@0" to "@{size - 1}", or "@-1" for the last'
            + (f', or "@{times.date_text(0)}"' if times.has_dates else "")
        )
    number = times.find_record(record)
    if number is None:
        raise InputError(f'{context} has no record "{record}": they are 0 to {size - 1}{times.describe_range()}')
    return index_by_dimension | {name: number}


def constituent_names(dataset: CFDataset, dimension: str, size: int) -> list[str]:
    """The constituents along a dimension, or the only one, in capitals; an empty list if the file names none."""
    for name, variable in dataset.data.variables.items():
        if str(name).lower() not in CONSTITUENT_VARIABLES or variable.dtype.kind not in "SUO":
            continue
        if variable.dims == (dimension,) or (variable.ndim == 0 and size == 1):
            with translate_read_errors():
                texts = np.atleast_1d(variable.values).tolist()
            names = (text.decode(errors="replace") if isinstance(text, bytes) else str(text) for text in texts)
            return [name.strip().upper() for name in names]
    return []


def utc_units(units: str) -> str:
    """Units of time since a date in a form that cftime reads in full; "" if `units` are others.

    Files have dates such as 2020-3-1T0:0:0Z, 2020-03-01 00:00:00.0 +5:30 or 01-MAR-2020, of which cftime would ignore
    parts. The result is, for example, "hours since 2020-03-01 06:00:00 +05:30".
    """
    parts = TIME_UNITS_PATTERN.fullmatch(units.strip())
    if not parts:
        return ""
    year, month, day = parts["year"], parts["month"], parts["day"]
    if parts["month_name"]:
        month = str(MONTHS.index(parts["month_name"].lower()) + 1)
        year, day = parts["year_last"], parts["day_first"]
    hour, minute, second = (parts[part] or "0" for part in ("hour", "minute", "second"))
    zone = parts["zone"] or ""
    if offset := re.fullmatch(r"([-+]?)(\d\d?)(?::?(\d\d))?", zone):
        sign, hours, minutes = offset.groups("0")
        if int(hours) > MAX_ZONE_HOURS or int(minutes) > 59:
            return ""
        zone = f" {sign or '+'}{int(hours):02d}:{int(minutes):02d}"
    else:
        zone = ""
    date = f"{int(year):04d}-{int(month):02d}-{int(day):02d} {int(hour):02d}:{int(minute):02d}:{second}"
    return f"{parts['unit']} since {date}{zone}"


def standard_name_of(attributes) -> str:
    return str(attributes.get("standard_name", ""))


class RecordTimes:
    """The times of the records along a dimension; without `values` if no coordinate has units of time since a date."""

    def __init__(self, dataset: CFDataset, dimension: str, count: int):
        self.count, self.values = count, np.empty(0)
        self.units, self.calendar, self.axis = "", "standard", ""
        coordinates = [
            name
            for name, variable in dataset.data.variables.items()
            if variable.dims == (dimension,) and is_numeric(variable)
        ]
        attributes = {name: dataset.data[name].attrs for name in coordinates}
        time_names = [
            name
            for name in coordinates
            if "since" in attributes[name].get("units", "")
            and not FORECAST_TIMES_PATTERN.search(standard_name_of(attributes[name]))
        ]
        time_names.sort(
            key=lambda name: (
                standard_name_of(attributes[name]) != "time",
                attributes[name].get("axis") != "T",
                name != dimension,
            )
        )
        name = (time_names or [coordinate for coordinate in coordinates if coordinate == dimension] or [""])[0]
        if not name or not count:
            return
        variable = dataset.data.variables[name]
        self.axis = dataset.axis_by_name.get(name, "")
        self.units, self.calendar = variable.attrs.get("units", ""), variable.attrs.get("calendar", self.calendar)
        values = np.asarray(read_values(dataset.data[name]), np.float64)
        try:
            self.dates(values[[0, -1]])
        except (ValueError, OverflowError, TypeError):  # the units are unknown to cftime, or the numbers are not finite
            return
        self.values = values

    @property
    def has_dates(self) -> bool:
        return self.values.size > 0

    def dates(self, values, units: str = ""):
        """The dates that `values` stand for, in `units` or by default in those of the file."""
        import cftime

        return cftime.num2date(values, units or utc_units(self.units), self.calendar)

    def date_text(self, number: int) -> str:
        """The time of a record, rounded to the second, as an entry must give it to choose the record."""
        date = self.dates(self.values[number]) + timedelta(microseconds=500_000)
        return date.strftime("%Y-%m-%dT%H:%M:%S")

    def describe_range(self) -> str:
        """The end of a sentence: the dates of the first and the last record, or why they are unknown."""
        if self.has_dates:
            return f", {self.date_text(0)} to {self.date_text(-1)}"
        if self.axis != "t" and "since" not in self.units:
            return ""
        units_text = f'"{self.units}" of the calendar {self.calendar}' if self.units else "no units"
        return (
            f', without dates (their times have {units_text}; units such as "hours since 2020-01-01" would date them)'
        )

    def find_record(self, record: str) -> int | None:
        """The number of the record at the time `record`; None if the text is not a time, or no record has this time."""
        import cftime

        if not self.has_dates or not format_date(record):
            return None
        try:
            date = self.dates(0, f"seconds since {format_date(record)}")
            number = int(
                np.nanargmin(np.abs(self.values - cftime.date2num(date, utc_units(self.units), self.calendar)))
            )
        except (ValueError, OverflowError):  # the calendar has no such date
            return None
        return (
            number
            if abs((self.dates(self.values[number]) - date).total_seconds()) <= MAX_TIME_DIFFERENCE_SECONDS
            else None
        )


def find_record_times(dataset: CFDataset, variable) -> tuple[str, RecordTimes] | None:
    """The dimension along which the records of a variable have dates, and their RecordTimes; None if none has dates.

    Dimensions with several records come first.
    """
    sizes = sorted(variable.sizes.items(), key=lambda item: item[1] == 1)
    candidates = ((name, RecordTimes(dataset, name, size)) for name, size in sizes)
    return next((pair for pair in candidates if pair[1].has_dates), None)
