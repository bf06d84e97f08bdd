"""The times of records in time steps, and in words."""

from __future__ import annotations

import math
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from ...ocean.constituents import DAY_SECONDS
from ...ocean.dates import start_date
from ...ocean.records import RecordInterval
from .netcdf_input import InputError

if TYPE_CHECKING:
    from ...config.options.model import Config

#: Largest distance between a record and a whole step that counts as rounding, in time steps.
MAX_RECORD_ROUNDING_STEPS = 1e-6
#: Length of the interval after the last record of a value that no longer changes, steps. No run has more steps.
FOREVER_STEPS = 2.0**31
#: The length of the shortest year of all calendars, days.
MIN_YEAR_DAYS = 360.0


def find_record(
    config: Config, label: str, seconds: np.ndarray, dates, step: float, keeps_last: bool = False
) -> tuple[int, RecordInterval]:
    """The number of the last record at or before the start of a step, and the RecordInterval to the next record.

    Args:
        label: name of the records in messages.
        seconds, dates: times of the records, s since the start of the run, and in words.
        keeps_last: whether the last record holds for the rest of the run.

    Raises:
        InputError: the records begin after the start of the step, or end a step or more before it, or there is only
            one record.
    """
    record_steps = round_record_steps(seconds / time_step_of(config))
    if keeps_last:
        record_steps = np.append(record_steps, np.inf)
    number = int(np.searchsorted(record_steps, step, side="right")) - 1
    if number == len(record_steps) - 1 and step - record_steps[-1] < 1 and number:
        number -= 1
    if not 0 <= number < len(record_steps) - 1:
        needed = describe_time(step * time_step_of(config), config.time)
        raise InputError(
            f"{label}: its records begin at {dates[0]} and end at {dates[-1]}, but the run needs them at "
            f"{needed}; give more records, another time.start or a shorter run"
        )
    return number, finite_interval(*record_steps[number : number + 2])


def interval_at(record_steps: np.ndarray, step: float) -> tuple[int, RecordInterval]:
    """The number of the last record at or before a step, and the RecordInterval to the next one."""
    record_steps = round_record_steps(record_steps)
    number = int(np.searchsorted(record_steps, step, side="right")) - 1
    return number, finite_interval(*record_steps[number : number + 2])


def finite_interval(before: float, after: float) -> RecordInterval:
    """The RecordInterval from `before` to `after`, steps; an infinite `after` becomes one that no run reaches."""
    return RecordInterval(before, before + FOREVER_STEPS if after == np.inf else after)


def time_step_of(config: Config) -> float:
    """The time step, s; 1 s while it is unknown, for callers that need only the kinds of sources."""
    return config.time.dt or 1.0


def round_record_steps(record_steps: np.ndarray) -> np.ndarray:
    """Times of records in steps, rounded to a whole number if they are within MAX_RECORD_ROUNDING_STEPS of it."""
    nearest = np.rint(record_steps)
    with np.errstate(invalid="ignore"):  # inf - inf
        difference = np.abs(record_steps - nearest)
    return np.where(difference < MAX_RECORD_ROUNDING_STEPS, nearest, record_steps)


def years_of_run(config: Config) -> int:
    """A number of years that is at least as long as the run in any calendar."""
    days = config.run.days or (config.run.steps or 0) * time_step_of(config) / DAY_SECONDS
    return math.ceil(days / MIN_YEAR_DAYS)


def describe_time(seconds: float, time) -> str:
    """A time of the run in words: its date, or s since the start if dates are unknown or do not reach so far."""
    if time.start:
        with suppress(OverflowError):
            return (start_date(time) + timedelta(seconds=float(seconds))).strftime("%Y-%m-%dT%H:%M:%S")
    return f"t = {seconds:g} s"
