"""Choice of a record by its number or its time; times and dates, by cftime."""

from __future__ import annotations

import re
from datetime import timedelta

import numpy as np

from ....ocean.dates import written
from .dataset import CFDataset, numeric, values_of
from .errors import InputError

#: Largest difference between the time of a record and the one in an entry, s.
NEAR = 1.0


def choose(dataset: CFDataset, others: dict[str, int], record: str | None, place: str) -> dict[str, int]:
    """The index along each dimension of `others`, {name: size}, which the grid lacks.

    `record`: None where there is one record only, a number (-1 is the last), or a time.
    """
    if not others and record is not None:
        raise InputError(f"{place} has no records; leave out @{record}")
    name = max(others, key=others.__getitem__, default="")
    chosen, size = dict.fromkeys(others, 0), others.get(name, 1)
    if record is None and size == 1:
        return chosen
    if record is not None and re.fullmatch(r"[+-]?\d{1,9}", record) and -size <= int(record) < size:
        return chosen | {name: int(record) % size}
    times = Times(dataset, name, size)
    if record is None:
        raise InputError(
            f"{place} has {size} records along {name}{times.span()}, the model needs one; choose it at the "
            f'end of the entry: "@0" to "@{size - 1}", or "@-1" for the last'
            + (f', or "@{times.text(0)}"' if times.dated else "")
        )
    number = times.find(record)
    if number is None:
        raise InputError(f'{place} has no record "{record}": they are 0 to {size - 1}{times.span()}')
    return chosen | {name: number}


class Times:
    """The times of records along a dimension; none without a coordinate in units of time since a date."""

    def __init__(self, dataset: CFDataset, dimension: str, count: int):
        self.count, self.values = count, np.empty(0)
        self.units, self.calendar, self.kind = "", "standard", ""
        variable = dataset.data.variables.get(dimension)
        if variable is None or not count or variable.shape != (count,) or not numeric(variable):
            return
        self.kind = dataset.kinds.get(dimension, "")
        self.units, self.calendar = variable.attrs.get("units", ""), variable.attrs.get("calendar", self.calendar)
        values = np.asarray(values_of(dataset.data[dimension]), np.float64)
        try:
            self.dates(values[[0, -1]])
        except (ValueError, OverflowError, TypeError):  # no units of time that cftime knows, or no finite numbers
            return
        self.values = values

    @property
    def dated(self) -> bool:
        """Whether the records have dates."""
        return self.values.size > 0

    def dates(self, values, units: str = ""):
        """The dates of numbers in the units of the file, or in `units`."""
        import cftime

        return cftime.num2date(values, units or self.units, self.calendar)

    def text(self, number: int) -> str:
        """A time as it is written to choose its record, rounded to the second."""
        date = self.dates(self.values[number]) + timedelta(microseconds=500_000)
        return date.strftime("%Y-%m-%dT%H:%M:%S")

    def span(self) -> str:
        """The range of dates, or why it is unknown, as the end of a sentence."""
        if self.dated:
            return f", {self.text(0)} to {self.text(-1)}"
        if self.kind != "t" and "since" not in self.units:
            return ""
        has = f'"{self.units}" of the calendar {self.calendar}' if self.units else "no units"
        return f', without dates (their times have {has}; as "hours since 2020-01-01" they would be dates)'

    def find(self, record: str) -> int | None:
        """The number of the record at a written time; None without one."""
        import cftime

        if not self.dated or not written(record):
            return None
        try:
            date = self.dates(0, f"seconds since {written(record)}")
            number = int(np.nanargmin(np.abs(self.values - cftime.date2num(date, self.units, self.calendar))))
        except (ValueError, OverflowError):  # no such date
            return None
        return number if abs((self.dates(self.values[number]) - date).total_seconds()) <= NEAR else None


def times_in(dataset: CFDataset, found) -> tuple[str, Times] | None:
    """The dimension of a variable whose records have Times, and these; None without."""
    several_first = sorted(found.sizes.items(), key=lambda item: item[1] == 1)
    every = ((name, Times(dataset, name, size)) for name, size in several_first)
    return next((pair for pair in every if pair[1].dated), None)
