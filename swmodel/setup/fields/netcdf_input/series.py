"""Variables with records in time, in one file or in several: when their records are, and each of them as a field."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from ....ocean.dates import SAME, alike, units_of
from .errors import InputError, remark
from .read import field_of, open_file, opened, stamp, values_of
from .records import Times
from .source import Source, find, parse

#: A step between two records longer than this many usual ones is reported: a file may be missing.
LONG = 1.5


@dataclass(frozen=True, eq=False)
class Records:
    """The records of a variable.

    Attributes:
        what: it is, for messages.
        seconds: when they are, s since the start of the run, rising.
        fields: of each a function (variable, grid) of a context with its Field, as `read.opened` is one.
        dates: of each, in words.
    """

    what: str
    seconds: np.ndarray
    fields: tuple[Callable, ...]
    dates: tuple[str, ...]

    def read(self, number: int, variable, grid, rows, columns) -> np.ndarray:
        """Values of a record; see `read_field`."""
        with self.fields[number](variable, grid) as field:
            return values_of(field, grid, rows, columns)

    def pole(self, number: int, variable, grid) -> tuple[float, float] | None:
        """See `Field.pole`, of a record."""
        with self.fields[number](variable, grid) as field:
            return field.pole(grid)


def files_of(source: Source) -> list[str]:
    """The files or stores that an entry names: one, or those that its pattern fits, in the order of their names."""
    if os.path.exists(source.path) or not glob.has_magic(source.path):
        return [source.path]
    return sorted(glob.glob(source.path))


def in_time(text: str, variable) -> bool:
    """Whether an entry stands for records in time: for several files, or for a variable with several times."""
    source = parse(text)
    if source.record is not None:
        return False
    paths = files_of(source)
    return paths != [source.path] or has_times(source, variable, stamp(paths))


@lru_cache(maxsize=64)
def has_times(source: Source, variable, stamp) -> bool:
    """Whether the variable of a file has several records with times; False also where it cannot be read."""
    try:
        with open_file(source.path, variable) as dataset:
            found = find(dataset, source, variable)
            return axis_of_time(dataset, found) is not None and found.shape[axis_of_time(dataset, found)] > 1
    except InputError:
        return False


def axis_of_time(dataset, found) -> int | None:
    """The axis of a variable along which there are times; None without."""
    axes = range(found.ndim)
    return next((n for n in axes if Times(dataset, found.dimensions[n], found.shape[n])), None)


def records_of(text: str, variable, grid, time) -> Records:
    """The Records that an entry stands for, checked but for their values.

    Args:
        variable: the entry of VARIABLES that it is read for.
        grid, time: sections of the configuration.

    Raises:
        InputError: a file cannot be used, or the times do not rise, or are of another calendar.
    """
    paths = files_of(parse(text))
    return kept(text, variable, grid, time, stamp(paths))


@lru_cache(maxsize=64)
def kept(text: str, variable, grid, time, stamp) -> Records:
    """See `records_of`."""
    source = parse(text)
    paths, key = files_of(source), f"input.{variable.name}"
    if not paths:
        raise InputError(f"{key}: no file fits {source.path}")
    if not time.start:
        raise InputError(without_start(f"{key}: {text}", first_date(source._replace(path=paths[0]), variable)))
    parts = [times_in(source._replace(path=path), variable, grid, time) for path in paths]
    parts.sort(key=lambda part: part[0][0])
    found = Records(
        f"{key}: {source.path}",
        np.concatenate([seconds for seconds, _, _ in parts]),
        tuple(partial(opened, each) for _, sources, _ in parts for each in sources),
        tuple(date for _, _, dates in parts for date in dates),
    )
    check_order(found)
    return found


def without_start(place: str, first: str) -> str:
    """What is wrong with records in time, the first of this date, where the run has none."""
    return f'{place} has records in time; say at which the run starts, as time.start = "{first}"'


def times_in(source: Source, variable, grid, time) -> tuple[np.ndarray, list[str], list[str]]:
    """Of the records in one file: s since the start of the run, what `read_field` takes, and dates in words.

    Raises:
        InputError: they have no times, or these are of another calendar or not finite; or the variable cannot be used.
    """
    with open_file(source.path, variable) as dataset:
        field = field_of(dataset, source._replace(record="0"), variable, grid)
        name, axis = field.variable.name, axis_of_time(dataset, field.variable)
        place = f"input.{variable.name}: {name} in {source.path}"
        if axis is None:
            raise InputError(f'{place} has no times; a coordinate along its records needs units as "hours since ..."')
        times = Times(dataset, field.variable.dimensions[axis], field.variable.shape[axis])
    seconds, dates = moments(times, time, place)
    asked = source.name or name  # which may say that its sign is changed
    return seconds, [f"{source.path}:{asked}@{number}" for number in range(times.count)], dates


def moments(times: Times, time, place: str) -> tuple[np.ndarray, list[str]]:
    """When records are: s since the start of the run, and dates in words.

    Args:
        time: section of the configuration.
        place: how messages begin.

    Raises:
        InputError: they are of another calendar, or not finite.
    """
    import netCDF4

    if not alike(times.calendar, time.calendar):
        raise InputError(
            f'{place} has the calendar "{times.calendar}", the run {time.calendar}; '
            f'set time.calendar = "{SAME.get(times.calendar, times.calendar)}", or change that of the file'
        )
    if not np.isfinite(times.values).all():
        raise InputError(f"{place}: its times have missing values")
    seconds = np.asarray(netCDF4.date2num(times.decoded(times.values), units_of(time), times.calendar), np.float64)
    return seconds, [times.text(number) for number in range(times.count)]


def date_after(time, seconds: float) -> str:
    """The date so long after the start of a run, in words; `time` is the section."""
    import netCDF4

    return netCDF4.num2date(seconds, units_of(time), time.calendar).strftime("%Y-%m-%dT%H:%M:%S")


def first_date(source: Source, variable) -> str:
    """When the first record of a file is, in words."""
    with open_file(source.path, variable) as dataset:
        found = find(dataset, source, variable)
        axis = axis_of_time(dataset, found)
        return "2000-01-01" if axis is None else Times(dataset, found.dimensions[axis], found.shape[axis]).text(0)


def check_order(records: Records) -> None:
    """See that times rise; a gap is said in a line.

    Raises:
        InputError: one is there twice, or before the one in front of it.
    """
    steps, dates = np.diff(records.seconds), records.dates
    if (bad := np.flatnonzero(steps <= 0)).size:
        at = bad[0]
        how = "twice" if steps[at] == 0 else f"behind {dates[at]}"
        raise InputError(f"{records.what}: times must rise, but {dates[at + 1]} is there {how}")
    usual = np.median(steps) if steps.size else 0.0
    if (long := np.flatnonzero(steps > LONG * usual)).size:
        at = long[0]
        remark(
            f"{records.what}: no record between {dates[at]} and {dates[at + 1]}, elsewhere each {usual:.10g} s; "
            "between two records values go along a straight line"
        )
