"""The fixes of a storm: what one line of a track says, as numbers in SI units."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import NamedTuple

#: Units in files, converted to m s-1, m and Pa.
KNOT, NAUTICAL_MILE, HECTOPASCAL = 1852.0 / 3600.0, 1852.0, 100.0


class Fix(NamedTuple):
    """A position of a storm at a time, with its wind and pressures; or a line that cannot be read."""

    context: str  # file and line, "file:12"
    storm: str  # identifier of the storm, "AL092017"; "" in a table without one
    name: str  # "HARVEY"; "" without one
    date: datetime | None  # None for a line with a `problem`, and for a storm whose fixes are not read
    values: list[float]  # those of `storm_tracks.VALUE_LIMITS`, SI units and degrees, NaN where missing
    season: str = ""  # year of the season; "": that of the date
    problem: str = ""


def storm_names(storm: str, name: str, years: Iterable[str]) -> set[str]:
    """All names by which a user may choose a storm, in capitals."""
    names = {storm, name, f"{storm} {name}".strip(), *(f"{name} {year}".strip() for year in years if name)}
    return {each.upper() for each in names}


def fix_of_line(
    context: str, storm: str, name: str, parse: Callable[[], tuple[datetime, list[float]]], season: str = ""
) -> Fix:
    """The Fix of a line, whose date and values `parse` returns; if it raises, a Fix with the problem."""
    try:
        return Fix(context, storm, name, *parse(), season)
    except IndexError:
        problem = "cannot be read: it has too few values"
    except (ValueError, OverflowError) as error:
        problem = f"cannot be read: {error}"
    return Fix(context, storm, name, None, [], season, problem)


def parse_number(name: str, text: str) -> float:
    """The number in a text, which messages call `name`; NaN where there is none."""
    try:
        return float(text or "nan")
    except ValueError:
        raise ValueError(f'the {name} is "{text}"; must be a number') from None


def parse_positive(name: str, text: str, unit: float) -> float:
    """A number in SI units; NaN for a number not above zero, which means missing."""
    value = parse_number(name, text)
    return value * unit if value > 0 else math.nan
