"""WENO fluxes of potential vorticity, and the kinetic energy that belongs to them; see docs/numerics.md."""

from __future__ import annotations

from itertools import combinations_with_replacement as pairs

import numpy as np

from .neighbours import c, e, n, neighbour, nw, s, se, w

#: EPSILON and ABSOLUTE_FLOOR avoid division by zero. RELATIVE_FLOOR, times the squared value, makes the weights optimal
#: where the differences are tiny beside the value.
EPSILON, RELATIVE_FLOOR, ABSOLUTE_FLOOR = 1e-4, 1e-6, 1e-32


def third_order(v):
    """Candidates and smoothness of the two-value stencils; v[k] is k values downstream of the last upwind value."""
    return (
        [(v[0] + v[1]) / 2, (3 * v[0] - v[-1]) / 2],
        [(v[1] - v[0]) ** 2, (v[0] - v[-1]) ** 2],
    )


def fifth_order(v):
    """As `third_order`, for three-value stencils (Jiang and Shu 1996); the smoothness is multiplied by 3."""
    return (
        [(2 * v[0] + 5 * v[1] - v[2]) / 6, (5 * v[0] - v[-1] + 2 * v[1]) / 6, (2 * v[-2] - 7 * v[-1] + 11 * v[0]) / 6],
        [
            13 / 4 * (v[0] - 2 * v[1] + v[2]) ** 2 + 3 / 4 * (3 * v[0] - 4 * v[1] + v[2]) ** 2,
            13 / 4 * (v[-1] - 2 * v[0] + v[1]) ** 2 + 3 / 4 * (v[-1] - v[1]) ** 2,
            13 / 4 * (v[-2] - 2 * v[-1] + v[0]) ** 2 + 3 / 4 * (v[-2] - 4 * v[-1] + 3 * v[0]) ** 2,
        ],
    )


#: Factors of a a, a b, a c, a d, b b, b c, ... in 240 times the smoothness indicator of the outer and of the inner
#: stencils of four values a, b, c, d (Balsara and Shu 2000). v[0] is d in outer stencils, c in inner ones.
OUTER_FACTORS = (547, -3882, 4642, -1854, 7043, -17246, 7042, 11003, -9402, 2107)
INNER_FACTORS = (267, -1642, 1602, -494, 2843, -5966, 1922, 3443, -2522, 547)


def quadratic(factors, *values):
    """The sum of factors times products of two values, in the order of OUTER_FACTORS."""
    return sum(factor * x * y for factor, (x, y) in zip(factors, pairs(values, 2), strict=True))


def seventh_order(v):
    """As `third_order`, for four-value stencils.

    Smoothness is computed from differences from v[0], because these lose fewer digits.
    """
    z = {k: v[k] - v[0] for k in v}
    return (
        [
            (3 * v[0] + 13 * v[1] - 5 * v[2] + v[3]) / 12,
            (7 * v[0] - v[-1] + 7 * v[1] - v[2]) / 12,
            (v[-2] - 5 * v[-1] + 13 * v[0] + 3 * v[1]) / 12,
            (13 * v[-2] - 3 * v[-3] - 23 * v[-1] + 25 * v[0]) / 12,
        ],
        [quadratic(OUTER_FACTORS, z[3], z[2], z[1], z[0]), quadratic(INNER_FACTORS, z[2], z[1], z[0], z[-1]),
         quadratic(INNER_FACTORS, z[-2], z[-1], z[0], z[1]), quadratic(OUTER_FACTORS, z[-3], z[-2], z[-1], z[0])],
    )  # fmt: skip


#: {number of values in a stencil: (function, optimal weights, factors of the smoothness indicators in tau, largest
#: factor of a squared difference of neighbouring values)}
STENCILS = {
    2: (third_order, (2 / 3, 1 / 3), (1, -1), 1),
    3: (fifth_order, (0.3, 0.6, 0.1), (1, 0, -1), 10),
    4: (seventh_order, (4 / 35, 18 / 35, 12 / 35, 1 / 35), (1, 3, -3, -1), 3708),
}
STENCIL_POINTS = {"weno5": 3, "weno7": 4}


def reconstruct(v, points):
    """The value midway between v[0] and v[1], from stencils of `points` values."""
    function, optimal_weights, tau_factors, max_factor = STENCILS[points]
    candidates, smoothness = function(v)
    squares = sum((v[k + 1] - v[k]) ** 2 for k in range(1 - points, points - 1))
    scale = max_factor * (squares + RELATIVE_FLOOR * v[0] ** 2) + ABSOLUTE_FLOOR
    tau = abs(sum(factor * beta for factor, beta in zip(tau_factors, smoothness, strict=True))) / scale
    weights = [
        optimal * (1 + tau / (beta / scale + EPSILON)) ** 2
        for optimal, beta in zip(optimal_weights, smoothness, strict=True)
    ]
    return sum(weight * each for weight, each in zip(weights, candidates, strict=True)) / sum(weights)


def upwind(q, flow, is_open, axis, points):
    """q between each corner and the previous one along the axis, reconstructed from the upwind side.

    Where a stencil would cross a closed face, a stencil with fewer points is used.
    """
    upwind_values = []
    for direction in (1, -1):
        values = {k: neighbour(q, k - 1 if direction > 0 else -k, axis) for k in range(1 - points, points)}
        value = values[0]
        for stencil_points in range(2, points + 1):
            is_passable = np.ones(q.shape, bool)
            for k in range(1 - stencil_points, stencil_points - 1):
                if k:
                    is_passable &= neighbour(is_open, direction * k, axis)
            value = np.where(is_passable, reconstruct(values, stencil_points), value)
        upwind_values.append(value)
    return np.where(flow > 0, *upwind_values)


def add_weno(T, F):
    """Add QV = q (V^x)^y to F[1], and subtract QU = q (U^y)^x from F[2], with upwind q."""
    points = STENCIL_POINTS[T.domain.config.scheme.vorticity_flux]
    _, open_u, open_v = T.domain.is_open(bool)
    q = c(T.q).copy()
    V = (c(T.V) + e(T.V) + s(T.V) + se(T.V)) / 4
    U = (c(T.U) + n(T.U) + w(T.U) + nw(T.U)) / 4
    Fu, Fv = c(F[1]), c(F[2])
    Fu += T.sizes.as_force_on_u(upwind(q, V, open_u, 0, points) * V)
    Fv -= upwind(q, U, open_v, 1, points) * U


def kinetic_energy(u, v):
    """Half the sum of the squares of the upwind velocities at centres, m2 s-2; u and v are padded."""
    return (upwind_squares(c(u), 1) + upwind_squares(c(v), 0)) / 2


def upwind_squares(u, axis):
    """The squares of the positive and the negative part of u, interpolated to centres from upwind faces, added."""
    two_before, before, after = (neighbour(u, cells, axis) for cells in (-2, -1, 1))
    return (
        np.clip(u / 3 + before * 5 / 6 - two_before / 6, 0, None) ** 2
        + np.clip(before / 3 + u * 5 / 6 - after / 6, None, 0) ** 2
    )
