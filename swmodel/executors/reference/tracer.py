"""The tracer: a function of the Tendency T that prepares it, and returns the function that adds its transport to F."""

from __future__ import annotations

import numpy as np

from .neighbours import c, difference, e, n, s, w, wrap


def tracer(T):
    """dC/dt = - d_x (U C/h) - d_y (V C/h), with C/h of the cell that the water leaves."""
    ring, row = T.ring, T.ring.state._fields.index("tracer_content")
    concentration, carried_x, carried_y = np.zeros((3, *ring.shape), ring.dtype)

    def add(x, F):
        np.divide(x[row], x[0], out=concentration, where=x[0] != 0)
        for _, outside, inside, *_ in ring.open_sides.faces.values():
            concentration.reshape(-1)[outside.astype(int)] = concentration.reshape(-1)[inside.astype(int)]
        for carried, transport, beyond in ((carried_x, T.U, e), (carried_y, T.V, n)):
            upwind = np.where(c(transport) > 0, c(concentration), beyond(concentration))
            np.multiply(c(transport), upwind, out=c(carried))
        wrap(carried_x, carried_y)
        FC = c(F[row])
        FC += difference(w(carried_x), c(carried_x), T.sizes.out_x, out=T.work)
        FC += difference(s(carried_y), c(carried_y), T.sizes.out_y, out=T.work)

    return add
