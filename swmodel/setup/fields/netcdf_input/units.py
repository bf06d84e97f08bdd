"""The units that input files may have: powers of metres, seconds and kilograms, as people and programs write them."""

from __future__ import annotations

import re
from functools import cache

import numpy as np

#: Powers of metre, second and kilogram.
METRE, SECOND, KILOGRAM, PASCAL, NEWTON = (1, 0, 0), (0, 1, 0), (0, 0, 1), (-1, -2, 1), (1, -2, 1)
#: The size of each unit in SI units, and its powers.
UNITS = {
    **dict.fromkeys(("m", "meter", "metre"), (1.0, METRE)),
    **dict.fromkeys(("cm", "centimeter", "centimetre"), (1e-2, METRE)),
    **dict.fromkeys(("mm", "millimeter", "millimetre"), (1e-3, METRE)),
    **dict.fromkeys(("km", "kilometer", "kilometre"), (1e3, METRE)),
    **dict.fromkeys(("s", "sec", "second"), (1.0, SECOND)),
    **dict.fromkeys(("min", "minute"), (60.0, SECOND)),
    **dict.fromkeys(("h", "hr", "hour"), (3600.0, SECOND)),
    **dict.fromkeys(("d", "day"), (86400.0, SECOND)),
    **dict.fromkeys(("kg", "kilogram"), (1.0, KILOGRAM)),
    **dict.fromkeys(("N", "newton"), (1.0, NEWTON)),
    **dict.fromkeys(("Pa", "pascal"), (1.0, PASCAL)),
    **dict.fromkeys(("hPa", "hectopascal", "mbar", "mb", "millibar"), (1e2, PASCAL)),
    **dict.fromkeys(("kPa", "kilopascal"), (1e3, PASCAL)),
}
#: A unit with a power of one digit: "m", "s-1", "meter2", "meter^2", "s**-1".
UNIT_PATTERN = re.compile(r"([A-Za-z]+)(?:(?:\^|\*\*)?\(?([+-]?\d)\)?)?")
#: Units of dimensionless numbers.
DIMENSIONLESS = {"", "1", "none", "dimensionless"}
#: Units of Manning's roughness; a file may omit them, because UDUNITS has no fractional powers.
MANNING_UNITS = {"", "s m-1/3", "s/m^(1/3)", "s m^(-1/3)", "s m**(-1/3)", "s m-(1/3)", "m-1/3 s", "m^(-1/3) s"}

#: Units of longitude and of latitude, as CF lists them.
DEGREE_UNITS = {
    "x": {"degrees_east", "degree_east", "degree_E", "degrees_E", "degreeE", "degreesE"},
    "y": {"degrees_north", "degree_north", "degree_N", "degrees_N", "degreeN", "degreesN"},
    "": {"degrees", "degree"},
}


def conversion_factor(units: str, wanted: str) -> float | None:
    """The factor from `units` to `wanted`, the units of a variable; None: unknown units, or of other dimensions."""
    if wanted in MANNING_UNITS - {""}:
        return 1.0 if units in MANNING_UNITS else None
    if wanted == "1":
        return 1.0 if units in DIMENSIONLESS else None
    parsed_units, parsed_wanted = parse_units(units), parse_units(wanted)
    return (
        parsed_units[0] / parsed_wanted[0]
        if parsed_units and parsed_wanted and parsed_units[1] == parsed_wanted[1]
        else None
    )


@cache
def parse_units(units: str) -> tuple[float, tuple[int, ...]] | None:
    """The size of units, and their powers of metre, second and kilogram; None: they are unknown."""
    size, powers = 1.0, np.zeros(3, int)
    for in_denominator, group in enumerate(re.sub(r"\s*/\s*", "/", units.strip()).replace(" per ", "/").split("/")):
        for text in re.split(r"[ .·]+|(?<!\*)\*(?!\*)", "" if group == "1" else group):
            if not text:
                continue
            match = UNIT_PATTERN.fullmatch(text)
            if not match:
                return None
            may_be_plural = len(match[1]) > 3  # "meters", but not "ms"
            unit = UNITS.get(match[1].removesuffix("s") if may_be_plural else match[1])
            if not unit:
                return None
            power = int(match[2] or 1) * (-1 if in_denominator else 1)
            size, powers = size * unit[0] ** power, powers + power * np.array(unit[1])
    return size, tuple(powers.tolist())


def axis_of_degree_units(units: str) -> str | None:
    """The axis of units of degrees in any case: x, y, or empty for either; None for other units."""
    plain = units.strip().lower().replace(" ", "_")
    return next((axis for axis, words in DEGREE_UNITS.items() if plain in {word.lower() for word in words}), None)
