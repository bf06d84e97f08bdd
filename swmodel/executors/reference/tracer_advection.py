"""Advection of a tracer without new extremes, of first or fifth order, in terms of the content; docs/numerics.md."""

from __future__ import annotations

import numpy as np

from .neighbours import c
from .weno import at

#: A rate near the smallest numbers; the neighbours that bound the concentration of a cell.
TINY, AROUND = 1e-30, [(j, i) for j in (-1, 0, 1) for i in (-1, 0, 1)]


def upstream(values, opened, axis, way):
    """The values at k = -2 to 2 from the last cell before each face, k counted with the flow; none beyond land.

    The face of a cell is the one ahead of it along the axis. `way` is 1 for flow along the axis, else -1.
    """
    first = 0 if way > 0 else 1  # the cell upwind of the face

    def cell(k):
        return at(values, first + way * k, axis)

    def passable(k):  # the face between the cells k - 1 and k
        return at(opened, way * (k - 1), axis)

    found = {0: cell(0)}
    for k in (1, 2):
        found[k] = np.where(passable(k), cell(k), found[k - 1])
        found[-k] = np.where(passable(1 - k), cell(-k), found[1 - k])
    return found


def on_face(values, flow, opened, axis):
    """The value on each face, of fifth order from the cells upwind."""
    either = []
    for way in (1, -1):
        v = upstream(values, opened, axis, way)
        either.append((2 * v[-2] - 13 * v[-1] + 47 * v[0] + 27 * v[1] - 3 * v[2]) / 60)
    return np.where(flow > 0, *either)


def advection(T, options):
    """The function (x, middle, F, dt) that writes dc/dt over the step from x, carried by transports of `middle`.

    Args:
        options: the table [[tracer]].
    """
    ring, sizes, row = T.ring, T.sizes, T.ring.state._fields.index(options.name)
    is_open = np.ones((3, *ring.shape), bool)
    is_open.reshape(-1)[ring.closed] = False
    nearly = 1 - 4 * float(np.finfo(ring.dtype).eps)  # dt times the rate rounds to no more than the way to the extreme
    wet, *opened = (c(places) for places in is_open)
    per, out = [sizes.per_x, sizes.per_y], [sizes.out_x, sizes.out_y]
    if sizes.cos_v is not None:
        per[1] = per[1] * c(np.broadcast_to(sizes.cos_v, ring.shape))
    axes = list(zip((1, 0), opened, per, out, strict=True))

    def write(x, middle, F, dt):
        now, half, after = c(x[row]), c(middle[row]), c(x[0]) + dt * c(F[0])
        if ring.config.drying.active:
            after = np.maximum(after, 1e-9 * ring.config.drying.thickness)
        near = [np.where(at(at(wet, j, 0), i, 1), at(at(now, j, 0), i, 1), now) for j, i in AROUND]
        most, least = np.max(near, axis=0), np.min(near, axis=0)
        content, more = after * now, []  # as if all water that enters had the concentration of the cell
        for (axis, is_open, slope, leave), U, thickness in zip(axes, (T.U, T.V), T.face_thickness, strict=True):
            U, ahead = c(U), at(now, 1, axis)
            step = np.where(is_open, ahead - now, 0)
            upwind = np.where(U > 0, now, ahead)
            if options.advection != "upwind":
                more.append(np.where(is_open, U * (on_face(half, U, is_open, axis) - upwind), 0))
            mixed = options.diffusivity * slope * thickness(middle[0], out=T.work) * step
            if T.drying:
                mixed = mixed * T.drying.passing[0 if axis else 1]
            leaves = np.where(is_open, U * (upwind - now), 0) - mixed
            enters = np.where(is_open, U * (upwind - ahead), 0) - mixed
            content = content - dt * leave * (leaves - at(enters, -1, axis))
        if more:
            content = content + limited(axes, more, most * after - content, content - least * after, dt)
        low, high = ((far - now) * (nearly / dt) for far in (least, most))
        rate = np.clip((content / after - now) / dt, np.minimum(low + TINY, 0), np.maximum(high - TINY, 0))
        c(F[row])[...] = np.where(wet, rate, 0)

    return write


def limited(axes, more, rise, fall, dt):
    """What the fluxes `more` add to contents over a step, with shares such that none rises or falls by more."""
    gain = loss = change = 0
    for (axis, _, _, leave), flux in zip(axes, more, strict=True):
        inward, outward = np.maximum(at(flux, -1, axis), 0), np.maximum(flux, 0)
        gain = gain + dt * leave * (inward - np.minimum(flux, 0))
        loss = loss + dt * leave * (outward - np.minimum(at(flux, -1, axis), 0))
    rise, fall = np.maximum(rise, 0), np.maximum(fall, 0)  # negative where more water enters a cell than it holds
    with np.errstate(divide="ignore", invalid="ignore"):
        up, down = np.where(gain > rise, rise / gain, 1), np.where(loss > fall, fall / loss, 1)
    for (axis, _, _, leave), flux in zip(axes, more, strict=True):
        to = np.where(flux > 0, np.minimum(at(up, 1, axis), down), np.minimum(up, at(down, 1, axis)))
        part = np.where(flux == 0, 0, to * flux)
        change = change - dt * leave * (part - at(part, -1, axis))
    return change
