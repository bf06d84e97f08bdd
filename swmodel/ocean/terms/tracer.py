"""Passive tracers, carried by the current: dC/dt = - div(c u h) + div(kappa h grad c), with C = c h the content.

The flux is first-order upwind: it conserves the content, and a constant stays constant. Where (|u|/dx + |v|/dy) dt <= 1
Runge-Kutta methods make no new extremes, and multistep methods only small ones. The numerical diffusivity is
|u| dx / 2, to which kappa is added. With the stepper gfb the concentration is the prognostic field, and
`tracer_advection` computes its rate.

`tracer_term` makes a Term for each tracer of a run. For a tracer called `dye` the concentration is `dye`, the content
`dye_content`, the coefficient `dye_diffusivity`, and the concentration in the water of rivers `dye_in_rivers`.

Reference: Durran, D. R. (2010), Numerical Methods for Fluid Dynamics, Springer, section 5.5.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..operators import divergence, slope_x, slope_y, where
from ..option import Section, option
from ..patch import Patch, east, north
from ..state import State
from ..variable import Variable
from . import tracer_advection
from .term import Term

if TYPE_CHECKING:
    from ...config.options.model import Config

CONTENT_SUFFIX, DIFFUSIVITY_SUFFIX, RIVERS_SUFFIX = "_content", "_diffusivity", "_in_rivers"


class TracerOptions(Section):
    """A passive tracer, a table [[tracer]]; the case, a file of [input] or Python may give its initial field."""

    name: str = option(..., "", "name of the tracer, letters and digits", pattern="^[A-Za-z][A-Za-z0-9]*$")
    initial: float = option(0.0, "1", "initial concentration where neither the case nor a file gives its field")
    diffusivity: float = option(0.0, "m2 s-1", "diffusivity along the layer", ge=0)
    advection: Literal["upwind", "weno5"] = option(
        "upwind", "", "upwind: first order; weno5: fifth order, with the stepper gfb"
    )


def content_variable(name: str) -> Variable:
    long_name = f"{name} in the water column, concentration times thickness"
    return Variable(
        name + CONTENT_SUFFIX, "centre", "m", "", long_name, dimension=(0, 1, 0, 0), concentration_name=name
    )


def concentration_variable(name: str) -> Variable:
    """The Variable of a tracer's concentration, which is also its initial field."""
    long_name = "concentration of the tracer" + (f" {name}" if name != "tracer" else "")
    return Variable(name, "centre", "1", "", long_name, control="field", dimension=(0, 0, 0, 0))


def problems(config: Config):
    """Yield a message about tracers that need another stepper."""
    names = [each.name for each in config.physics.tracers if each.advection == "weno5"]
    if names and config.time.stepper != "gfb":
        yield f'time.stepper: must be "gfb" for the advection weno5 of {", ".join(names)}, not "{config.time.stepper}"'


def tracer_variable(name: str) -> Variable:
    """The Variable of a field of a tracer: its content or its concentration."""
    if name.endswith(CONTENT_SUFFIX):
        return content_variable(name.removesuffix(CONTENT_SUFFIX))
    return concentration_variable(name)


def tracers_in(names) -> list[str]:
    """The names of the tracers among the names of a State's fields: those with letters and digits only."""
    tracers = (name.removesuffix(CONTENT_SUFFIX) for name in names[len(State._fields) :])
    return [name for name in tracers if "_" not in name]


def concentration_of(name: str, state) -> Any:
    """c at centres: a field of the state, or C / h."""
    return getattr(state, name) if name in state._fields else getattr(state, name + CONTENT_SUFFIX) / state.h


def content_of(name: str, state) -> Any:
    """C at centres, m: a field of the state, or c h."""
    return getattr(state, name) * state.h if name in state._fields else getattr(state, name + CONTENT_SUFFIX)


def river_concentration_variable(name: str) -> Variable:
    """The Variable of a tracer's concentration in the water of rivers."""
    return Variable(name + RIVERS_SUFFIX, "centre", "1", "", f"{name} in the water of rivers", dimension=(0, 0, 0, 0))


def tracer_terms(
    tracers: tuple[TracerOptions, ...], is_forward_backward: bool, river_tracers: Collection[str]
) -> tuple[Term, ...]:
    """The Terms of tracers; `river_tracers`: the names of those that rivers bring."""
    return tuple(
        tracer_term(
            each.name, each.diffusivity > 0, is_forward_backward, each.advection == "weno5", each.name in river_tracers
        )
        for each in tracers
    )


