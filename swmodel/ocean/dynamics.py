"""Tendencies of the vector-invariant shallow-water equations on a C-grid: the core, and the further terms.

The symbols are those of Sadourny (1975): transports U, V through faces, kinetic energy per mass K, Bernoulli function
P, potential vorticity q. docs/numerics.md has the discrete equations with their boundary conditions.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import UsageError
from .derived import corner_thickness, potential_vorticity
from .drying import WettingFlow
from .flow import Flow
from .instant import Instant
from .operators import divergence, slope_x, slope_y
from .patch import Patch
from .records import present
from .state import State
from .table import row_of
from .timestep import Forward
from .vorticity_flux import VORTICITY_FLUXES, kinetic_energy


def accelerations(q: Patch, P: Patch, flow: Flow, scheme) -> dict[str, Patch]:
    """du/dt = + q V - d_x P, dv/dt = - q U - d_y P, m s-2, from q at corners and P at centres; linear in P."""
    grid = flow.grid
    QV, QU = VORTICITY_FLUXES[scheme.vorticity_flux](q, flow)
    return {
        "u": QV * grid.rdx.u - slope_x(P, grid),
        "v": -slope_y(P, grid) - QU * grid.rdy.v,
    }


def tendency(padded: State, now: Instant, grid, params: dict, scheme, forward: Forward | None = None) -> State:
    """dx/dt of the prognostic fields x of a block, from its state with `scheme.width` rows of neighbours on each side.

    Args:
        padded: State of Patches that cover the block and its halo.
        now: the time of the state.
        grid: Grid of Patches that cover at least the same cells (`grid.as_patches`).
        params: coefficients by name, Patches like those of the Grid; `records` describes varying ones.
        scheme: the Scheme, with the terms.
        forward: the Forward of the stepper `gfb`, in Patches; its `begin` has the fields `scheme.at_begin` by name.

    Returns:
        State of Patches that cover at least the block, units of x per second.

    Reference: Sadourny (1975), Arakawa and Lamb (1981); docs/numerics.md.
    """
    params = present(params, now, scheme.varying, padded.h.values.dtype)
    flow = flow_at(padded, now, grid, params, scheme, forward)
    h, u, v, U, V = flow.h, flow.u, flow.v, flow.U, flow.V
    acting = [term for term in scheme.acting if not (scheme.drying and term.damping)]
    added = [term.tendency(flow, params, now) for term in acting]
    for term, each in zip(acting, added, strict=True):
        if unknown := sorted(each.keys() - {*padded._fields}):
            there = ", ".join(padded._fields)
            raise UsageError(f"{term.name} returns a tendency of {', '.join(unknown)}; prognostic fields are {there}")
    rates = summed([{"h": -divergence(U, V, grid)}, *({"h": each["h"]} for each in added if "h" in each)])
    level = flow.driving(rates["h"], forward)
    K, q = kinetic_energy(u, v, grid, scheme), potential_vorticity(h, u, v, grid)
    heads = [term.bernoulli_potential(level, params, now) for term in scheme.with_head]
    if scheme.drying:
        core = flow.accelerations(accelerations(q, K, flow, scheme), level, rates["h"], heads, params["gravity"])
    else:
        P = params["gravity"] * level.eta + K
        core = accelerations(q, sum(heads, start=P), flow, scheme)
    others = [{name: rate for name, rate in each.items() if name != "h"} for each in added]
    if scheme.at_begin:
        own = [each for term, each in zip(acting, added, strict=True) if term in scheme.own]
        step = forward and forward.step(rates["h"], summed(own).get("h"))
        others += [term.over_step(flow, params, step) for term in scheme.acting if term.over_step]
    found = summed([core, *others])
    if scheme.drying:
        found |= flow.damped(found, summed([term.damping(flow, params, now) for term in scheme.with_damping]))
    return finished(rates | found, padded, flow)


def flow_at(
    padded: State, now: Instant, grid, params: dict, scheme, forward: Forward | None = None
) -> Flow | WettingFlow:
    """The Flow of a state at an Instant, with the transports through open sides; see `tendency`."""
    flow = WettingFlow(padded, grid, params, forward) if scheme.drying else Flow(padded, grid, scheme)
    for term in scheme.with_sides:
        flow.set_boundary_flux(*term.boundary_flux(flow, params, now))
    if scheme.drying:
        flow.limit_outflow()
    return flow


def summed(parts: Iterable[dict[str, Patch]]) -> dict[str, Patch]:
    """The sum of rates by name, from the first part to the last."""
    total: dict[str, Patch] = {}
    for part in parts:
        for name, rate in part.items():
            total[name] = total[name] + rate if name in total else rate
    return total


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

    and the terms of the Scheme, by their names. Accelerations are linear in P, so the parts follow from splitting
    P = g (h - H) + K. The flux of relative vorticity is that of q = (f + zeta) / h_q less that of f / h_q. The
    arguments are those of `tendency`.
    """
    params = present(params, now, scheme.varying, padded.h.values.dtype)
    flow = flow_at(padded, now, grid, params, scheme)
    K, h_q = kinetic_energy(flow.u, flow.v, grid, scheme), corner_thickness(flow.h, grid)
    height, nothing, nowhere = params["gravity"] * (flow.h - grid.depth), 0.0 * K, 0.0 * h_q
    planetary = accelerations(grid.f / h_q, nothing, flow, scheme)
    moving = accelerations(potential_vorticity(flow.h, flow.u, flow.v, grid), K, flow, scheme)
    parts = {
        "continuity": {"h": -divergence(flow.U, flow.V, grid)},
        "advection": {name: rate - planetary[name] for name, rate in moving.items()},
        "coriolis": planetary,
        "pressure": accelerations(nowhere, height, flow, scheme),
    }
    parts |= {term.name: term.tendency(flow, params, now) for term in scheme.acting}
    parts |= {term.name: term.over_step(flow, params, None) for term in scheme.acting if term.over_step}
    heads = {term.name: term.bernoulli_potential(flow, params, now) for term in scheme.with_head}
    parts |= {name: accelerations(nowhere, head, flow, scheme) for name, head in heads.items()}
    still = dict.fromkeys(padded._fields, 0.0 * flow.h)
    return {name: finished(still | rates, padded, flow) for name, rates in parts.items()}
