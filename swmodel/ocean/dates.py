"""The date of step 0, in the calendar of the run."""

from __future__ import annotations

import re
from typing import Any

#: Origin of the time axis of runs without a date.
DEFAULT_START = "2000-01-01T00:00:00"

#: The form of a date in a configuration. Other texts are refused, because cftime ignores parts that it does not know.
DATE_PATTERN = re.compile(r"(\d{1,6}-\d\d?-\d\d?)(?:[T ](\d\d:\d\d)(:\d\d(?:\.\d+)?)?Z?)?", re.ASCII)

#: Calendars of CF.
CALENDARS = ("proleptic_gregorian", "standard", "noleap", "all_leap", "360_day", "julian")
#: Other names of these calendars. After October 1582 the first two of CALENDARS have the same days.
CALENDAR_ALIASES = {"gregorian": "standard", "365_day": "noleap", "366_day": "all_leap"}


def format_date(text: str) -> str:
    """A date as in units of time, "2020-03-01 06:00:00"; "" for a text that is not a date."""
    match = DATE_PATTERN.fullmatch(text)
    return f"{match[1]} {match[2] or '00:00'}{match[3] or ':00'}" if match else ""


def time_units(time: Any) -> str:
    """The units of the times of a run, "seconds since 2020-03-01 06:00:00"; `time` is the section [time]."""
    return f"seconds since {format_date(time.start or DEFAULT_START)}"


def is_valid_date(text: str, calendar: str) -> bool:
    import cftime

    try:
        cftime.num2date(0, f"seconds since {format_date(text)}", calendar)
    except ValueError:
        return False
    return True


def start_date(time: Any) -> Any:
    """The date of step 0, a `cftime.datetime` in the calendar of the run."""
    import cftime

    return cftime.num2date(0, time_units(time), time.calendar)


def have_same_days(calendar: str, other: str) -> bool:
    """Whether two calendars have the same days; for standard and proleptic_gregorian from November 1582 on."""
    gregorian = CALENDARS[:2]
    one, two = (CALENDAR_ALIASES.get(name.lower(), name.lower()) for name in (calendar, other))
    return one == two or (one in gregorian and two in gregorian)
