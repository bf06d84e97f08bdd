"""The units that input files may have."""

from __future__ import annotations

SYNONYMS = {
    "m": {"m", "meter", "meters", "metre", "metres"},
    "m s-1": {"m s-1", "m/s", "m s**-1", "m s^-1", "m.s-1", "meter second-1", "meters per second"},
    "Pa": {"Pa", "pascal", "N m-2", "N/m2", "N/m^2", "N m**-2", "kg m-1 s-2"},
    "s-1": {"s-1", "1/s", "s**-1", "s^-1"},
    "m2 s-1": {"m2 s-1", "m2/s", "m^2/s", "m2 s**-1", "m**2 s**-1", "m^2 s^-1"},
    "m4 s-1": {"m4 s-1", "m4/s", "m^4/s", "m4 s**-1", "m**4 s**-1", "m^4 s^-1"},
    # UDUNITS has no fractional powers, so a file may omit the units.
    "s m-1/3": {"", "s m-1/3", "s/m^(1/3)", "s m^(-1/3)", "s m**(-1/3)", "s m-(1/3)", "m-1/3 s", "m^(-1/3) s"},
    "1": {"1", "", "none", "dimensionless"},
}

#: Factors of other units.
FACTORS = {
    "m": dict.fromkeys(("cm", "centimeter", "centimeters", "centimetre", "centimetres"), 1e-2)
    | dict.fromkeys(("mm", "millimeter", "millimeters", "millimetre", "millimetres"), 1e-3),
    "m s-1": dict.fromkeys(("cm s-1", "cm/s", "centimeter/sec"), 1e-2),
    "m2 s-1": dict.fromkeys(("cm2 s-1", "cm2/s", "cm^2/s", "centimeter^2/sec"), 1e-4),
    "Pa": dict.fromkeys(("hPa", "hectopascal", "hectopascals", "mbar", "mb", "millibar", "millibars"), 1e2)
    | dict.fromkeys(("kPa", "kilopascal", "kilopascals"), 1e3),
}

KILOMETRES = ("km", "kilometer", "kilometers", "kilometre", "kilometres")

#: Metres in a unit of length.
LENGTHS = dict.fromkeys(SYNONYMS["m"], 1.0) | dict.fromkeys(KILOMETRES, 1e3)

#: Units of longitude and of latitude, as CF lists them.
DEGREES = {
    "x": {"degrees_east", "degree_east", "degree_E", "degrees_E", "degreeE", "degreesE"},
    "y": {"degrees_north", "degree_north", "degree_N", "degrees_N", "degreeN", "degreesN"},
    "": {"degrees", "degree"},
}


def axis_of_degrees(units: str) -> str | None:
    """The axis of units of degrees in any case: x, y, or empty for either; None for other units."""
    plain = units.strip().lower().replace(" ", "_")
    return next((axis for axis, words in DEGREES.items() if plain in {word.lower() for word in words}), None)
