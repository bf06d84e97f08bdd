"""A passive tracer, carried by the current: dC/dt = - div(c u h), where C = c h is its content of the water column.

First-order upwind: water leaves a cell with its concentration. Nothing is lost, and a constant stays constant. Steps in
the limit of the transport make no new extremes with Runge-Kutta methods, and small ones with others. The price is a
diffusivity |u| dx (1 - |u| dt/dx) / 2.

Reference: Durran, D. R. (2010), Numerical Methods for Fluid Dynamics, Springer, section 5.5.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..operators import divergence
from ..option import Section, option
from ..patch import Patch, east, north
from ..variable import Variable
from .term import Term

CONTENT = Variable(
    "tracer_content",
    "centre",
    "m",
    "",
    "tracer in the water column, concentration times thickness",
    dimension=(0, 1, 0, 0),
    content="tracer",
)
CONCENTRATION = Variable(
    "tracer",
    "centre",
    "1",
    "",
    "concentration of the tracer",
    key="tracer.initial",
    control="field",
    dimension=(0, 0, 0, 0),
)


class Tracer(Section):
    """A passive tracer that the current carries; its initial concentration may be a field of the case or of a file."""

    transport: Literal["none", "upwind"] = option("none", "", "how it is carried; none: there is no tracer")
    initial: float = option(0.0, "1", "initial concentration where the case or a file gives none")


def active(options) -> bool:
    """Whether there is a tracer."""
    return options.transport != "none"


def problems(config):
    """Lines about an initial concentration without a tracer."""
    for key, given in (("tracer.initial", config.tracer.initial), ("input.tracer", config.input.tracer)):
        if given and not active(config.tracer):
            yield f"{key}: has no effect where tracer.transport is none"


def concentration(state, grid, physics) -> Patch:
    """c = C / h at centres."""
    return state.tracer_content / state.h


def start(values):
    """C = c h."""
    return {"tracer_content": values["tracer"] * values["h"]}


def tendency(flow, params, now):
    """dC/dt = - (d_x (U c_upwind) + d_y (V c_upwind)) / area."""
    c = flow.state.tracer_content / flow.h
    along_x = positive(flow.U) * c - positive(-flow.U) * east(c)
    along_y = positive(flow.V) * c - positive(-flow.V) * north(c)
    if flow.let_through:
        along_x, along_y = through_open_sides(flow, c, along_x, along_y)
    return {"tracer_content": -divergence(along_x, along_y, flow.grid)}


def through_open_sides(flow, c, along_x, along_y):
    """The fluxes of the tracer; at open sides with the concentration inside, as the one outside is not known."""
    grid, inside = flow.grid, flow.grid.wet * c
    return (
        np.where(grid.side_u > 0, flow.U * (inside + east(inside)), along_x),
        np.where(grid.side_v > 0, flow.V * (inside + north(inside)), along_y),
    )


def rate(values, dx, dy):
    """|u|/dx + |v|/dy."""
    return values["u"] / dx + values["v"] / dy


def positive(transport: Patch) -> Patch:
    """The transport where it goes eastward or northward, else zero."""
    return 0.5 * (transport + transport.map(abs))


TRACER = Term(
    "tracer",
    tendency,
    options=Tracer,
    active=active,
    problems=problems,
    prognostic=(CONTENT,),
    initial=(CONCENTRATION,),
    start=start,
    derived={"tracer": concentration},
    rate=rate,
    process="transport",
    energy=0,
)
