"""Messages about wrong values of the configuration, with the values that a key accepts and its units."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from datetime import date, datetime, time
from typing import Any, Literal

from ..errors import shorten, suggest
from ..ocean.option import unit_of

#: Examples of texts that match the pattern of a key.
PATTERN_EXAMPLES = {
    "layout": "2x3 (blocks in y by blocks in x)",
    "tracers": "dye1 (letters and digits)",
    "stations": '"old harbour" (1 to 64 characters, without spaces around them)',
    "sections": '"Fram Strait" (1 to 64 characters, without spaces around them)',
}

#: Largest number of bits of a whole number that is written out in digits.
MAX_WRITTEN_BITS = 1000

#: The requirement on a value, by the name of pydantic's error.
REQUIREMENTS = {
    "greater_than_equal": "at least {ge:.12g}{unit}",
    "greater_than": "above {gt:.12g}{unit}",
    "less_than_equal": "at most {le:.12g}{unit}",
    "less_than": "below {lt:.12g}{unit}",
    "int_type": "a whole number{of}",
    "float_type": "a number{within}",
    "finite_number": "a finite number{within}",
    "bool_type": "true or false",
    "string_type": "text",
    "tuple_type": "a list",
    "model_type": "a table",
    "string_pattern_mismatch": "like {like}",
}


def describe_mistake(detail: Mapping, field) -> str:
    """The requirement on a field, with its unit, and the value that violates it, from an error of pydantic."""
    error_type, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    if error_type == "literal_error":
        return f"{format_value(value)} is not a choice; {suggest(str(value), choices(field.annotation))}"
    if error_type in ("missing", "too_long"):  # a tuple has too few or too many elements
        return f"must be a list of {len(element_types(field.annotation))} numbers"
    if error_type == "value_error":
        return str(context["error"])
    unit = "" if unit_of(field) in ("", "1") or context.get("ge") == 1 else f" {unit_of(field)}"
    placeholders = {"unit": unit, "of": unit and f" of{unit}", "within": unit and f" in{unit}"}
    placeholders["like"] = PATTERN_EXAMPLES.get(detail["loc"][0], context.get("pattern"))
    requirement = (
        REQUIREMENTS[error_type].format(**placeholders, **context) if error_type in REQUIREMENTS else detail["msg"]
    )
    return f"must be {requirement}, not {format_value(value)}"


def base_type(annotation: Any) -> tuple[type, bool]:
    """(int, float, bool, str or tuple; whether None is allowed) of the annotation of a key."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (types.UnionType, typing.Union):
        return base_type(arguments[0])[0], type(None) in arguments
    if origin is typing.Annotated:
        return base_type(arguments[0])
    if origin is Literal:
        return str, False
    return origin or annotation, False


def element_types(annotation: Any) -> tuple[type, ...]:
    """The types of the elements of a tuple, which may be optional; none for other types."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    return arguments if origin is tuple else tuple(each for argument in arguments for each in element_types(argument))


def choices(annotation: Any) -> tuple[str, ...]:
    """The texts that a key accepts, or the elements of its list; none where it accepts any text."""
    if typing.get_origin(annotation) is Literal:
        return typing.get_args(annotation)
    return tuple(word for argument in typing.get_args(annotation) for word in choices(argument))


def format_value(value: Any) -> str:
    """A value in a message: as in TOML, but shortened, and with tables, dates, None and very long numbers in words."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{shorten(value)}"'
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, (list, tuple)):
        return "[" + shorten(", ".join(format_value(item) for item in value)) + "]"
    if isinstance(value, (date, datetime, time)):
        return f"the date {value}"
    if isinstance(value, int) and value.bit_length() > MAX_WRITTEN_BITS:  # Python does not write very long numbers
        return f"a number of {value.bit_length()} bits"
    return "none" if value is None else str(value)


def format_length(length: float) -> str:
    return f"{length / 1e3:.10g} km" if abs(length) >= 1e4 else f"{length:.10g} m"
