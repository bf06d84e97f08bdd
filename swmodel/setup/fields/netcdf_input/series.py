"""Variables with records in time, in files or in a DataArray: when their records are, and each of them as a field."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain

import numpy as np

from ....ocean.dates import SAME, alike, units_of
from .dataset import CFDataset, open_file
from .errors import InputError, remark
from .labelled import field_in, times_of
from .read import on_grid, opened
from .source import Source, find, parse
from .times import Times

#: A step between two records longer than this many usual ones is reported: a file may be missing.
LONG = 1.5


@dataclass(frozen=True, eq=False)
class Records:
    """The records of a variable.

    Attributes:
        what: it is, for messages.
        seconds: when they are, s since the start of the run, rising.
        fields: of each a function (row of VARIABLES, grid) of a context with its GridVariable, as `read.opened` is one.
        dates: of each, in words.
    """

    what: str
    seconds: np.ndarray
    fields: tuple[Callable, ...]
    dates: tuple[str, ...]

    def __post_init__(self):
        """See that times rise; a gap is said in a line."""
        steps, dates = np.diff(self.seconds), self.dates
        if (bad := np.flatnonzero(steps <= 0)).size:
            at = bad[0]
            how = "twice" if steps[at] == 0 else f"behind {dates[at]}"
            raise InputError(f"{self.what}: times must rise, but {dates[at + 1]} is there {how}")
        usual = np.median(steps) if steps.size else 0.0
        if (long := np.flatnonzero(steps > LONG * usual)).size:
            at = long[0]
            remark(
                f"{self.what}: no record between {dates[at]} and {dates[at + 1]}, elsewhere each {usual:.10g} s; "
                "between two records values go along a straight line"
            )


def in_time(text: str, row) -> bool:
    """Whether an entry stands for records in time: for several files, or for a variable with several times."""
    source = parse(text)
    if source.record is not None:
        return False
    return source.files() != [source.path] or has_times(source, row, source.stamps())


@lru_cache(maxsize=64)
def has_times(source: Source, row, stamps) -> bool:
    """Whether the variable of a file has several records with times; False also where it cannot be read."""
    try:
        with open_file(source.path) as dataset:
            times = times_in(dataset, find(dataset, source, row).variable)
            return times is not None and times.count > 1
    except InputError:
        return False


def times_in(dataset: CFDataset, found) -> Times | None:
    """The times of the records of a variable of a file; None without."""
    every = (Times(dataset, name, size) for name, size in found.sizes.items())
    return next(filter(None, every), None)


def records_of(text: str, row, grid, time) -> Records:
    """The Records that an entry stands for, checked except for their values."""
    return kept(text, row, grid, time, parse(text).stamps())


@lru_cache(maxsize=64)
def kept(text: str, row, grid, time, stamps) -> Records:
    """See `records_of`."""
    source, place = parse(text), f"input.{row.name}"
    if not stamps:
        raise InputError(f"{place}: no file fits {source.path}")
    parts = []
    for path, _ in stamps:
        one = source._replace(path=path)
        with open_file(path, f"{place}: ") as dataset:
            found = find(dataset, one, row).variable
            times = times_in(dataset, found)
            if not time.start:
                raise InputError(without_start(f"{place}: {text}", times))
            on_grid(dataset, one._replace(record="0"), row, grid)
            where = f"{place}: {found.name} in {path}"
            if times is None:
                needed = 'a coordinate along its records needs units as "hours since ..."'
                raise InputError(f"{where} has no times; {needed}")
            name = source.name or found.name  # which may say that its sign is changed
        numbered = [partial(opened, f"{path}:{name}@{number}") for number in range(times.count)]
        parts.append((*moments(times, time, where), numbered))
    parts.sort(key=lambda part: part[0][0])
    seconds, dates, fields = zip(*parts, strict=True)
    return Records(f"{place}: {source.path}", np.concatenate(seconds), (*chain(*fields),), (*chain(*dates),))


def records_in(array, time, place: str) -> Records:
    """The Records of a DataArray in time, each a `field_in`."""
    dimension, times = times_of(array, place)
    if not time.start:
        raise InputError(without_start(place, times))
    seconds, dates = moments(times, time, place)

    def record(number: int, row, grid):
        return nullcontext(field_in(array.isel({dimension: number}), row, grid, place))

    return Records(place, seconds, tuple(partial(record, number) for number in range(times.count)), tuple(dates))


def without_start(place: str, times: Times | None) -> str:
    """What is wrong with records in time where the run has no date."""
    first = times.text(0) if times else "2000-01-01"
    return f'{place} has records in time; say at which the run starts, as time.start = "{first}"'


def moments(times: Times, time, place: str) -> tuple[np.ndarray, list[str]]:
    """When records are: s since the start of the run, and dates in words."""
    import cftime

    if not alike(times.calendar, time.calendar):
        raise InputError(
            f'{place} has the calendar "{times.calendar}", the run {time.calendar}; '
            f'set time.calendar = "{SAME.get(times.calendar, times.calendar)}", or change that of the file'
        )
    if not np.isfinite(times.values).all():
        raise InputError(f"{place}: its times have missing values")
    seconds = np.asarray(cftime.date2num(times.decoded(times.values), units_of(time), times.calendar), np.float64)
    return seconds, [times.text(number) for number in range(times.count)]


def date_after(time, seconds: float) -> str:
    """The date so long after the start of a run, in words; `time` is the section."""
    import cftime

    return cftime.num2date(seconds, units_of(time), time.calendar).strftime("%Y-%m-%dT%H:%M:%S")
