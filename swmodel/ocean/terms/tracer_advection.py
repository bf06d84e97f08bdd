"""Advection of a tracer without new extremes, of first or fifth order, with the stepper `gfb`.

The prognostic field is the concentration c, on faces c_f. U are the transports of the water, K = kappa h
length/distance, and s is the sum over the faces of a cell of area A, outward. As A h' = A h - dt s(U),

    A h' c' = A h c - dt s(U c_f - K d c)   is   c' = c - dt s(U (c_f - c) - K d c) / (A h')

So a constant stays the same to the bit. c_f is the c upwind at the begin of the step; with `advection = "weno5"` plus a
share of what fifth order in its middle adds, linear in c. With Zalesak's shares c' lies between the extremes of c in
the nine cells around, to the bit. The inflow of a step, with K, must be less than the water of the cell.

Differences across closed faces and open sides count as zero. So order falls near coasts, and what comes in through an
open side has the concentration of the cell inside. Derivatives are exact, except where a limit begins to act.

References: Zalesak (1979); Wicker and Skamarock (2002) for the reconstruction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..operators import dx_c, dx_f, dy_c, dy_f, mx_f, my_f, where
from ..patch import Patch
from ..weno import eastward, northward

#: Above all concentrations, below fluxes in m3 s-1, below rates in s-1.
LARGE, SMALL, TINY = 1e30, 1e-18, 1e-30


class Faces(NamedTuple):
    """The faces of an axis with what passes through them, and the operators along it."""

    transport: Patch  # U, m3 s-1, zero on open sides
    mixing: Patch | None  # K, m3 s-1
    opened: Patch  # 1 on open faces, else 0
    along: Callable[[Patch, int], Patch]  # (patch, n): the values n cells further
    mean: Callable[[Patch], Patch]  # from centres
    difference: Callable[[Patch], Patch]  # from centres


def faces(flow, kappa) -> tuple[Faces, Faces]:
    """Those of x and of y; kappa in m2 s-1, or None."""
    grid, U, V = flow.grid, flow.U, flow.V
    if flow.has_open_sides:
        U, V = flow.open_u * U, flow.open_v * V
    mixing = (None, None)
    if kappa is not None:
        h_u, h_v = (flow.h_u, flow.h_v) if flow.trace is None else (flow.x.open * flow.h_u, flow.y.open * flow.h_v)
        mixing = kappa * (grid.dy.u * grid.rdx.u * h_u), kappa * (grid.dx.v * grid.rdy.v * h_v)
    return (
        Faces(U, mixing[0], flow.open_u, eastward, mx_f, dx_f),
        Faces(V, mixing[1], flow.open_v, northward, my_f, dy_f),
    )


def rate(c: Patch, flow, step, name: str, kappa, high_order: bool) -> Patch:
    """dc/dt over a step, s-1; `c` is in its middle. Without a step that of the reconstruction, without limits."""
    grid, axes, begin = flow.grid, faces(flow, kappa), c if step is None else step.begin[name]
    change, more = entering(axes, begin), [reconstructed(axis, begin, c) for axis in axes if high_order]
    if step is None:
        change = change - (dx_c(more[0]) + dy_c(more[1])) if more else change
        return change * grid.rarea.centre / flow.h
    h = step.h if flow.trace is None else np.maximum(step.h, flow.trace)
    up, down = (rise - begin for rise in extremes(begin, grid.wet))
    if more:
        volume = grid.area.centre * (h / step.dt)
        x, y = limited(axes, more, volume * up - change, change - volume * down)
        change = change - (dx_c(x) + dy_c(y))
    found = change * (grid.rarea.centre * (1.0 / h))
    nearly = (1 - 4 * np.finfo(step.dt.dtype).eps) / step.dt
    most, least = np.maximum(up * nearly - TINY, 0.0), np.minimum(down * nearly + TINY, 0.0)
    found = where(found > most, most, where(found < least, least, found))
    return found if step.fresh is None else found - begin * (step.fresh / h)


def entering(axes, c: Patch) -> Patch:
    """sum of (U into the cell + K) times what c of the neighbour exceeds that of the cell, m3 s-1."""
    found: Patch | float = 0.0
    for U, K, opened, along, _, difference in axes:
        step = opened * difference(c)
        ahead, behind = np.maximum(-U, 0.0), np.maximum(U, 0.0)
        if K is not None:
            ahead, behind = ahead + K, behind + K
        found = found + (ahead * step - along(behind * step, -1))
    return found


def reconstructed(axis: Faces, begin: Patch, c: Patch) -> Patch:
    """U (c_f - c upwind), c_f of fifth order from c in the middle of the step, m3 s-1.

    With the second differences E in the cell upwind of the face, in the one downstream and in the one further upwind

        c_f = mean c - (9 E_upwind + 3 E_downstream - 2 E_far) / 60
    """
    U, _, opened, along, mean, difference = axis
    slope = opened * difference(c)
    bend = slope - along(slope, -1)
    ahead = U > 0
    upwind, downstream = where(ahead, bend, along(bend, 1)), where(ahead, along(bend, 1), bend)
    far = where(ahead, along(bend, -1), along(bend, 2))
    more = mean(c - begin) - (9 * upwind + 3 * downstream - 2 * far) / 60
    return U * more + abs(U) * (0.5 * (opened * difference(begin)))


def extremes(c: Patch, wet: Patch) -> tuple[Patch, Patch]:
    """The largest and the least c of a cell and the water around it."""
    found = []
    for extreme, land in ((np.maximum, -LARGE), (np.minimum, LARGE)):
        a = where(wet > 0, c, land)
        for along in (eastward, northward):
            a = extreme(extreme(along(a, -1), along(a, 1)), a)
        found.append(extreme(a, c))
    return found[0], found[1]


def limited(axes, more, rise: Patch, fall: Patch) -> list[Patch]:
    """The fluxes `more` times shares with which no cell gains more than `rise` or loses more than `fall`.

    Both are negative where more water enters a cell in a step than it holds, for example in a film beside deep water;
    then nothing may be added.
    """
    positive = [np.maximum(flux, 0.0) for flux in more]
    negative = [part - flux for part, flux in zip(positive, more, strict=True)]
    back = [(axis.along(p, -1), axis.along(n, -1)) for axis, p, n in zip(axes, positive, negative, strict=True)]
    gain = (back[0][0] + negative[0]) + (back[1][0] + negative[1])
    loss = (back[0][1] + positive[0]) + (back[1][1] + positive[1])
    rise, fall = np.maximum(rise, 0.0), np.maximum(fall, 0.0)
    up, down = ((most + SMALL) / (np.maximum(every, most) + SMALL) for every, most in ((gain, rise), (loss, fall)))
    return [
        p * np.minimum(axis.along(up, 1), down) - n * np.minimum(up, axis.along(down, 1))
        for axis, p, n in zip(axes, positive, negative, strict=True)
    ]
