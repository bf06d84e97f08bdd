"""A term of the equations, as one object: its options, its fields, its tendency, and what else must be known of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..variable import Variable

#: What limits the time step: to damp all motion, to damp the shortest waves, to carry upwind with the current.
PROCESSES = ("drag", "friction", "transport")


def nothing(flow: Any, params: Any, now: Any) -> dict:
    """The tendency of a term that acts in another way."""
    return {}


@dataclass(frozen=True, eq=False)
class Term:
    """One term, equal to itself alone.

    Its name is its switch in a Scheme, and the name of its section of the configuration if it has one.

    Attributes:
        tendency: function of (flow: Flow, params: {name: Patch}, now: Instant) to {prognostic field: Patch}, SI units.
        head: in place of a tendency, function of the same to a Patch at centres, m2 s-2, that is added to the pressure
            g (h - H) before its slope is taken.
        potential: function of {name: values} of its coefficients and density to the head, of one that depends on no
            more.
        coefficients: numbers or fields that it is made of; those with a number are keys of [physics].
        options: class of a section of its own.
        active: whether the section switches the term on. Without it, a coefficient that is not zero does.
        problems: function of a configuration to lines that say what is wrong with its options, whether it is on or not.
        fields: what `build` makes.
        build: function of (config, rows, columns) to {name of a field: float64 values}, for any rows and columns.
        prognostic: fields that it adds to the State.
        initial: fields that a case or a file gives to begin with.
        start: function of {name: values} of h and of those to {prognostic field: values}.
        derived: {name: function of (padded State, Grid, physics) to a Patch} of fields for output.
        rate: function of ({name: values}, dx, dy) to the rate, s-1, at which it acts; for the time step. Values are
            arrays of coefficients, gravity, built fields, h, and u, v (their sizes) of a cell; dx, dy its lengths, m.
        process: what acts at that rate, one of PROCESSES.
        stress: function of {name: values} of its coefficients to the size of the stress on the surface, Pa.
        acceleration: function of a configuration to the largest one that it gives to water, m s-2.
        energy: what it does to the energy of a closed basin: -1 takes it, 0 leaves it, 1 may give it.
        parameters: `parametric.Form` of the parameters of one of the user's own, a vector by its name; None without.
        idle: function of a configuration to the names of those coefficients that have no effect in its run.
        through: function like `tendency` to what `Flow.let_in` takes: the water that comes in through open sides.
    """

    name: str
    tendency: Callable[..., Any] = nothing
    coefficients: tuple[Variable, ...] = ()
    options: type | None = None
    active: Callable | None = None
    problems: Callable | None = None
    fields: tuple[Variable, ...] = ()
    build: Callable | None = None
    prognostic: tuple[Variable, ...] = ()
    initial: tuple[Variable, ...] = ()
    start: Callable | None = None
    derived: dict[str, Callable] = field(default_factory=dict)
    rate: Callable | None = None
    process: str = "drag"
    stress: Callable | None = None
    acceleration: Callable | None = None
    energy: int = -1
    parameters: Any = None
    through: Callable | None = None
    idle: Callable | None = None
    head: Callable | None = None
    potential: Callable | None = None
