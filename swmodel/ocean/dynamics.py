"""Tendencies of the vector-invariant shallow-water equations on a C-grid: the core, and the terms added to it.

U, V are the transports through faces, K the kinetic energy per mass, P the Bernoulli function, q the potential
vorticity, as in Sadourny (1975). docs/numerics.md has the discrete equations with their boundary conditions.
"""

from __future__ import annotations

from .flow import Flow
from .instant import Instant
from .operators import curl, divergence, folded, mx_c, mx_f, my_c, my_f, slope_x, slope_y
from .patch import Patch
from .state import State
from .table import VARIABLES
from .terms import TERMS
from .vorticity_flux import VORTICITY_FLUXES

#: Masks of the Grid at the locations of the prognostic fields.
OPEN = {"centre": "wet", "u": "open_u", "v": "open_v"}


def kinetic_energy(u: Patch, v: Patch, grid) -> Patch:
    """K = ((u²)^x + (v²)^y) / 2 at centres, m2 s-2, means by area."""
    half = 0.5 * grid.rarea.centre
    return folded(half, mx_c, grid.area.u, u * u) + folded(half, my_c, grid.area.v, v * v)


def relative_vorticity(u: Patch, v: Patch, grid) -> Patch:
    """zeta = s (d_x v - d_y u) at corners, s-1; s holds the boundary condition (0 free slip, 2 no slip)."""
    return grid.slip * curl(u, v, grid)


def corner_thickness(h: Patch, grid) -> Patch:
    """Mean of h over the wet cells around a corner, m (1 m where there is none)."""
    return grid.share * my_f(mx_f(grid.wet * h)) + grid.dry


def potential_vorticity(h: Patch, u: Patch, v: Patch, grid) -> Patch:
    """q = (f + zeta) / h_q at corners, m-1 s-1."""
    return (grid.f + relative_vorticity(u, v, grid)) / corner_thickness(h, grid)


#: What the equations consist of besides the terms that are switched on: the divergence of the transports in dh/dt; the
#: flux of relative vorticity and the slope of K; the flux of planetary vorticity; the slope of g (h - H).
CORE = ("continuity", "advection", "coriolis", "pressure")


def parts(scheme) -> tuple[str, ...]:
    """The names of the parts whose sum is the tendency: those of CORE, and the terms of the Scheme."""
    return (*CORE, *scheme.terms)


def tendency(padded: State, now: Instant, grid, params: dict, scheme, only: tuple[str, ...] | None = None) -> State:
    """dx/dt of the prognostic fields x of a block, from its state with `scheme.width` rows of neighbours on each side.

    Args:
        padded: State of Patches that cover the block and its halo.
        now: the time that the state is of.
        grid: Grid of Patches that cover at least as much (`grid.as_patches`).
        params: coefficients by name, Patches like those of the Grid.
        scheme: a Scheme, the terms.
        only: some of the `parts`, without all others; the sum of what each gives is the whole, but for rounding.

    Returns:
        State of Patches that cover at least the block, units of x per second.

    Reference: Sadourny (1975), Arakawa and Lamb (1981); docs/numerics.md.
    """
    flow, chosen = Flow(padded, grid), parts(scheme) if only is None else only
    rates = {} if only is None else dict.fromkeys(padded._fields, 0.0 * padded.h)
    rates |= core(flow, params, scheme, chosen)
    for name in (name for name in scheme.terms if name in chosen):
        for field, rate in TERMS[name].tendency(flow, params, now).items():
            rates[field] = rates[field] + rate if field in rates else rate
    return padded._make(getattr(grid, OPEN[VARIABLES[name].location]) * rates[name] for name in padded._fields)


def core(flow: Flow, params: dict, scheme, chosen: tuple[str, ...]) -> dict[str, Patch]:
    """The rates of h, u and v by those of CORE that are chosen."""
    h, u, v, U, V, grid = flow.h, flow.u, flow.v, flow.U, flow.V, flow.grid

    def total(**summands) -> Patch:
        found = [make() for name, make in summands.items() if name in chosen]
        return sum(found[1:], start=found[0]) if found else 0.0 * h

    P = total(pressure=lambda: params["gravity"] * (h - grid.depth), advection=lambda: kinetic_energy(u, v, grid))
    absolute = total(coriolis=lambda: grid.f, advection=lambda: relative_vorticity(u, v, grid))
    q = absolute / corner_thickness(h, grid)
    QV, QU = VORTICITY_FLUXES[scheme.vorticity_flux](q, U, V)
    return {
        "h": total(continuity=lambda: -divergence(U, V, grid)),
        "u": QV * grid.rdx.u - slope_x(P, grid),
        "v": -slope_y(P, grid) - QU * grid.rdy.v,
    }
