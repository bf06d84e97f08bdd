"""The terms of the equations besides pressure, advection and the Coriolis force: each one in a file of its own.

A new term is a file here and a line in TERMS. Tracers, of which a run has any number, are Terms made from their names
(`tracer.tracer_term`). Configuration, input files, static fields, time-step limits, controls of
gradients and assimilation, output and tests take what they need from the Term objects.
"""

from __future__ import annotations

from .air_pressure import AIR_PRESSURE
from .biharmonic_viscosity import BIHARMONIC_VISCOSITY
from .body_force import BODY_FORCE
from .linear_drag import LINEAR_DRAG
from .manning import MANNING
from .open_sides import OPEN_SIDES
from .quadratic_drag import QUADRATIC_DRAG
from .self_attraction import SELF_ATTRACTION
from .sponge import SPONGE
from .term import PROCESSES, Term
from .tide import TIDE
from .viscosity import VISCOSITY
from .wind import WIND
from .wind_drag import WIND_DRAG

__all__ = ["PROCESSES", "TERMS", "Term"]

#: The terms in the order in which their tendencies are added.
TERMS: dict[str, Term] = {
    term.name: term
    for term in (
        WIND,
        BODY_FORCE,
        LINEAR_DRAG,
        QUADRATIC_DRAG,
        MANNING,
        VISCOSITY,
        BIHARMONIC_VISCOSITY,
        OPEN_SIDES,
        SPONGE,
        TIDE,
        SELF_ATTRACTION,
        WIND_DRAG,
        AIR_PRESSURE,
    )
}
