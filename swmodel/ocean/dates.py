"""When a run starts: the date of its step 0, in the calendar of the run."""

from __future__ import annotations

import re
from typing import Any

#: Where no date is given, times are counted from here.
UNDATED = "2000-01-01T00:00:00"

#: A date as it is written in a configuration; cftime passes over what it does not understand in others.
DATE = re.compile(r"(\d{1,6}-\d\d?-\d\d?)(?:[T ](\d\d:\d\d)(:\d\d(?:\.\d+)?)?Z?)?", re.ASCII)

#: Calendars, as CF calls them.
CALENDARS = ("proleptic_gregorian", "standard", "noleap", "all_leap", "360_day", "julian")
#: Other names of them; from 1582 on, the first two have the same days.
SAME = {"gregorian": "standard", "365_day": "noleap", "366_day": "all_leap"}


def written(text: str) -> str:
    """A date as units of time have it, "2020-03-01 06:00:00"; empty if it is none."""
    match = DATE.fullmatch(text)
    return f"{match[1]} {match[2] or '00:00'}{match[3] or ':00'}" if match else ""


def units_of(time: Any) -> str:
    """The units of the times of a run, "seconds since 2020-03-01 06:00:00"; `time` is the section."""
    return f"seconds since {written(time.start or UNDATED)}"


def known(text: str, calendar: str) -> bool:
    """Whether a calendar has a date and a time of day."""
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
