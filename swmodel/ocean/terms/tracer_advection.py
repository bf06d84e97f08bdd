"""Advection of a tracer without new extremes, of first or fifth order, with the stepper `gfb`.

The prognostic field is the concentration c, with c_f on faces. U is the transport of water, K is kappa h times the
length of a face over the distance of the centres beside it, d c the difference of c between these, and s the outward
sum over the faces of a cell of area A; h' and c' are those at the end of the step. Because A h' = A h - dt s(U),

    A h' c' = A h c - dt s(U c_f - K d c)   becomes   c' = c - dt s(U (c_f - c) - K d c) / (A h')

So a constant stays the same to the bit. c_f is the upwind c at the start of the step. With `advection = "weno5"` a
fraction of the correction to fifth order, linear in c in the middle of the step, is added; Zalesak's fractions keep c'
between the extremes of c in the 3 x 3 cells around it, to the bit. The inflow in a step plus K dt must be less than the
water in the cell.

Differences across closed faces and open boundaries count as zero. So the order falls near coasts and open boundaries,
and inflow through an open boundary has the concentration of the cell inside. Derivatives are exact, except where a
limit starts to act.

References: Zalesak (1979); Wicker and Skamarock (2002) for the reconstruction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..operators import dx_c, dx_f, dy_c, dy_f, maximum, minimum, mx_f, my_f, where
from ..patch import Patch, neighbour_x, neighbour_y

#: A number above all concentrations, one below all positive fluxes, m3 s-1, and one below all positive rates, s-1.
MAX_CONCENTRATION, MIN_FLUX, MIN_RATE = 1e30, 1e-18, 1e-30


class AxisFaces(NamedTuple):
    """The faces of an axis with what passes through them, and the operators along it."""

    transport: Patch  # U, m3 s-1, zero on open boundaries
    conductance: Patch | None  # K, the diffusive flux per unit difference of concentration, m3 s-1
    face_mask: Patch  # 1 on faces that water crosses, else 0
    has_barriers: bool  # whether there may be water beyond a closed face
    neighbour: Callable[[Patch, int], Patch]  # (patch, n): the values n cells further
    mean: Callable[[Patch], Patch]  # from centres
    difference: Callable[[Patch], Patch]  # from centres


def axis_faces(flow, kappa) -> tuple[AxisFaces, AxisFaces]:
    """The AxisFaces of x and of y; kappa in m2 s-1, or None."""
    grid, U, V = flow.grid, flow.U, flow.V
    if flow.has_open_boundaries:
        U, V = flow.crossed_u * U, flow.crossed_v * V
    conductances, has_barriers = (None, None), flow.has_barriers
    if kappa is not None:
        h_u, h_v = flow.h_u, flow.h_v
        if flow.min_mobile_thickness is not None:
            h_u, h_v = flow.faces_x.open_fraction * h_u, flow.faces_y.open_fraction * h_v
        if has_barriers:
            h_u, h_v = flow.open_u * h_u, flow.open_v * h_v
        conductances = kappa * (grid.dy.u * grid.rdx.u * h_u), kappa * (grid.dx.v * grid.rdy.v * h_v)
    return (
        AxisFaces(U, conductances[0], flow.crossed_u, has_barriers, neighbour_x, mx_f, dx_f),
        AxisFaces(V, conductances[1], flow.crossed_v, has_barriers, neighbour_y, my_f, dy_f),
    )


def concentration_rate(c: Patch, flow, step, name: str, kappa, is_high_order: bool, source=None) -> Patch:
    """dc/dt at centres over a WholeStep, s-1, from `c` in its middle. Without a step (None) there are no limits.

    Args:
        name: name of the tracer in `step.step_start`.
        kappa: diffusivity, m2 s-1; None: there is none.
        is_high_order: whether the correction to fifth order is added.
        source: a source of the content c h, m s-1; None: there is none.
    """
    grid, axes, c_start = flow.grid, axis_faces(flow, kappa), c if step is None else step.step_start[name]
    net_inflow = upwind_gain(axes, c_start)
    antidiffusive = [antidiffusive_flux(axis, c_start, c) for axis in axes if is_high_order]
    if step is None:
        net_inflow = net_inflow - (dx_c(antidiffusive[0]) + dy_c(antidiffusive[1])) if antidiffusive else net_inflow
        c_rate = net_inflow * grid.rarea.centre / flow.h
        return c_rate if source is None else c_rate + source / flow.h
    h = step.h if flow.min_mobile_thickness is None else maximum(step.h, flow.min_mobile_thickness)
    max_rise, max_fall = (extreme - c_start for extreme in local_extremes(c_start, grid.wet))
    if antidiffusive:
        volume = grid.area.centre * (h / step.dt)
        max_gain, max_loss = volume * max_rise - net_inflow, net_inflow - volume * max_fall
        limited_x, limited_y = limit_fluxes(axes, antidiffusive, max_gain, max_loss)
        net_inflow = net_inflow - (dx_c(limited_x) + dy_c(limited_y))
    c_rate = net_inflow * (grid.rarea.centre * (1.0 / h))
    inverse_dt = (1 - 4 * np.finfo(step.dt.dtype).eps) / step.dt
    max_rate = maximum(max_rise * inverse_dt - MIN_RATE, 0.0)
    min_rate = minimum(max_fall * inverse_dt + MIN_RATE, 0.0)
    c_rate = where(c_rate > max_rate, max_rate, where(c_rate < min_rate, min_rate, c_rate))
    c_rate = c_rate if step.freshwater_rate is None else c_rate - c_start * (step.freshwater_rate / h)
    return c_rate if source is None else c_rate + source / h


def upwind_gain(axes, c: Patch) -> Patch:
    """The sum over faces of (U into the cell + K) times (c of the neighbour - c of the cell), m3 s-1."""
    gain: Any = 0.0
    for U, K, face_mask, _, neighbour, _, difference in axes:
        c_step = face_mask * difference(c)
        westward, eastward = maximum(-U, 0.0), maximum(U, 0.0)
        if K is not None:
            westward, eastward = westward + K, eastward + K
        gain = gain + (westward * c_step - neighbour(eastward * c_step, -1))
    return gain


def antidiffusive_flux(axis: AxisFaces, c_start: Patch, c: Patch) -> Patch:
    """U (c_f - upwind c), with c_f of fifth order from c in the middle of the step, m3 s-1.

    With the second differences E in the cells upwind and downstream of the face, and in the next cell upwind (far),

        c_f = mean c - (9 E_upwind + 3 E_downstream - 2 E_far) / 60
    """
    U, _, face_mask, has_barriers, neighbour, mean, difference = axis
    slope = face_mask * difference(c)
    second_difference = slope - neighbour(slope, -1)
    is_positive = U > 0
    upwind = where(is_positive, second_difference, neighbour(second_difference, 1))
    downstream = where(is_positive, neighbour(second_difference, 1), second_difference)
    far = where(is_positive, neighbour(second_difference, -1), neighbour(second_difference, 2))
    far = far * where(is_positive, neighbour(face_mask, -1), neighbour(face_mask, 1)) if has_barriers else far
    correction = mean(c - c_start) - (9 * upwind + 3 * downstream - 2 * far) / 60
    return U * correction + abs(U) * (0.5 * (face_mask * difference(c_start)))


def local_extremes(c: Patch, wet: Patch) -> tuple[Patch, Patch]:
    """The largest and the smallest c of a cell and the wet cells around it."""
    results = []
    for extreme, land in ((maximum, -MAX_CONCENTRATION), (minimum, MAX_CONCENTRATION)):
        a = where(wet > 0, c, land)
        for neighbour in (neighbour_x, neighbour_y):
            a = extreme(extreme(neighbour(a, -1), neighbour(a, 1)), a)
        results.append(extreme(a, c))
    return results[0], results[1]


def limit_fluxes(axes, fluxes, max_gain: Patch, max_loss: Patch) -> list[Patch]:
    """The `fluxes` times factors with which no cell gains more than `max_gain` or loses more than `max_loss`, m3 s-1.

    Either bound may be negative where more water enters a cell in a step than it holds, as in a thin layer next to deep
    water.
    """
    positive = [maximum(flux, 0.0) for flux in fluxes]
    negative = [part - flux for part, flux in zip(positive, fluxes, strict=True)]
    at_west_or_south_face = [
        (axis.neighbour(p, -1), axis.neighbour(n, -1)) for axis, p, n in zip(axes, positive, negative, strict=True)
    ]
    gain = (at_west_or_south_face[0][0] + negative[0]) + (at_west_or_south_face[1][0] + negative[1])
    loss = (at_west_or_south_face[0][1] + positive[0]) + (at_west_or_south_face[1][1] + positive[1])
    max_gain, max_loss = maximum(max_gain, 0.0), maximum(max_loss, 0.0)
    gain_factor = (max_gain + MIN_FLUX) / (maximum(gain, max_gain) + MIN_FLUX)
    loss_factor = (max_loss + MIN_FLUX) / (maximum(loss, max_loss) + MIN_FLUX)
    return [
        p * minimum(axis.neighbour(gain_factor, 1), loss_factor)
        - n * minimum(gain_factor, axis.neighbour(loss_factor, 1))
        for axis, p, n in zip(axes, positive, negative, strict=True)
    ]
