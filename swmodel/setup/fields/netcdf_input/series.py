"""Variables with records in time, in files or in a DataArray: times, and each record as a field."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import lru_cache, partial
from itertools import chain
from typing import NamedTuple

import numpy as np

from ....ocean.dates import SAME, alike, units_of
from .dataset import open_file
from .errors import InputError, remark
from .read import field_in, opened, times_of
from .source import Source, find, parse
from .times import Times, times_in

#: A step between records longer than this many usual ones is reported, as a file may be missing.
LONG = 1.5


class Records(NamedTuple):
    """The records of a variable.

    Attributes:
        what: the name of the variable in messages.
        seconds: times since the start of the run, s, rising.
        dates: the date of each record, in words.
        fields: for each record a function (row of VARIABLES, grid) to a context with its GridVariable (`read.opened`).
    """

    what: str
    seconds: np.ndarray
    dates: tuple[str, ...]
    fields: tuple[Callable, ...]


def in_order(what: str, parts: list[tuple]) -> Records:
    """The Records of parts (seconds, dates, fields), whose times must rise; logs gaps."""
    seconds, dates, fields = zip(*sorted(parts, key=lambda part: part[0][0]), strict=True)
    records = Records(what, np.concatenate(seconds), (*chain(*dates),), (*chain(*fields),))
    steps, dates = np.diff(records.seconds), records.dates
    for at in np.flatnonzero(steps <= 0)[:1]:
        raise InputError(f"{what}: times must rise, but {dates[at + 1]} follows {dates[at]}")
    for at in np.flatnonzero(steps > LONG * np.median(steps))[:1] if steps.size else ():
        remark(
            f"{what}: no record between {dates[at]} and {dates[at + 1]}, elsewhere every {np.median(steps):.10g} s; "
            "values are interpolated linearly between records"
        )
    return records


def in_time(text: str, row) -> bool:
    """Whether an entry has records in time: several files, or a variable with several times."""
    source = parse(text)
    if source.record is not None:
        return False
    return source.files() != [source.path] or has_times(source, row, source.stamps())


@lru_cache(maxsize=64)
def has_times(source: Source, row, stamps) -> bool:
    """Whether the variable of a file has several records with times; False also where it cannot be read."""
    try:
        with open_file(source.path) as dataset:
            found, _ = find(dataset, source, row)
            dated = times_in(dataset, found)
            return dated is not None and dated[1].count > 1
    except InputError:
        return False


@lru_cache(maxsize=64)
def records_of(text: str, row, grid, time, stamps) -> Records:
    """The Records of an entry, checked except for their values; `stamps` are those of its files."""
    source, place = parse(text), f"input.{row.name}"
    if not stamps:
        raise InputError(f"{place}: no file fits {source.path}")
    parts = []
    for path, _ in stamps:
        with open_file(path, f"{place}: ") as dataset:
            found, _ = find(dataset, source._replace(path=path), row)
            where, dated = f"{place}: {found.name} in {path}", times_in(dataset, found)
            if dated is None:
                raise InputError(
                    f'{where} has no times; a coordinate along its records needs units as "hours since ..."'
                )
            _, times = dated
            name = f"{path}:{source.name or found.name}"  # may log that its sign is changed
            fields = [partial(opened, f"{name}@{number}") for number in range(times.count)]
            parts.append((*moments(times, time, where), fields))
            with fields[0](row, grid):
                pass
    return in_order(f"{place}: {source.path}", parts)


def records_in(array, time, place: str) -> Records:
    """The Records of a DataArray in time, each a `field_in`."""
    dimension, times = times_of(array, place)

    def record(number: int, row, grid):
        return nullcontext(field_in(array.isel({dimension: number}), row, grid, place))

    fields = [partial(record, number) for number in range(times.count)]
    return in_order(place, [(*moments(times, time, place), fields)])


def moments(times: Times, time, place: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """Times of records: s since the start of the run, and dates in words."""
    import cftime

    if not time.start:
        raise InputError(f'{place} has records in time; give the start of the run, as time.start = "{times.text(0)}"')
    if not alike(times.calendar, time.calendar):
        raise InputError(
            f'{place} has the calendar "{times.calendar}", the run {time.calendar}; '
            f'set time.calendar = "{SAME.get(times.calendar, times.calendar)}", or change that of the file'
        )
    if not np.isfinite(times.values).all():
        raise InputError(f"{place}: its times have missing values")
    seconds = np.asarray(cftime.date2num(times.dates(times.values), units_of(time), times.calendar), np.float64)
    return seconds, tuple(map(times.text, range(times.count)))
