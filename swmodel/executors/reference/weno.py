"""WENO fluxes of potential vorticity, and the kinetic energy that belongs to them; docs/numerics.md."""

from __future__ import annotations

from itertools import combinations_with_replacement as pairs

import numpy as np

from .neighbours import c, e, n, neighbour, nw, s, se, w

#: Offsets that avoid division by zero: of the scaled roughness, of squared differences per squared value, of the scale.
MIN_ROUGHNESS, RELATIVE_DIFFERENCE, MIN_SQUARES = 1e-4, 1e-6, 1e-32


def third_order(v):
    """Candidates and roughness of the two-value stencils; v[k] is k values downstream of the last upwind value."""
    return (
        [(v[0] + v[1]) / 2, (3 * v[0] - v[-1]) / 2],
        [(v[1] - v[0]) ** 2, (v[0] - v[-1]) ** 2],
    )


def fifth_order(v):
    """As `third_order`, for three-value stencils (Jiang and Shu 1996); the roughness is multiplied by 3."""
    return (
        [(2 * v[0] + 5 * v[1] - v[2]) / 6, (5 * v[0] - v[-1] + 2 * v[1]) / 6, (2 * v[-2] - 7 * v[-1] + 11 * v[0]) / 6],
        [
            13 / 4 * (v[0] - 2 * v[1] + v[2]) ** 2 + 3 / 4 * (3 * v[0] - 4 * v[1] + v[2]) ** 2,
            13 / 4 * (v[-1] - 2 * v[0] + v[1]) ** 2 + 3 / 4 * (v[-1] - v[1]) ** 2,
            13 / 4 * (v[-2] - 2 * v[-1] + v[0]) ** 2 + 3 / 4 * (v[-2] - 4 * v[-1] + 3 * v[0]) ** 2,
        ],
    )


#: Factors of a a, a b, a c, a d, b b, b c, ... in the roughness (times 240) of the outer and the inner stencils of four
#: values a, b, c, d (Balsara and Shu 2000). v[0] is d in the outer ones, c in the inner ones.
OUTER_FACTORS = (547, -3882, 4642, -1854, 7043, -17246, 7042, 11003, -9402, 2107)
INNER_FACTORS = (267, -1642, 1602, -494, 2843, -5966, 1922, 3443, -2522, 547)


def quadratic(factors, *values):
    """The sum of factors times products of two values."""
    return sum(factor * x * y for factor, (x, y) in zip(factors, pairs(values, 2), strict=True))


def seventh_order(v):
    """As `third_order`, for four-value stencils, with roughness from differences to v[0], which lose fewer digits."""
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


#: {values of a stencil: (function, ideal weights, factors of the roughness in tau, largest factor of a square)}
STENCILS = {
    2: (third_order, (2 / 3, 1 / 3), (1, -1), 1),
    3: (fifth_order, (0.3, 0.6, 0.1), (1, 0, -1), 10),
    4: (seventh_order, (4 / 35, 18 / 35, 12 / 35, 1 / 35), (1, 3, -3, -1), 3708),
}
STENCIL_POINTS = {"weno5": 3, "weno7": 4}


def reconstruct(v, points):
    """The value between v[0] and v[1]."""
    function, ideal, signs, max_factor = STENCILS[points]
    candidates, roughness = function(v)
    squares = sum((v[k + 1] - v[k]) ** 2 for k in range(1 - points, points - 1))
    scale = max_factor * (squares + RELATIVE_DIFFERENCE * v[0] ** 2) + MIN_SQUARES
    tau = abs(sum(sign * beta for sign, beta in zip(signs, roughness, strict=True))) / scale
    weights = [d * (1 + tau / (beta / scale + MIN_ROUGHNESS)) ** 2 for d, beta in zip(ideal, roughness, strict=True)]
    return sum(weight * each for weight, each in zip(weights, candidates, strict=True)) / sum(weights)


def upwind(q, flow, opened, axis, points):
    """q between each corner and the previous one along the axis, reconstructed from upwind."""
    both_directions = []
    for direction in (1, -1):
        values = {k: neighbour(q, k - 1 if direction > 0 else -k, axis) for k in range(1 - points, points)}
        value = values[0]
        for few in range(2, points + 1):
            passable = np.ones(q.shape, bool)
            for k in range(1 - few, few - 1):
                if k:
                    passable &= neighbour(opened, direction * k, axis)
            value = np.where(passable, reconstruct(values, few), value)
        both_directions.append(value)
    return np.where(flow > 0, *both_directions)


def flux(T, F):
    """QV = q (V^x)^y and QU = q (U^y)^x with upwind q."""
    points = STENCIL_POINTS[T.domain.config.scheme.vorticity_flux]
    _, open_u, open_v = T.domain.is_open(bool)
    q = c(T.q).copy()
    V = (c(T.V) + e(T.V) + s(T.V) + se(T.V)) / 4
    U = (c(T.U) + n(T.U) + w(T.U) + nw(T.U)) / 4
    Fu, Fv = c(F[1]), c(F[2])
    to_u = 1 if T.sizes.inverse_cos_c is None else T.sizes.inverse_cos_c
    Fu += upwind(q, V, open_u, 0, points) * V * to_u
    Fv -= upwind(q, U, open_v, 1, points) * U


def kinetic_energy(u, v):
    """Half the sum of the squares of velocities that enter a cell, at centres; u and v are padded."""
    return (inflow_squares(c(u), 1) + inflow_squares(c(v), 0)) / 2


def inflow_squares(u, axis):
    """The sum of squares of the positive part, from the faces behind, and the negative part, from the faces ahead."""
    second_behind, upstream_face, downstream_face = (neighbour(u, cells, axis) for cells in (-2, -1, 1))
    return (
        np.clip(u / 3 + upstream_face * 5 / 6 - second_behind / 6, 0, None) ** 2
        + np.clip(upstream_face / 3 + u * 5 / 6 - downstream_face / 6, None, 0) ** 2
    )
