"""A row of the table of fields and coefficients: name, location on the C-grid, units, CF names, properties."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any, NamedTuple


class Variable(NamedTuple):
    """A field or a coefficient.

    Attributes:
        name: its name in Python, in files and in the configuration.
        location: its location on the C-grid: centre, u, v or corner; "": a number for the whole domain.
        units: units as in UDUNITS.
        standard_name, long_name: names for CF.
        key: the key of the configuration for a uniform value, such as "physics.depth"; "": none.
        least: smallest value on water; None: any.
        above: whether the value must be above `least`, and not equal to it.
        most: largest value on water; None: any.
        control: the kind of a derivative with respect to it: a "field", a "number", "records" in time, "fields" at
            records in time, or "" for none.
        dimension: exponents of horizontal length, thickness, time and density in the equations.
        content: the name of the concentration, if this is its content of the water column; else "".
        signed: whether it takes both signs about a meaningful zero, as a velocity does.
        downward: whether it is positive downward; files may have the opposite sign.
        small: a small change of it, in its units.
        varies: whether it may have records in time (`ocean.records`).
        derived: the function that computes it from the state, whose parameters name its inputs (`ocean.derived`).
        laplacian: whether `derived` is its Laplacian, not the quantity itself.
        flags: the meanings of its values 0 and 1, for CF; "": it is no flag.
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
    derived: Callable[..., Any] | None = None
    laplacian: bool = False
    flags: str = ""

    @property
    def sources(self) -> tuple[str, ...]:
        """The prognostic fields from which `derived` computes it."""
        needed = signature(self.derived).parameters if self.derived else ()
        return tuple(name for name in needed if name in ("h", "u", "v"))

    def evaluate(self, **known: Any) -> Any:
        """`derived` of its inputs among the known arguments."""
        assert self.derived is not None
        return self.derived(**{name: known[name] for name in signature(self.derived).parameters})

    @property
    def control_location(self) -> str:
        """The location of derivatives with respect to it; "": they are numbers."""
        return self.location if self.control in ("field", "fields") else ""


def coefficient(name: str, units: str, long_name: str, control: str, dimension: tuple, small: float = 1.0) -> Variable:
    """A coefficient that is not negative: the number of its key in [physics], or a field at centres."""
    key = f"physics.{name}"
    return Variable(name, "centre", units, "", long_name, key, 0.0, control=control, dimension=dimension, small=small)


def table(*rows: Variable) -> dict[str, Variable]:
    """The rows by name."""
    return {row.name: row for row in rows}
