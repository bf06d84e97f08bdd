"""Geostrophic balance as a linear operator: the currents in balance with a change of eta."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..ocean.operators import dx_f, dy_f, mx_c, mx_f, my_c, my_f
from ..ocean.patch import Patch
from ..parallel.transport.halo import surround

#: Balance fades where |f| is below this fraction of its largest value in the domain.
EQUATORIAL = 0.1


class Balance(NamedTuple):
    """K: eta -> (u, v). Lengths have one cell around the block, [ny + 2, nx + 2]; all else on the block, [ny, nx]."""

    rdx_u: Any  # 1/dx on open east faces, else 0, m-1
    rdy_v: Any  # 1/dy on open north faces, else 0, m-1
    per_slope_u: Any  # u divided by the sum of the slopes around, m s-1
    per_slope_v: Any  # v divided by the sum of the slopes around, m s-1


def build_balance(config, transport, grid) -> Balance:
    """The operator of this process's block, in the run's precision; called by all processes together.

    The grid is one of Patches of NumPy arrays that cover the block and one cell around it.
    """
    shape, dtype, g = transport.block.shape, np.dtype(config.run.dtype), config.physics.gravity
    f = grid.f.map(np.float64)
    largest = float(transport.reduce(np.asarray(np.abs(f.values).max()), "max"))
    open_u, open_v = (mask.map(np.float64) for mask in (grid.open_u, grid.open_v))
    v_faces, u_faces = 4 * mx_f(my_c(open_v)), 4 * my_f(mx_c(open_u))
    per_slope_u = -g * open_u * inverse(my_c(f), largest) / v_faces.map(lambda count: np.maximum(count, 1))
    per_slope_v = g * open_v * inverse(mx_c(f), largest) / u_faces.map(lambda count: np.maximum(count, 1))
    around = [
        np.broadcast_to(inverse.cut((-1, -1), (shape[0] + 1, shape[1] + 1)).values, (shape[0] + 2, shape[1] + 2))
        for inverse in (grid.rdx.u * open_u, grid.rdy.v * open_v)
    ]
    inside = [np.broadcast_to(field.on(shape), shape) for field in (per_slope_u, per_slope_v)]
    return Balance(*(np.asarray(field, dtype) for field in (*around, *inside)))


def inverse(f: Patch, largest: float) -> Patch:
    """(1 - exp(-(f/f_c)²)) / f, f_c = largest / 10: 1/f to 2 parts in 10^4 where |f| > 3 f_c, and 0 at the equator."""

    def function(f):
        if largest == 0:
            return np.zeros_like(f)
        return -np.expm1(-((f / (EQUATORIAL * largest)) ** 2)) / np.where(f == 0, 1, f)

    return f.map(function)


def geostrophic(eta, balance: Balance, transport):
    """u = -(g/f) d_y eta on east faces and v = (g/f) d_x eta on north faces, m s-1, [ny, nx], of a change eta, m.

    The slope on a face is the one between its two cells. u takes the mean slope on the open ones of the four north
    faces around it, v likewise. Both are zero on closed faces, and where no face around is open. Second order, first
    next to a coast.
    """
    shape = eta.shape
    padded = Patch(surround((eta,), 1, transport)[0], (-1, -1))
    rdx_u, rdy_v = Patch(balance.rdx_u, (-1, -1)), Patch(balance.rdy_v, (-1, -1))
    around_u = 4 * mx_f(my_c(rdy_v * dy_f(padded)))
    around_v = 4 * my_f(mx_c(rdx_u * dx_f(padded)))
    return balance.per_slope_u * around_u.on(shape), balance.per_slope_v * around_v.on(shape)
