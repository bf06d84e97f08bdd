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
        min_value: smallest value on water; None: any.
        is_min_exclusive: whether the value must be above `min_value`, and not equal to it.
        max_value: largest value on water; None: any.
        control: the kind of derivatives with respect to it: a "field", a "number", "records" in time, or "fields" at
            records in time; "": there are none.
        dimension: exponents of horizontal length, thickness, time and density in the equations.
        concentration_name: the name of the concentration, if this is a tracer's content of the water column; else "".
        is_signed: whether it takes both signs about a meaningful zero, as a velocity does.
        is_positive_down: whether it is positive downward; files may have the opposite sign.
        small_change: size of a small change of it, in its units; `check-gradient` uses it for a field that is zero.
        varies_in_time: whether it may have records in time (`ocean.records`).
        keeps_last_record: whether it keeps the value of its last record for ever.
        formula: the function that computes it from the state, whose parameters name its inputs (`ocean.derived`).
        is_potential: whether `formula` is its Laplacian, not the quantity itself.
        is_input: whether the case, a file or Python may give it.
        flag_meanings: the meanings of its values 0 and 1, for CF; "": it is no flag.
    """

    name: str
    location: str
    units: str
    standard_name: str
    long_name: str
    key: str = ""
    min_value: float | None = None
    is_min_exclusive: bool = False
    max_value: float | None = None
    control: str = ""
    dimension: tuple[Any, ...] = ()
    concentration_name: str = ""
    is_signed: bool = False
    is_positive_down: bool = False
    small_change: float = 1.0
    varies_in_time: bool = False
    keeps_last_record: bool = False
    formula: Callable[..., Any] | None = None
    is_potential: bool = False
    is_input: bool = True
    flag_meanings: str = ""

    @property
    def sources(self) -> tuple[str, ...]:
        """The prognostic fields from which `formula` computes it."""
        needed = signature(self.formula).parameters if self.formula else ()
        return tuple(name for name in needed if name in ("h", "u", "v"))

    def evaluate(self, **inputs: Any) -> Any:
        """Evaluate `formula`, which takes its inputs by name from the arguments."""
        assert self.formula is not None
        return self.formula(**{name: inputs[name] for name in signature(self.formula).parameters})

    @property
    def control_location(self) -> str:
        """The location of derivatives with respect to it; "" if they are numbers."""
        return self.location if self.control in ("field", "fields") else ""


def coefficient(
    name: str, units: str, long_name: str, control: str, dimension: tuple, small_change: float = 1.0
) -> Variable:
    """A nonnegative coefficient: the number of its key in [physics], or a field at centres."""
    key = f"physics.{name}"
    return Variable(
        name, "centre", units, "", long_name, key, 0.0, control=control, dimension=dimension, small_change=small_change
    )


def variables_by_name(*rows: Variable) -> dict[str, Variable]:
    return {row.name: row for row in rows}
