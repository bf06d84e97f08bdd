"""Advection of a tracer without new extremes, of first or fifth order, in terms of the content; docs/numerics.md."""

from __future__ import annotations

import numpy as np

from .neighbours import FACE_MEANS, c, neighbour
from .tracer import source_of

#: A rate near the smallest positive numbers; offsets of the cells whose concentrations bound the new one of a cell.
MIN_RATE, NEIGHBOURHOOD = 1e-30, [(j, i) for j in (-1, 0, 1) for i in (-1, 0, 1)]


def stencil_values(values, is_open, axis, direction):
    """{k: values k cells downstream of the last cell upwind of each face}, k = -2 to 2; land repeats the nearest value.

    The face of a cell is the one ahead of it along the axis. `direction` is 1 for flow along the axis, else -1.
    """
    upwind_offset = 0 if direction > 0 else 1

    def cell(k):
        return neighbour(values, upwind_offset + direction * k, axis)

    def is_passable(k):  # whether the face between the cells k - 1 and k is open
        return neighbour(is_open, direction * (k - 1), axis)

    by_distance, is_reached = {0: cell(0)}, {1: True, -1: True}
    for k in (1, 2):
        for sign, face in ((1, k), (-1, 1 - k)):
            is_reached[sign] = is_reached[sign] & is_passable(face)
            by_distance[sign * k] = np.where(is_reached[sign], cell(sign * k), by_distance[sign * (k - 1)])
    return by_distance


def face_values(values, flow, is_open, axis):
    """The fifth-order upwind value on each face."""
    upwind_values = []
    for direction in (1, -1):
        v = stencil_values(values, is_open, axis, direction)
        upwind_values.append((2 * v[-2] - 13 * v[-1] + 47 * v[0] + 27 * v[1] - 3 * v[2]) / 60)
    return np.where(flow > 0, *upwind_values)


def advection(T, options):
    """Make the function (x, middle, F, dt) that writes dc/dt over the step from x into F; `middle` is x in mid-step.

    Args:
        options: the table [[tracer]].
    """
    domain, sizes, index = T.domain, T.sizes, T.domain.state._fields.index(options.name)
    # Rounding must not let dt times the rate exceed the distance to the extreme concentration.
    safety_factor = 1 - 4 * float(np.finfo(domain.dtype).eps)
    wet, *open_faces = domain.is_open(bool)
    inverse_lengths, outflow_factors = [sizes.inverse_dx, sizes.inverse_dy], [sizes.outflow_x, sizes.outflow_y]
    if sizes.cos_v is not None:
        inverse_lengths[1] = inverse_lengths[1] * c(np.broadcast_to(sizes.cos_v, domain.shape))
    axes = list(zip((1, 0), open_faces, inverse_lengths, outflow_factors, strict=True))
    source = source_of(T, options)

    def write(x, middle, F, dt):
        now, mid_step, h_after = c(x[index]), c(middle[index]), c(x[0]) + dt * c(F[0])
        if domain.config.drying.active:
            h_after = np.maximum(h_after, 1e-9 * domain.config.drying.thickness)
        neighbours = [
            np.where(neighbour(neighbour(wet, j, 0), i, 1), neighbour(neighbour(now, j, 0), i, 1), now)
            for j, i in NEIGHBOURHOOD
        ]
        max_concentration, min_concentration = np.max(neighbours, axis=0), np.min(neighbours, axis=0)
        # The content that the cell would have if all water that enters had the cell's concentration.
        content, higher_order_fluxes = h_after * now, []
        for (axis, is_open, slope, outflow), barrier, U, thickness in zip(
            axes, domain.barriers, (T.U, T.V), FACE_MEANS, strict=True
        ):
            U, ahead = c(U), neighbour(now, 1, axis)
            slope = slope * is_open
            is_open = is_open | (barrier & (U != 0))
            jump = np.where(is_open, ahead - now, 0)
            upwind = np.where(U > 0, now, ahead)
            if options.advection != "upwind":
                higher_order_fluxes.append(np.where(is_open, U * (face_values(mid_step, U, is_open, axis) - upwind), 0))
            diffusive_flux = options.diffusivity * slope * thickness(middle[0], out=T.work) * jump
            if T.drying:
                diffusive_flux = diffusive_flux * T.drying.face_opening[0 if axis else 1]
            leaves = np.where(is_open, U * (upwind - now), 0) - diffusive_flux
            enters = np.where(is_open, U * (upwind - ahead), 0) - diffusive_flux
            content = content - dt * outflow * (leaves - neighbour(enters, -1, axis))
        if higher_order_fluxes:
            content = content + change_by_limited_fluxes(
                axes,
                higher_order_fluxes,
                max_concentration * h_after - content,
                content - min_concentration * h_after,
                dt,
            )
        low, high = ((far - now) * (safety_factor / dt) for far in (min_concentration, max_concentration))
        rate = np.clip((content / h_after - now) / dt, np.minimum(low + MIN_RATE, 0), np.maximum(high - MIN_RATE, 0))
        c(F[index])[...] = np.where(wet, rate + (source(h_after, mid_step) - now * T.freshwater) / h_after, 0)

    return write


def change_by_limited_fluxes(axes, fluxes, max_gain, max_loss, dt):
    """The change of contents by fluxes over a step, after limiting gains to `max_gain` and losses to `max_loss`."""
    gain = loss = change = 0
    for (axis, _, _, outflow), flux in zip(axes, fluxes, strict=True):
        inward, outward = np.maximum(neighbour(flux, -1, axis), 0), np.maximum(flux, 0)
        gain = gain + dt * outflow * (inward - np.minimum(flux, 0))
        loss = loss + dt * outflow * (outward - np.minimum(neighbour(flux, -1, axis), 0))
    # The limits are negative where more water enters a cell than it holds.
    max_gain, max_loss = np.maximum(max_gain, 0), np.maximum(max_loss, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        gain_fraction = np.where(gain > max_gain, max_gain / gain, 1)
        loss_fraction = np.where(loss > max_loss, max_loss / loss, 1)
    for (axis, _, _, outflow), flux in zip(axes, fluxes, strict=True):
        fraction = np.where(
            flux > 0,
            np.minimum(neighbour(gain_fraction, 1, axis), loss_fraction),
            np.minimum(gain_fraction, neighbour(loss_fraction, 1, axis)),
        )
        limited_flux = np.where(flux == 0, 0, fraction * flux)
        change = change - dt * outflow * (limited_flux - neighbour(limited_flux, -1, axis))
    return change
