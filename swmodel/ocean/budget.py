"""The tendency part by part: what each process adds to d/dt of a state.

    continuity    the divergence of the transports, in dh/dt
    advection     the flux of relative vorticity and the slope of kinetic energy
    coriolis      the flux of planetary vorticity
    pressure      the slope of g (h - H)

and the terms of the Scheme, by their names. Accelerations are linear in q and P, so the parts follow from splitting
q = (f + zeta) / h_q and P = g (h - H) + K.
"""

from __future__ import annotations

from .derived import bernoulli_kinetic_energy, corner_thickness, relative_vorticity
from .dynamics import accelerations, finished
from .flow import flow_at
from .instant import Instant
from .operators import divergence
from .records import present
from .state import State


def budget(padded: State, now: Instant, grid, params: dict, scheme) -> dict[str, State]:
    """{part: its rates of all prognostic fields}; the sum of the parts is `dynamics.tendency`, except for rounding.

    Args: those of `tendency`.
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
