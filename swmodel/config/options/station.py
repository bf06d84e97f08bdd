"""A gauge and a section as the configuration has them: the tables [[station]] and [[section]]."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator

from ...ocean.option import Section, option

#: Letters of a name.
MOST_LETTERS = 64


def named(text: Any) -> Any:
    """A name of a place, unless it cannot stand in a file as one."""
    if not isinstance(text, str) or not 1 <= len(text.strip()) == len(text) <= MOST_LETTERS:
        raise ValueError(f"must be a name of 1 to {MOST_LETTERS} letters, without spaces around it")
    return text


def pair(given: Any) -> Any:
    """Two numbers, also from a list."""
    if not isinstance(given, list | tuple) or len(given) != 2:
        raise ValueError("must be two numbers, [x, y] in m or [longitude, latitude]")
    return tuple(given)


Name = Annotated[str, BeforeValidator(named)]
Position = Annotated[tuple[float, float], BeforeValidator(pair)]


class Station(Section):
    """A gauge: where eta, u, v and the tracer are written as series. A table [[station]] of a file."""

    name: Name = option(..., "", "of the station")
    lon: float | None = option(None, "degrees", "longitude, on a sphere")
    lat: float | None = option(None, "degrees", "latitude, on a sphere")
    x: float | None = option(None, "m", "position in x, on a plane")
    y: float | None = option(None, "m", "position in y, on a plane")


class Line(Section):
    """A line whose transport is written as a series. A table [[section]] of a file."""

    name: Name = option(..., "", "of the section")
    start: Position = option(..., "", "where it begins, [x, y] in m or [longitude, latitude]")
    end: Position = option(..., "", "where it ends, [x, y] in m or [longitude, latitude]")
