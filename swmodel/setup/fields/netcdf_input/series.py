"""Variables with records in time, in files or in a DataArray: their times, and each record as a field."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import nullcontext
from functools import lru_cache, partial
from itertools import chain
from typing import NamedTuple

import numpy as np

from ....ocean.constituents import DAY_SECONDS
from ....ocean.dates import CALENDAR_ALIASES, have_same_days, start_date, time_units
from .dataset import open_file
from .errors import InputError, log_once
from .input_entry import InputEntry, find_variable, parse_entry
from .read import open_variable, times_of_array, variable_from_array
from .times import RecordTimes, find_record_times

#: Intervals between records that are longer, relative to the median interval, are reported: a file may be missing.
MAX_GAP_RATIO = 1.5
#: The length of a year, s.
YEAR_SECONDS = 365 * DAY_SECONDS


class VariableRecords(NamedTuple):
    """The records of a variable.

    Attributes:
        label: the name of the variable in messages.
        seconds: times since the start of the run, s, ascending.
        dates: the date of each record, in words.
        fields: for each record a function of (variable, grid) that opens its GridVariable (`read.open_variable`).
    """

    label: str
    seconds: np.ndarray
    dates: tuple[str, ...]
    fields: tuple[Callable, ...]


def join_records(label: str, parts: list[tuple]) -> VariableRecords:
    """The VariableRecords of parts (seconds, dates, fields, file); logs gaps. InputError: times do not rise."""
    seconds, dates, fields, files = zip(*sorted(parts, key=lambda part: part[0][0]), strict=True)
    records = VariableRecords(label, np.concatenate(seconds), (*chain(*dates),), (*chain(*fields),))
    steps, dates = np.diff(records.seconds), records.dates
    last_numbers = np.cumsum([len(each) for each in seconds]) - 1

    def place(number: int) -> str:
        """The files on both sides of a step between records of different files, in words."""
        file = int(np.searchsorted(last_numbers, number))
        between = len(files) > 1 and number == last_numbers[file]
        return f" ({os.path.basename(files[file])}, {os.path.basename(files[file + 1])})" if between else ""

    for number in np.flatnonzero(steps <= 0)[:1]:
        raise InputError(f"{label}: times must rise, but {dates[number + 1]} follows {dates[number]}{place(number)}")
    for number in np.flatnonzero(steps > MAX_GAP_RATIO * np.median(steps))[:1] if steps.size else ():
        log_once(
            f"{label}: no record between {dates[number]} and {dates[number + 1]}{place(number)}, but elsewhere every "
            f"{np.median(steps):.10g} s; values are interpolated linearly across the gap"
        )
    return records


def has_records_in_time(text: str, model_variable) -> bool:
    """Whether an entry has records in time: a pattern of files, or a variable with several times; not with @RECORD."""
    entry = parse_entry(text)
    if entry.record is not None:
        return False
    return entry.files() != [entry.path] or has_several_times(entry, model_variable, entry.file_stamps())


@lru_cache(maxsize=64)
def has_several_times(entry: InputEntry, model_variable, stamps) -> bool:
    """Whether the variable of a file has several records with times; False also if the file cannot be read."""
    try:
        with open_file(entry.path) as dataset:
            variable, *_ = find_variable(dataset, entry, model_variable)
            record_times = find_record_times(dataset, variable)
            return record_times is not None and record_times[1].count > 1
    except InputError:
        return False


@lru_cache(maxsize=64)
def records_of_entry(text: str, model_variable, grid, time, stamps, years: int | None) -> VariableRecords:
    """The VariableRecords of an entry, checked except for their values.

    Args:
        stamps: (path, `dataset.file_stamp`) of each of its files.
        years: length of the run in years, for a climatology (`repeat_every_year`); else None.

    Raises:
        InputError: there is no file, or a file has no such variable on this grid, or no suitable times.
    """
    entry, context = parse_entry(text), f"input.{model_variable.name}"
    if not stamps:
        raise InputError(f"{context}: no file matches {entry.path}")
    parts = []
    for path, _ in stamps:
        with open_file(path, f"{context}: ") as dataset:
            variable, *_ = find_variable(dataset, entry._replace(path=path), model_variable)
            file_context, record_times = f"{context}: {variable.name} in {path}", find_record_times(dataset, variable)
            if record_times is None:
                raise InputError(
                    f'{file_context} has no times; a coordinate along its records needs units such as "hours since ..."'
                )
            _, times = record_times
            name = f"{path}:{entry.name or variable.name}"  # entry.name may change the sign
            fields = [partial(open_variable, f"{name}@{number}") for number in range(times.count)]
            parts.append((*seconds_and_dates(times, time, file_context, years is not None), fields, path))
            with fields[0](model_variable, grid):
                pass
    records = join_records(f"{context}: {entry.path}", parts)
    return records if years is None else repeat_every_year(records, time, years)


def repeat_every_year(records: VariableRecords, time, years: int) -> VariableRecords:
    """The records of one year, repeated in every year from before the start of a run to after its `years` years.

    They keep month, day and time, whatever the calendar of the file; records of days that a year lacks, such as
    29 February, are left out in it. A gap between two years is logged. InputError: the last record is a year or more
    after the first.
    """
    import cftime

    date_numbers = [tuple(map(int, re.findall(r"\d+", date))) for date in records.dates]  # year, month, day, hour, ...
    year = date_numbers[0][0]
    if date_numbers[-1] >= (year + 1, *date_numbers[0][1:]):
        raise InputError(
            f"{records.label}: a climatology has records of one year, but these are {records.dates[0]} to "
            f"{records.dates[-1]}; leave out others, or the name in forcing.climatology"
        )
    steps = np.diff(records.seconds)
    if steps.size and YEAR_SECONDS - steps.sum() > MAX_GAP_RATIO * np.median(steps):
        log_once(
            f"{records.label}: the climatology has no record between {records.dates[-1]} and {records.dates[0]} a year "
            f"later, but elsewhere every {np.median(steps):.10g} s; values are interpolated linearly across the gap"
        )
    first_shift = start_date(time).year - year - 2
    dates, fields = [], []
    for shift in range(first_shift, first_shift + years + 4):
        for (year, *in_year), field in zip(date_numbers, records.fields, strict=True):
            try:
                dates.append(cftime.datetime(year + shift, *in_year, calendar=time.calendar))
            except ValueError:  # this year has no such day
                continue
            fields.append(field)
    seconds = np.asarray(cftime.date2num(dates, time_units(time), time.calendar), np.float64)
    texts = tuple(date.strftime("%Y-%m-%dT%H:%M:%S") for date in dates)
    return VariableRecords(records.label, seconds, texts, tuple(fields))


def records_of_array(array, time, context: str, years: int | None) -> VariableRecords:
    """The VariableRecords of a DataArray, each a `variable_from_array`; for `years` see `records_of_entry`."""
    dimension_and_times = times_of_array(array, context)
    assert dimension_and_times is not None  # `python_fields` makes records only of an array with several in time
    dimension, times = dimension_and_times

    def open_record(number: int, model_variable, grid):
        return nullcontext(variable_from_array(array.isel({dimension: number}), model_variable, grid, context))

    fields = [partial(open_record, number) for number in range(times.count)]
    records = join_records(context, [(*seconds_and_dates(times, time, context, years is not None), fields, "")])
    return records if years is None else repeat_every_year(records, time, years)


def seconds_and_dates(
    times: RecordTimes, time, context: str, is_climatology: bool = False
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Times of records: s since the start of the run, or of year 1 of a climatology, and dates in words.

    InputError: the run has no date or another calendar, or times are missing.
    """
    import cftime

    if not time.start:
        raise InputError(
            f'{context} has records in time; give the start of the run, as time.start = "{times.date_text(0)}"'
        )
    if not (is_climatology or have_same_days(times.calendar, time.calendar)):
        raise InputError(
            f'{context} has the calendar "{times.calendar}", but the run has {time.calendar}; '
            f'set time.calendar = "{CALENDAR_ALIASES.get(times.calendar, times.calendar)}", or change that of the file'
        )
    if not np.isfinite(times.values).all():
        raise InputError(f"{context}: its times have missing values")
    units = "seconds since 0001-01-01" if is_climatology else time_units(time)
    seconds = np.asarray(cftime.date2num(times.dates(times.values), units, times.calendar), np.float64)
    return seconds, tuple(map(times.date_text, range(times.count)))
