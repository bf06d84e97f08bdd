"""The terms of the equations besides pressure, advection and the Coriolis force.

A new term is a Term in a file here and a line in TERMS. Tracers, of which a run has any number, are Terms made from
their names (`tracer.tracer_term`). Configuration, input files, static fields, time-step limits, controls of gradients
and assimilation, output and tests take what they need from the Term objects.
"""

from __future__ import annotations

from .body_force import BODY_FORCE
from .drag import LINEAR_DRAG, MANNING, QUADRATIC_DRAG
from .friction import BIHARMONIC_VISCOSITY, VISCOSITY
from .open_sides import OPEN_SIDES
from .sponge import SPONGE
from .term import PROCESSES, Term
from .tide import SELF_ATTRACTION, TIDE
from .weather import AIR_PRESSURE, WIND, WIND_DRAG

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
