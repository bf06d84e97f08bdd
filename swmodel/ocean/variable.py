"""A row of the table of fields and coefficients: name, place on the C-grid, units, CF names, what it may be."""

from __future__ import annotations

from typing import Any, NamedTuple


class Variable(NamedTuple):
    """A field or a coefficient.

    Attributes:
        name: in Python, in files and in the configuration.
        location: on the C-grid: centre, u, v or corner; "" is a number for the whole domain.
        units: as UDUNITS writes them.
        standard_name, long_name: for CF.
        key: of the configuration that gives its value where it is the same everywhere, as "physics.depth"; "" is none.
        least: smallest value on water; None: any.
        above: whether `least` itself is too small already.
        most: largest value on water; None: any.
        control: what a derivative by it is: a "field", a "number", or "" where there is none.
        dimension: exponents of horizontal length, thickness, time and density, as the equations have them.
        content: the name of the concentration, of which this is the content of the water column; "" is none.
        signed: whether it has either sign about a zero that means something, as a velocity has.
        downward: whether it is positive downward, so that a file may have it with the other sign.
        small: a small change of it, in its units.
        varies: whether it may be given by records in time (`ocean.records`).
    """

    name: str
    location: str
    units: str
    standard_name: str
    long_name: str
    key: str = ""
    least: float | None = None
    above: bool = False
    control: str = ""
    dimension: tuple[Any, ...] = ()
    content: str = ""
    signed: bool = False
    downward: bool = False
    small: float = 1.0
    most: float | None = None
    varies: bool = False

    @property
    def control_location(self) -> str:
        """Where derivatives by it are: its location, or "" if they are by a number."""
        return self.location if self.control == "field" else ""


def coefficient(name: str, units: str, long_name: str, control: str, dimension: tuple, small: float = 1.0) -> Variable:
    """A coefficient that is not negative: the number of its key in [physics], or a field at centres."""
    key = f"physics.{name}"
    return Variable(name, "centre", units, "", long_name, key, 0.0, control=control, dimension=dimension, small=small)


def table(*rows: Variable) -> dict[str, Variable]:
    """The rows by name."""
    return {row.name: row for row in rows}
