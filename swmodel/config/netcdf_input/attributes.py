"""What a NetCDF variable says about itself, whatever its attributes hold, and the ways in which files write units."""

from __future__ import annotations

SYNONYMS = {
    "m": {"m", "meter", "meters", "metre", "metres"},
    "m s-1": {"m s-1", "m/s", "m s**-1", "m s^-1", "m.s-1", "meter second-1", "meters per second"},
    "Pa": {"Pa", "pascal", "N m-2", "N/m2", "N/m^2", "N m**-2", "kg m-1 s-2"},
    "s-1": {"s-1", "1/s", "s**-1", "s^-1"},
    "m2 s-1": {"m2 s-1", "m2/s", "m^2/s", "m2 s**-1", "m**2 s**-1", "m^2 s^-1"},
    "m4 s-1": {"m4 s-1", "m4/s", "m^4/s", "m4 s**-1", "m**4 s**-1", "m^4 s^-1"},
    # UDUNITS has no broken powers, so that a file may have no units at all.
    "s m-1/3": {"", "s m-1/3", "s/m^(1/3)", "s m^(-1/3)", "s m**(-1/3)", "s m-(1/3)", "m-1/3 s", "m^(-1/3) s"},
    "1": {"1", "", "none", "dimensionless"},
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


def attribute(variable, name: str) -> str:
    """An attribute as text; empty where there is none."""
    return str(getattr(variable, name, ""))


def numeric(variable) -> bool:
    """Whether a variable holds numbers."""
    return getattr(variable.dtype, "kind", "") in ("i", "u", "f")