@cache
def tracer_term(
    name: str, has_diffusivity: bool, is_forward_backward: bool, is_high_order: bool, is_in_rivers: bool = False
) -> Term:
    """The Term of a tracer, the same object for equal arguments.

    Args:
        has_diffusivity: whether its diffusivity is above zero.
        is_forward_backward: whether the stepper is gfb.
        is_high_order: whether advection is weno5.
        is_in_rivers: whether rivers bring the tracer.
    """
    diffusivity = Variable(
        name + DIFFUSIVITY_SUFFIX, "", "m2 s-1", "", f"diffusivity of {name}", dimension=(2, 0, -1, 0)
    )

    def tendency(flow, params, now):
        """dC/dt = - (d_x (U c_upwind) + d_y (V c_upwind)) / area, and div(kappa h grad c)."""
        c = getattr(flow.state, name + CONTENT_SUFFIX) / flow.h
        rate = -divergence(*upwind_flux(flow, c), flow.grid)
        rate = rate + diffusion(flow, c, params[diffusivity.name]) if has_diffusivity else rate
        return {name + CONTENT_SUFFIX: rate + from_rivers(params) if is_in_rivers else rate}

    def rate_over_step(flow, params, step):
        """dc/dt over a forward-backward step, s-1."""
        kappa, c = params[diffusivity.name] if has_diffusivity else None, getattr(flow.state, name)
        source = from_rivers(params) if is_in_rivers else None
        return {name: tracer_advection.concentration_rate(c, flow, step, name, kappa, is_high_order, source)}

    def from_rivers(params):
        """dC/dt = c of the rivers times their inflow, m s-1."""
        return params[name + RIVERS_SUFFIX] * params["river_inflow"]

    def build(config: Config, rows, columns):
        (value,) = (each.diffusivity for each in config.physics.tracers if each.name == name)
        return {diffusivity.name: np.full((1, 1), value)}

    def rate(values, dx, dy):
        """|u|/dx + |v|/dy + 2 kappa (1/dx² + 1/dy²); the fastest decay is twice this, as with upwind differences."""
        carried = values["u"] / dx + values["v"] / dy
        return carried + 2 * values[diffusivity.name] * (1 / dx**2 + 1 / dy**2) if has_diffusivity else carried

    properties: dict[str, Any] = {"tendency": tendency, "prognostic": (content_variable(name),)}
    properties["to_prognostic"] = lambda values: {name + CONTENT_SUFFIX: values[name] * values["h"]}
    if is_forward_backward:
        properties = {"rate_over_step": rate_over_step, "prognostic": (concentration_variable(name),)}
        properties["to_prognostic"] = lambda values: {name: values[name] + 0 * values["h"]}
    return Term(
        name,
        coefficients=(river_concentration_variable(name),) if is_in_rivers else (),
        fields=(diffusivity,) if has_diffusivity else (),
        build=build if has_diffusivity else None,
        initial=(concentration_variable(name),),
        rate=rate,
        process="transport",
        is_smooth=not is_high_order,
        **properties,
    )


def upwind_flux(flow, c: Patch) -> tuple[Patch, Patch]:
    """The fluxes of c through the faces; inflow through open boundaries has the c of the cell inside."""
    along_x = positive_part(flow.U) * c - positive_part(-flow.U) * east(c)
    along_y = positive_part(flow.V) * c - positive_part(-flow.V) * north(c)
    if not flow.has_open_boundaries:
        return along_x, along_y
    grid, inside = flow.grid, flow.grid.wet * c
    return (
        where(grid.open_boundary_u > 0, flow.U * (inside + east(inside)), along_x),
        where(grid.open_boundary_v > 0, flow.V * (inside + north(inside)), along_y),
    )


def positive_part(transport: Patch) -> Patch:
    """The transport where it goes eastward or northward, else zero."""
    return 0.5 * (transport + transport.map(abs))


def diffusion(flow, c: Patch, kappa) -> Patch:
    """div(kappa h grad c), without a flux through closed faces and open boundaries."""
    grid = flow.grid
    through_x = grid.dy.u * (flow.open_u * flow.h_u * slope_x(c, grid))
    through_y = grid.dx.v * (flow.open_v * flow.h_v * slope_y(c, grid))
    return kappa * divergence(through_x, through_y, grid)
