"""The date of step 0, in the calendar of the run."""

from __future__ import annotations

import re
from typing import Any

#: Origin of times in runs without a date.
UNDATED = "2000-01-01T00:00:00"

#: The form of a date in a configuration; cftime ignores unknown parts of other texts.
DATE = re.compile(r"(\d{1,6}-\d\d?-\d\d?)(?:[T ](\d\d:\d\d)(:\d\d(?:\.\d+)?)?Z?)?", re.ASCII)

#: Calendars of CF.
CALENDARS = ("proleptic_gregorian", "standard", "noleap", "all_leap", "360_day", "julian")
#: Other names of them. From 1582 on, the first two calendars have the same days.
SAME = {"gregorian": "standard", "365_day": "noleap", "366_day": "all_leap"}


def written(text: str) -> str:
    """A date in the form of units of time, "2020-03-01 06:00:00"; empty for other texts."""
    match = DATE.fullmatch(text)
    return f"{match[1]} {match[2] or '00:00'}{match[3] or ':00'}" if match else ""


def units_of(time: Any) -> str:
    """The units of the times of a run, "seconds since 2020-03-01 06:00:00"; `time` is the section."""
    return f"seconds since {written(time.start or UNDATED)}"


def known(text: str, calendar: str) -> bool:
    """Whether a date and time of day exists in a calendar."""
    import cftime

    try:
        cftime.num2date(0, f"seconds since {written(text)}", calendar)
    except ValueError:
        return False
    return True


def start_of(time: Any) -> Any:
    """The date of step 0, a `cftime.datetime` in the calendar of the run."""
    import cftime

    return cftime.num2date(0, units_of(time), time.calendar)


def alike(calendar: str, other: str) -> bool:
    """Whether two calendars have the same days, from 1582 on."""
    gregorian = CALENDARS[:2]
    one, two = (SAME.get(name.lower(), name.lower()) for name in (calendar, other))
    return one == two or (one in gregorian and two in gregorian)
