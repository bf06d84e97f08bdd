"""Backscatter with an energy budget: the energy that biharmonic friction takes becomes that of unresolved eddies, e.

A negative viscosity nu = - c Delta sqrt(2 max(e, 0)) returns it. The prognostic field is E = h e:

    dE/dt = - div(U e) + nu4 L(h u) L(u) + nu G(h u, u)

The losses are those of the discrete energy (`friction.harmonic_loss`), so neither friction changes the sum of this
energy and of E times the areas of the cells. L, G and Delta are those of `friction`. e starts at zero. It is advected
with the upwind flux of tracers, which conserves the sum of E; its numerical diffusion replaces the published diffusion.

Reference: Jansen and others (2015), doi:10.1016/j.ocemod.2015.07.015; on a double gyre Klöwer and others (2018),
doi:10.1016/j.ocemod.2018.09.006.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..operators import divergence, maximum, root
from ..variable import Variable, coefficient
from . import smagorinsky
from .friction import biharmonic_loss, harmonic, harmonic_loss, laplacian, squared_width
from .term import Term
from .tracer import upwind_flux

if TYPE_CHECKING:
    from ..scheme import Scheme

COEFFICIENT = coefficient(
    "backscatter", "1", "coefficient of the negative viscosity, usually 0.1 to 0.4", "number", (0, 0, 0, 0)
)
ENERGY = Variable("subgrid_energy", "centre", "m3 s-2", "", "energy of unresolved eddies", dimension=(2, 1, -2, 0))

#: The terms that feed e, with functions of (flow, params) that return their nu4 at centres.
FEEDING_TERMS = {
    "biharmonic_viscosity": lambda flow, params: params["biharmonic_viscosity"],
    "biharmonic_smagorinsky": smagorinsky.biharmonic_viscosity,
}


def tendency(flow, params, now):
    """dE/dt, and du/dt = - D(|nu|, u) with the harmonic friction D, likewise for v."""
    grid, currents, transports = flow.grid, (flow.u, flow.v), (flow.h_u * flow.u, flow.h_v * flow.v)
    e = flow.subgrid_energy / flow.h
    nu = params["backscatter"] * (2.0 * (squared_width(grid) * maximum(e, 0.0))).map(root)
    loss = biharmonic_loss(laplacian(*transports, 1.0, grid), laplacian(*currents, 1.0, grid), grid)
    energy_gain = sum(nu4(flow, params) * loss for name, nu4 in FEEDING_TERMS.items() if name in params)
    energy_loss = nu * harmonic_loss(transports, currents, grid)
    forces = {name: -force for name, force in harmonic(flow, nu).items()}
    return forces | {ENERGY.name: energy_gain - energy_loss - divergence(*upwind_flux(flow, e), grid)}


def unsupported_reason(scheme: Scheme):
    """Why the term cannot run with a Scheme: no term feeds e. "" if it can."""
    if {*FEEDING_TERMS} & {*scheme.term_names}:
        return ""
    names = " or ".join(f"physics.{name}" for name in FEEDING_TERMS)
    return f"physics.backscatter: returns the energy that {names} takes; set one of them"


def rate(values, dx, dy):
    """|u|/dx + |v|/dy, for the advection of e."""
    return values["u"] / dx + values["v"] / dy


BACKSCATTER = Term(
    "backscatter",
    tendency,
    (COEFFICIENT,),
    prognostic=(ENERGY,),
    to_prognostic=lambda values: {ENERGY.name: 0.0 * values["h"]},
    rate=rate,
    process="transport",
    is_smooth=False,
    unsupported_reason=unsupported_reason,
)
