"""Tendencies of the vector-invariant shallow-water equations on a C-grid: those of the core equations and of all terms.

The symbols are those of Sadourny (1975): transports U, V through faces, kinetic energy per mass K, Bernoulli function
P, potential vorticity q. docs/numerics.md has the discrete equations with their boundary conditions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..errors import UsageError
from .derived import corner_thickness, potential_vorticity
from .drying import WettingFlow
from .flow import Flow
from .instant import Instant
from .operators import divergence, slope_x, slope_y
from .patch import Patch
from .records import interpolate_records
from .state import State
from .table import variable_of
from .timestep import ForwardBackwardInputs, WholeStep
from .vorticity_flux import VORTICITY_FLUXES, kinetic_energy

if TYPE_CHECKING:
    from .scheme import Scheme


def accelerations(q: Patch, P: Patch, flow: Flow, scheme: Scheme) -> dict[str, Patch]:
    """du/dt = + q V - d_x P, dv/dt = - q U - d_y P, m s-2, from q at corners and P at centres; linear in P."""
    grid = flow.grid
    QV, QU = VORTICITY_FLUXES[scheme.vorticity_flux](q, flow)
    return {"u": QV * grid.rdx.u - slope_x(P, grid), "v": -slope_y(P, grid) - QU * grid.rdy.v}


def tendency(
    padded_state: State,
    now: Instant,
    grid,
    params: dict,
    scheme: Scheme,
    gfb_inputs: ForwardBackwardInputs | None = None,
) -> State:
    """dx/dt of the prognostic fields x of a block, from its state with a halo of `scheme.halo_width` cells.

    Args:
        padded_state: State of Patches that cover the block and its halo.
        now: the time of the state.
        grid: Grid of Patches that cover at least the same cells (`grid.as_patches`).
        params: coefficients by name, Patches like those of the Grid; see `records` for varying ones.
        scheme: the Scheme, with the terms.
        gfb_inputs: the ForwardBackwardInputs of the stepper `gfb`, in Patches; their `step_start` has the fields
            `scheme.step_start_fields` by name.

    Returns:
        State of Patches that cover at least the block, units of x per second.

    Raises:
        UsageError: a term returns a tendency of something else than a prognostic field.

    Reference: Sadourny (1975), Arakawa and Lamb (1981); docs/numerics.md.
    """
    params = interpolate_records(params, now, scheme.varying, padded_state.h.values.dtype)
    flow = make_flow(padded_state, now, grid, params, scheme, gfb_inputs)
    grid, h, u, v, U, V = flow.grid, flow.h, flow.u, flow.v, flow.U, flow.V
    explicit_terms = [term for term in scheme.active_terms if not (scheme.drying and term.damping)]
    term_rates = [term.tendency(flow, params, now) for term in explicit_terms]
    for term, each in zip(explicit_terms, term_rates, strict=True):
        if unknown := sorted(each.keys() - {*padded_state._fields}):
            names = f"{', '.join(unknown)}; prognostic fields are {', '.join(padded_state._fields)}"
            raise UsageError(f"{term.name} returns a tendency of {names}")

    def rates_of(is_chosen):
        return [each for term, each in zip(explicit_terms, term_rates, strict=True) if is_chosen(term)]

    rates = sum_rates([{"h": -divergence(U, V, grid)}, *({"h": each["h"]} for each in term_rates if "h" in each)])
    flow_for_pressure = flow.flow_for_pressure(rates["h"], gfb_inputs)
    K, q = kinetic_energy(u, v, grid, scheme), potential_vorticity(h, u, v, grid)
    heads = [
        term.bernoulli_potential(flow_for_pressure, params, now)
        for term in scheme.active_terms
        if term.bernoulli_potential
    ]
    if isinstance(flow, WettingFlow):
        core_rates = flow.accelerations(
            accelerations(q, K, flow, scheme), flow_for_pressure, rates["h"], heads, params["gravity"]
        )
    else:
        P = params["gravity"] * flow_for_pressure.eta + K
        core_rates = accelerations(q, sum(heads, start=P), flow, scheme)
    other_rates = [{name: rate for name, rate in each.items() if name != "h"} for each in term_rates]
    if scheme.step_start_fields:
        step = None
        if gfb_inputs:
            start, dt = gfb_inputs.step_start, gfb_inputs.step_length
            freshwater_rate = sum_rates(rates_of(lambda term: term.is_freshwater)).get("h")
            step = WholeStep(start, start["h"] + rates["h"] * dt, dt, freshwater_rate)
        other_rates += [term.rate_over_step(flow, params, step) for term in scheme.active_terms if term.rate_over_step]
    if isinstance(flow, WettingFlow):
        other_rates.append(flow.sheltering(sum_rates(rates_of(lambda term: term.is_wind))))
    velocity_rates = sum_rates([core_rates, *other_rates])
    if isinstance(flow, WettingFlow):
        damping = sum_rates([term.damping(flow, params, now) for term in scheme.active_terms if term.damping])
        velocity_rates |= flow.apply_drag(velocity_rates, damping)
    masked_rates = mask_rates(rates | velocity_rates, padded_state, flow)
    return add_barrier_accelerations(masked_rates, flow_for_pressure, params, now, scheme)


def make_flow(
    padded_state: State,
    now: Instant,
    grid,
    params: dict,
    scheme: Scheme,
    gfb_inputs: ForwardBackwardInputs | None = None,
) -> Flow:
    """The Flow of a state at an Instant, with transports through open boundaries and over barriers; see `tendency`."""
    if scheme.barrier_terms:
        grid = grid._replace(slip=grid.slip * params["away_from_barriers"])
    flow = WettingFlow(padded_state, grid, params, gfb_inputs) if scheme.drying else Flow(padded_state, grid)
    for term in scheme.active_terms:
        if term.boundary_flux:
            flow.set_boundary_flux(*term.boundary_flux(flow, params, now))
    for term in scheme.active_terms:
        if term.barrier_flux:
            flow.add_barrier_flux(*term.barrier_flux(flow, params, now))
    if isinstance(flow, WettingFlow):
        flow.limit_outflow()
    return flow


def sum_rates(parts: Iterable[dict[str, Patch]]) -> dict[str, Patch]:
    """The sum of the rates by name, added in the order of the parts."""
    total: dict[str, Patch] = {}
    for part in parts:
        for name, rate in part.items():
            total[name] = total[name] + rate if name in total else rate
    return total


def mask_rates(rates: dict[str, Patch], padded_state: State, flow: Flow) -> State:
    """The State of the rates, zero on land and closed faces."""
    water = {"centre": flow.grid.wet, "u": flow.open_u, "v": flow.open_v}
    return type(padded_state)._make(water[variable_of(name).location] * rates[name] for name in padded_state._fields)


def add_barrier_accelerations(
    rates: State, flow_for_pressure: Flow, params: dict, now: Instant, scheme: Scheme
) -> State:
    """The masked rates plus the accelerations over barriers, on whose faces the masks have made the rates zero."""
    for term in scheme.active_terms:
        if term.barrier_accelerations:
            for name, rate in term.barrier_accelerations(flow_for_pressure, params, now).items():
                rates = rates._replace(**{name: getattr(rates, name) + rate})
    return rates


def budget(padded_state: State, now: Instant, grid, params: dict, scheme: Scheme) -> dict[str, State]:
    """The tendency by parts, {part: rates of all prognostic fields}; their sum is `tendency`, except for rounding.

    The parts are

        continuity    the divergence of the transports, in dh/dt
        advection     the flux of relative vorticity and the slope of kinetic energy
        coriolis      the flux of planetary vorticity
        pressure      the slope of g (h - H)

    and the terms of the Scheme, by their names. Accelerations are linear in P, so the parts follow from splitting
    P = g (h - H) + K. The flux of relative vorticity is that of q = (f + zeta) / h_q minus that of f / h_q. The
    arguments are those of `tendency`; the scheme must be without drying.
    """
    params = interpolate_records(params, now, scheme.varying, padded_state.h.values.dtype)
    flow = make_flow(padded_state, now, grid, params, scheme)
    grid = flow.grid
    K, h_q = kinetic_energy(flow.u, flow.v, grid, scheme), corner_thickness(flow.h, grid)
    gravity_potential, zero_centre, zero_corner = params["gravity"] * (flow.h - grid.depth), 0.0 * K, 0.0 * h_q
    planetary = accelerations(grid.f / h_q, zero_centre, flow, scheme)
    advection_and_coriolis = accelerations(potential_vorticity(flow.h, flow.u, flow.v, grid), K, flow, scheme)
    parts = {
        "continuity": {"h": -divergence(flow.U, flow.V, grid)},
        "advection": {name: rate - planetary[name] for name, rate in advection_and_coriolis.items()},
        "coriolis": planetary,
        "pressure": accelerations(zero_corner, gravity_potential, flow, scheme),
    }
    parts |= {term.name: term.tendency(flow, params, now) for term in scheme.active_terms}
    parts |= {term.name: term.rate_over_step(flow, params, None) for term in scheme.active_terms if term.rate_over_step}
    heads = {
        term.name: term.bernoulli_potential(flow, params, now)
        for term in scheme.active_terms
        if term.bernoulli_potential
    }
    parts |= {name: accelerations(zero_corner, head, flow, scheme) for name, head in heads.items()}
    zero_rates = dict.fromkeys(padded_state._fields, 0.0 * flow.h)
    masked_parts = {name: mask_rates(zero_rates | rates, padded_state, flow) for name, rates in parts.items()}
    return masked_parts | {
        term.name: add_barrier_accelerations(masked_parts[term.name], flow, params, now, scheme)
        for term in scheme.barrier_terms
    }
