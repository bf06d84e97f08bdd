"""The terms of the equations besides pressure, advection and the Coriolis force.

To add a term, define a Term in a file of this folder and list it in TERMS. Each tracer of a run is a Term made from its
options (`tracer.tracer_terms`). Configuration keys, input files, static fields, time-step limits, controls, output and
tests follow from the Term objects.
"""

from __future__ import annotations

from .backscatter import BACKSCATTER
from .barriers import BARRIERS
from .bed_motion import BED_MOTION
from .body_force import BODY_FORCE
from .drag import LINEAR_DRAG, MANNING, QUADRATIC_DRAG
from .friction import BIHARMONIC_VISCOSITY, VISCOSITY
from .green_ampt import GREEN_AMPT
from .leith import LEITH
from .leith_e import LEITH_E
from .open_boundaries import OPEN_BOUNDARIES
from .rain import DRAINS_TERM, INFILTRATION_TERM, RAIN_TERM, RIVERS_TERM
from .smagorinsky import BIHARMONIC_SMAGORINSKY, SMAGORINSKY
from .sponge import SPONGE
from .term import PROCESSES, Term
from .tide import SELF_ATTRACTION, TIDE
from .weather import AIR_PRESSURE, WIND, WIND_DRAG
from .zanna_bolton import ZANNA_BOLTON

__all__ = ["PROCESSES", "TERMS", "TERM_OF_COEFFICIENT", "Term"]

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
        SMAGORINSKY,
        BIHARMONIC_SMAGORINSKY,
        LEITH,
        LEITH_E,
        ZANNA_BOLTON,
        BACKSCATTER,
        OPEN_BOUNDARIES,
        BARRIERS,
        SPONGE,
        TIDE,
        SELF_ATTRACTION,
        WIND_DRAG,
        AIR_PRESSURE,
        BED_MOTION,
        RAIN_TERM,
        INFILTRATION_TERM,
        RIVERS_TERM,
        DRAINS_TERM,
        GREEN_AMPT,
    )
}

#: The name of the term of each coefficient.
TERM_OF_COEFFICIENT = {row.name: term.name for term in TERMS.values() for row in term.coefficients}
