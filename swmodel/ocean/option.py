"""An option of the configuration: its default, its unit, one line of help, its limits; and sections of options.

Lengths of time may be written as 3600, "1 h" or "1.5 days".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Optional, TypeAlias, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator
from pydantic.config import JsonDict

#: Limits of nonzero magnitudes, so that fourth powers and products of several numbers stay within the
#: range of double precision.
MIN_MAGNITUDE, MAX_MAGNITUDE = 1e-30, 1e30

#: Whole number up to which all whole numbers are exact in double precision.
MAX_INTEGER = 2**53

#: Seconds in each unit of time, under all names of the unit.
SECONDS_PER_UNIT = dict.fromkeys(("s", "sec", "second", "seconds", ""), 1.0)
SECONDS_PER_UNIT |= dict.fromkeys(("min", "minute", "minutes"), 60.0)
SECONDS_PER_UNIT |= dict.fromkeys(("h", "hour", "hours"), 3600.0)
SECONDS_PER_UNIT |= dict.fromkeys(("d", "day", "days"), 86400.0)
DURATION_PATTERN = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([a-z]*)\s*", re.ASCII)


def parse_duration(value: Any) -> Any:
    """Seconds from a number of seconds or a text such as "6 h". ValueError: any other text."""
    if not isinstance(value, str):
        return value
    match = DURATION_PATTERN.fullmatch(value)
    if match is None or match[2] not in SECONDS_PER_UNIT:
        raise ValueError(f'"{value}" is not a length of time; write seconds or a text such as "6 h" or "2 days"')
    return float(match[1]) * SECONDS_PER_UNIT[match[2]]


Duration = Annotated[float, BeforeValidator(parse_duration), Field(gt=0)]

if TYPE_CHECKING:
    T = TypeVar("T")
    #: The type of an option that is None until the model chooses its value, such as `time.dt`, or where it has no
    #: meaning, such as `grid.dlon` on a plane. Most code runs where it has a value, so type checkers ignore the None.
    Deferred: TypeAlias = T | Any
else:
    Deferred = Optional


def option(default: Any, unit: str, doc: str, **constraints: Any) -> Any:
    """A configuration key with its default, its unit ("" for text and switches) and one line of help."""
    extra: JsonDict = {"unit": unit}
    if callable(default):
        return Field(default_factory=default, description=doc, json_schema_extra=extra, **constraints)
    return Field(default, description=doc, json_schema_extra=extra, **constraints)


def unit_of(field: Any) -> str:
    return field.json_schema_extra["unit"]


class Section(BaseModel):
    """A table of the configuration: frozen, and strict about unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, validate_default=True)

    @field_validator("*")
    @classmethod
    def check_magnitude(cls, value: Any) -> Any:
        """Return the value. ValueError: a number is so large or so small that arithmetic would fail."""
        if isinstance(value, tuple):
            return tuple(cls.check_magnitude(each) for each in value)
        if isinstance(value, float) and value != 0 and not MIN_MAGNITUDE <= abs(value) <= MAX_MAGNITUDE:
            raise ValueError(f"must be 0 or {MIN_MAGNITUDE:g} to {MAX_MAGNITUDE:g} in magnitude, not {value:g}")
        if isinstance(value, int) and abs(value) > MAX_INTEGER:
            raise ValueError(f"must be at most {MAX_INTEGER} in magnitude")
        return value
