"""Records: which one is read, by its number or by its time; times and their dates, by cftime."""

from __future__ import annotations

import re
from datetime import timedelta

import numpy as np

from .dataset import CFDataset, numeric, values_of
from .errors import InputError

#: A time as it is written to choose a record; cftime passes over what it does not understand in others.
TIME = re.compile(r"\d{1,6}-\d\d?-\d\d?([T ]\d\d:\d\d(:\d\d(\.\d+)?)?Z?)?", re.ASCII)

#: A record has the time that is asked for if it is not further away, s.
NEAR = 1.0


def choose(dataset: CFDataset, found, axes: tuple[int, ...], record: str | None, place: str) -> dict[int, int]:
    """{axis: index} of the axes of a variable that are not those of the grid, of which one may have several elements.

    `record` is None where there is one record only; a number, also -1 for the last; or a time.
    """
    chosen = dict.fromkeys(axes, 0)
    if record is None and all(found.shape[axis] == 1 for axis in axes):
        return chosen
    if not axes:
        raise InputError(f"{place} has no records; leave out @{record}")
    axis = max(axes, key=lambda axis: (found.shape[axis], -axis))
    count = found.shape[axis]
    if record is not None and re.fullmatch(r"[+-]?[0-9]{1,18}", record) and -count <= int(record) < count:
        return chosen | {axis: int(record) % count}
    times = Times(dataset, found.dims[axis], count)
    if record is None:
        examples = f'"@0" to "@{count - 1}", or "@-1" for the last' + (f', or "@{times.text(0)}"' if times else "")
        raise InputError(
            f"{place} has {count} records along {found.dims[axis]}{times.span()}, and the model takes one; "
            f"choose it at the end of the entry: {examples}"
        )
    if re.fullmatch(r"[+-]?[0-9]+", record):
        raise InputError(f"{place} has no record {record}: they are 0 to {count - 1}{times.span()}")
    return chosen | {axis: times.nearest(record, place)}


class Times:
    """The times of the records along a dimension: none where it has no coordinate in units of time since a date."""

    def __init__(self, dataset: CFDataset, dimension: str, count: int):
        self.count, self.values, self.units, self.kind = count, np.empty(0), "", ""
        variable = dataset.data.variables.get(dimension)
        if variable is None or not count or variable.shape != (count,) or not numeric(variable):
            return
        self.kind = dataset.kinds.get(dimension, "")
        self.units, self.calendar = variable.attrs.get("units", ""), variable.attrs.get("calendar", "standard")
        values = np.asarray(values_of(dataset.data[dimension]), np.float64)
        try:
            self.decoded(values[[0, -1]])
        except (ValueError, OverflowError):  # no units of time, or no finite numbers
            return
        self.values = values

    def decoded(self, values, units: str = ""):
        """The dates of numbers in the units of the file, or in others."""
        import cftime

        return cftime.num2date(values, units or self.units, self.calendar)

    def __bool__(self) -> bool:
        return self.values.size > 0

    def text(self, number: int) -> str:
        """A time as it is written to choose its record, rounded to the second."""
        date = self.decoded(self.values[number]) + timedelta(microseconds=500_000)
        return date.strftime("%Y-%m-%dT%H:%M:%S")

    def span(self) -> str:
        """From when to when they are, or why that is not known, in words that follow others."""
        if not self and "since" in self.units:
            return f', whose times are not understood, in "{self.units}" of the calendar {self.calendar}'
        if not self and self.kind == "t":
            has = f'the units "{self.units}"' if self.units else "no units"
            return f', without dates (their times have {has}; as "hours since 2020-01-01" they would be dates)'
        return f", {self.text(0)} to {self.text(-1)}" if self else ""

    def date(self, record: str):
        """The date that is written, in the calendar of the file; None if it is none."""
        try:
            return self.decoded(0, f"seconds since {record}") if TIME.fullmatch(record) else None
        except (ValueError, OverflowError):
            return None

    def nearest(self, record: str, place: str) -> int:
        """The number of the record with the time that is written."""
        import cftime

        how = f"write a number from 0 to {self.count - 1}, or -1 for the last"
        if not self:
            raise InputError(f'{place} has no record "{record}": its records have no times; {how}')
        date = self.date(record)
        if date is None:
            raise InputError(f'{place}: "{record}" is no record; {how}, or a time such as {self.text(0)}')
        number = int(np.nanargmin(np.abs(self.values - cftime.date2num(date, self.units, self.calendar))))
        if abs((self.decoded(self.values[number]) - date).total_seconds()) > NEAR:
            near = f"; the nearest is {self.text(number)}" if self.count > 1 else ""
            raise InputError(f"{place} has no record at {record}: they are{self.span()[1:]}{near}")
        return number
