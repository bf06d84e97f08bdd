"""Choice of a record by its number or its time; times and dates, by cftime."""

from __future__ import annotations

import re
from datetime import timedelta

import numpy as np

from ....ocean.dates import format_date
from .dataset import CFDataset, is_numeric, read_values, translate_read_errors
from .errors import InputError

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
#: Units of time since a date; the time zone is given in hours and minutes from UTC, and is UTC by default.
TIME_UNITS_PATTERN = re.compile(
    r"(?P<unit>\w+)\s+since\s+"
    r"(?:(?P<year>[-+]?\d{1,6})-(?P<month>\d\d?)-(?P<day>\d\d?)"
    rf"|(?P<first>\d\d?)-(?P<name>{'|'.join(MONTHS)})[a-z]*-(?P<last>\d{{4}}))"
    r"(?:[T\s]\s*(?P<hour>\d\d?)(?::(?P<minute>\d\d?)(?::(?P<second>\d\d?(?:\.\d*)?))?)?)?"
    r"\s*(?P<zone>Z|UTC|GMT|[-+]\d\d?(?::?\d\d)?|\d\d?:\d\d)?",
    re.IGNORECASE | re.ASCII,
)

#: Largest difference of a zone from UTC, hours.
MAX_ZONE_HOURS = 14

#: Names of variables that hold the names of constituents.
CONSTITUENT_VARIABLES = ("con", "cons", "constituent", "constituents", "name")

#: Standard names of forecast times other than the times of the records.
FORECAST_TIMES_PATTERN = re.compile("forecast_reference_time|forecast_period")

#: Largest difference between the time of a record and the one in an entry, s.
MAX_TIME_DIFFERENCE_SECONDS = 1.0


def choose_record(
    dataset: CFDataset, other_dimensions: dict[str, int], record: str | None, context: str, constituent: str = ""
) -> dict[str, int]:
    """The index along each of `other_dimensions`, {name: size}, which the grid lacks.

    `record`: None if there is only one record, a number (-1 is the last), a time, or the name of a constituent.
    `constituent`: the one that is wanted, which counts if the file names its constituents. InputError: the file names
    another one.
    """
    if not other_dimensions and record is not None:
        raise InputError(f"{context} has no records; leave out @{record}")
    name = max(other_dimensions, key=other_dimensions.__getitem__, default="")
    index, size = dict.fromkeys(other_dimensions, 0), other_dimensions.get(name, 1)
    names = constituent_names(dataset, name, size)
    wanted = (record or "").strip().upper()
    if wanted in names:
        number = names.index(wanted)
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
        return index | {name: number} if name else index
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
    return index | {name: number}


def constituent_names(dataset: CFDataset, dimension: str, size: int) -> list[str]:
    """Names of the constituents along a dimension, or of the only one, in capitals; empty if the file has none."""
    for name, variable in dataset.data.variables.items():
        if str(name).lower() not in CONSTITUENT_VARIABLES or variable.dtype.kind not in "SUO":
            continue
        if variable.dims == (dimension,) or (variable.ndim == 0 and size == 1):
            with translate_read_errors():
                texts = np.atleast_1d(variable.values).tolist()
            return [(t.decode() if isinstance(t, bytes) else str(t)).strip().upper() for t in texts]
    return []


def utc_units(units: str) -> str:
    """Units of time since a date, as cftime reads them without loss: "hours since 2020-03-01 06:00:00"; "" for others.

    Programs write dates as 2020-3-1T0:0:0Z, 2020-03-01 00:00:00.0 +5:30 or 01-MAR-2020, of which cftime ignores parts.
    """
    parts = TIME_UNITS_PATTERN.fullmatch(units.strip())
    if not parts:
        return ""
    year, month, day = parts["year"], parts["month"], parts["day"]
    if parts["name"]:
        year, month, day = parts["last"], str(MONTHS.index(parts["name"].lower()) + 1), parts["first"]
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
    """The times of records along a dimension; empty without a coordinate in units of time since a date."""

    def __init__(self, dataset: CFDataset, dimension: str, count: int):
        self.count, self.values = count, np.empty(0)
        self.units, self.calendar, self.axis = "", "standard", ""
        coordinates = [
            name for name, one in dataset.data.variables.items() if one.dims == (dimension,) and is_numeric(one)
        ]
        attributes = {name: dataset.data[name].attrs for name in coordinates}
        dated = [
            name
            for name in coordinates
            if "since" in attributes[name].get("units", "")
            and not FORECAST_TIMES_PATTERN.search(standard_name_of(attributes[name]))
        ]
        dated.sort(
            key=lambda name: (
                standard_name_of(attributes[name]) != "time",
                attributes[name].get("axis") != "T",
                name != dimension,
            )
        )
        name = (dated or [each for each in coordinates if each == dimension] or [""])[0]
        if not name or not count:
            return
        variable = dataset.data.variables[name]
        self.axis = dataset.axis_by_name.get(name, "")
        self.units, self.calendar = variable.attrs.get("units", ""), variable.attrs.get("calendar", self.calendar)
        values = np.asarray(read_values(dataset.data[name]), np.float64)
        try:
            self.dates(values[[0, -1]])
        except (ValueError, OverflowError, TypeError):  # no units of time that cftime knows, or no finite numbers
            return
        self.values = values

    @property
    def has_dates(self) -> bool:
        return self.values.size > 0

    def dates(self, values, units: str = ""):
        """The dates of numbers in the units of the file, or in `units`."""
        import cftime

        return cftime.num2date(values, units or utc_units(self.units), self.calendar)

    def date_text(self, number: int) -> str:
        """The time of a record as written in an entry to choose it, rounded to the second."""
        date = self.dates(self.values[number]) + timedelta(microseconds=500_000)
        return date.strftime("%Y-%m-%dT%H:%M:%S")

    def describe_range(self) -> str:
        """The range of dates, or why it is unknown, as the end of a sentence."""
        if self.has_dates:
            return f", {self.date_text(0)} to {self.date_text(-1)}"
        if self.axis != "t" and "since" not in self.units:
            return ""
        has = f'"{self.units}" of the calendar {self.calendar}' if self.units else "no units"
        return f', without dates (their times have {has}; units such as "hours since 2020-01-01" would date them)'

    def find_record(self, record: str) -> int | None:
        """The number of the record at a time in an entry; None if there is none."""
        import cftime

        if not self.has_dates or not format_date(record):
            return None
        try:
            date = self.dates(0, f"seconds since {format_date(record)}")
            number = int(
                np.nanargmin(np.abs(self.values - cftime.date2num(date, utc_units(self.units), self.calendar)))
            )
        except (ValueError, OverflowError):  # no such date
            return None
        return (
            number
            if abs((self.dates(self.values[number]) - date).total_seconds()) <= MAX_TIME_DIFFERENCE_SECONDS
            else None
        )


def find_record_times(dataset: CFDataset, variable) -> tuple[str, RecordTimes] | None:
    """The dimension along which the records of a variable have dates, and their RecordTimes; None without dates."""
    several_first = sorted(variable.sizes.items(), key=lambda item: item[1] == 1)
    candidates = ((name, RecordTimes(dataset, name, size)) for name, size in several_first)
    return next((pair for pair in candidates if pair[1].has_dates), None)
