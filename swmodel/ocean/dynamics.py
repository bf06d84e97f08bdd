"""Tendencies of the vector-invariant shallow-water equations on a C-grid: the core, and the further terms.

The symbols are those of Sadourny (1975): transports U, V through faces, kinetic energy per mass K, Bernoulli function
P, potential vorticity q. docs/numerics.md has the discrete equations with their boundary conditions.
"""

from __future__ import annotations

from .derived import bernoulli_kinetic_energy, corner_thickness, potential_vorticity, relative_vorticity
from .flow import Flow, flow_at
from .instant import Instant
from .operators import divergence, slope_x, slope_y
from .patch import Patch
from .records import present
from .state import State
from .table import row_of
from .vorticity_flux import VORTICITY_FLUXES


def accelerations(q: Patch, P: Patch, flow: Flow, scheme) -> dict[str, Patch]:
    """du/dt = + q V - d_x P, dv/dt = - q U - d_y P, m s-2; linear in q at corners and P at centres."""
    grid = flow.grid
    QV, QU = VORTICITY_FLUXES[scheme.vorticity_flux](q, flow.U, flow.V)
    return {
        "u": QV * grid.rdx.u - slope_x(P, grid),
        "v": -slope_y(P, grid) - QU * grid.rdy.v,
    }


def tendency(padded: State, now: Instant, grid, params: dict, scheme) -> State:
    """dx/dt of the prognostic fields x of a block, from its state with `scheme.width` rows of neighbours on each side.

    Args:
        padded: State of Patches that cover the block and its halo.
        now: the time of the state.
        grid: Grid of Patches that cover at least the same cells (`grid.as_patches`).
        params: coefficients by name, Patches like those of the Grid; `records` describes varying ones.
        scheme: the Scheme, with the terms.

    Returns:
        State of Patches that cover at least the block, units of x per second.

    Reference: Sadourny (1975), Arakawa and Lamb (1981); docs/numerics.md.
    """
    params = present(params, now, scheme.varying, padded.h.values.dtype)
    flow = flow_at(padded, now, grid, params, scheme)
    h, u, v, U, V = flow.h, flow.u, flow.v, flow.U, flow.V
    P = params["gravity"] * (h - grid.depth) + bernoulli_kinetic_energy(u, v, grid)
    for term in scheme.with_head:
        P = P + term.bernoulli_potential(flow, params, now)
    q = potential_vorticity(h, u, v, grid)

    rates = {"h": -divergence(U, V, grid)} | accelerations(q, P, flow, scheme)
    for term in scheme.acting:
        for field, rate in term.tendency(flow, params, now).items():
            rates[field] = rates[field] + rate if field in rates else rate
    return finished(rates, padded, flow)


def finished(rates: dict[str, Patch], padded: State, flow: Flow) -> State:
    """The State of the rates, zero on land and closed faces."""
    water = {"centre": flow.grid.wet, "u": flow.open_u, "v": flow.open_v}
    return type(padded)._make(water[row_of(name).location] * rates[name] for name in padded._fields)


def budget(padded: State, now: Instant, grid, params: dict, scheme) -> dict[str, State]:
    """{part: its rates of all prognostic fields}; the sum of the parts is `tendency`, except for rounding.

        continuity    the divergence of the transports, in dh/dt
        advection     the flux of relative vorticity and the slope of kinetic energy
        coriolis      the flux of planetary vorticity
        pressure      the slope of g (h - H)

    and the terms of the Scheme, by their names. Accelerations are linear in q and P, so the parts follow from splitting
    q = (f + zeta) / h_q and P = g (h - H) + K. The arguments are those of `tendency`.
    """
    params = present(params, now, scheme.varying, padded.h.values.dtype)
    flow = flow_at(padded, now, grid, params, scheme)
    K, h_q = bernoulli_kinetic_energy(flow.u, flow.v, grid), corner_thickness(flow.h, grid)
    height, nothing, nowhere = params["gravity"] * (flow.h - grid.depth), 0.0 * K, 0.0 * h_q
    parts = {
        "continuity": {"h": -divergence(flow.U, flow.V, grid)},
        "advection": accelerations(relative_vorticity(flow.u, flow.v, grid) / h_q, K, flow, scheme),
        "coriolis": accelerations(grid.f / h_q, nothing, flow, scheme),
        "pressure": accelerations(nowhere, height, flow, scheme),
    }
    parts |= {term.name: term.tendency(flow, params, now) for term in scheme.acting}
    heads = {term.name: term.bernoulli_potential(flow, params, now) for term in scheme.with_head}
    parts |= {name: accelerations(nowhere, head, flow, scheme) for name, head in heads.items()}
    still = dict.fromkeys(padded._fields, 0.0 * flow.h)
    return {name: finished(still | rates, padded, flow) for name, rates in parts.items()}
