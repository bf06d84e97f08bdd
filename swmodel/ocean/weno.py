"""WENO: the upwind flux of vorticity, of order five or seven, and the kinetic energy that goes with it.

The values u_k along a line are means over intervals. Of the two values beside the point where a value is needed, u_0 is
upwind and u_1 downstream. With D_k = u_{k+1} - u_k, the value at this point is a mean over r stencils of r points, of
which stencil m is shifted upwind by m points,

    u_0 + sum_m w_m c_m(D),   w_m ~ d_m (1 + tau / beta_m)²

c_m is exact for polynomials of degree r - 1. beta_m, quadratic in D, measures how rough the field is on the stencil.
Where a stencil would cross a closed face, r falls from 4 (`weno7`) or 3 (`weno5`) down to 1. Because only differences
are added to u_0, a uniform field stays uniform to the bit. Where differences are far below 1e-5 u_0, the weights are
d_m, so that the step is differentiable where the sea is uniform.

References: Jiang and Shu (1996), Balsara and Shu (2000), Borges and others (2008), Castro and others (2011). As a flux
of vorticity: Silvestri and others (2024).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

from .operators import maximum, minimum, mx_c, mx_f, my_c, my_f, where
from .patch import Patch, neighbour_x, neighbour_y

if TYPE_CHECKING:
    from .grid import Grid

#: For r points per stencil: c_m as {k: factor of D_k}, starting with the stencil that reaches furthest downstream.
CANDIDATE_STENCILS: dict[int, list[dict[int, float]]] = {
    2: [{0: 1 / 2}, {-1: 1 / 2}],
    3: [{0: 2 / 3, 1: -1 / 6}, {-1: 1 / 6, 0: 1 / 3}, {-2: -1 / 3, -1: 5 / 6}],
    4: [
        {0: 3 / 4, 1: -1 / 3, 2: 1 / 12},
        {-1: 1 / 12, 0: 1 / 2, 1: -1 / 12},
        {-2: -1 / 12, -1: 1 / 3, 0: 1 / 4},
        {-3: 1 / 4, -2: -5 / 6, -1: 13 / 12},
    ],
}
#: d_m, the weights with which the mean is exact to order 2 r - 1.
OPTIMAL_WEIGHTS = {2: (2 / 3, 1 / 3), 3: (3 / 10, 6 / 10, 1 / 10), 4: (4 / 35, 18 / 35, 12 / 35, 1 / 35)}
#: beta_m as {(k, l): factor of D_k D_l}, of the first half of the stencils; the others are their mirror images.
SMOOTHNESS_INDICATORS: dict[int, list[dict[tuple[int, int], float]]] = {
    2: [{(0, 0): 1}],
    3: [{(0, 0): 10, (0, 1): -11, (1, 1): 4}, {(-1, -1): 4, (-1, 0): -5, (0, 0): 4}],
    4: [
        {(0, 0): 2107, (0, 1): -5188, (0, 2): 1854, (1, 1): 3708, (1, 2): -2788, (2, 2): 547},
        {(-1, -1): 547, (-1, 0): -1428, (-1, 1): 494, (0, 0): 1468, (0, 1): -1108, (1, 1): 267},
    ],
}
#: tau is the absolute value of the sum of beta_m times these factors.
TAU_FACTORS = {2: (1, -1), 3: (1, 0, -1), 4: (1, 3, -3, -1)}
#: Each beta is divided by the largest factor in the indicators times (the sum of all D² plus RELATIVE_FLOOR u_0²), plus
#: ABSOLUTE_FLOOR; then EPSILON is added.
EPSILON, RELATIVE_FLOOR, ABSOLUTE_FLOOR = 1e-4, 1e-6, 1e-32


def mirror_indicator(beta: dict[tuple[int, int], float]) -> dict[tuple[int, int], float]:
    """The beta of the mirror image of a stencil about u_0."""
    return {(-1 - k, -1 - other_k): factor for (k, other_k), factor in beta.items()}


def weno_change(D: dict[int, Patch], u_0: Patch, r: int) -> Patch:
    """The weighted mean of c_m over the stencils of r points; see the docstring of the module."""
    first_half = SMOOTHNESS_INDICATORS[r]
    indicators = [first_half[m] if m < len(first_half) else mirror_indicator(first_half[r - 1 - m]) for m in range(r)]
    beta = [
        sum_in_order(factor * (D[k] * D[other_k]) for (k, other_k), factor in indicator.items())
        for indicator in indicators
    ]
    largest = max(factor for indicator in indicators for factor in indicator.values())
    sum_of_squares = sum_in_order(D[k] * D[k] for k in range(1 - r, r - 1)) + RELATIVE_FLOOR * (u_0 * u_0)
    scale = 1.0 / (largest * sum_of_squares + ABSOLUTE_FLOOR)
    tau = abs(sum_in_order(factor * each for factor, each in zip(TAU_FACTORS[r], beta, strict=True) if factor)) * scale
    beta = [each * scale + EPSILON for each in beta]
    weights = []
    for m, optimal in enumerate(OPTIMAL_WEIGHTS[r]):
        product = (beta[m] + tau) * prod(beta[:m] + beta[m + 1 :])
        weights.append(optimal * (product * product))
    changes = (sum_in_order(factor * D[k] for k, factor in each.items()) for each in CANDIDATE_STENCILS[r])
    return sum_in_order(w * change for w, change in zip(weights, changes, strict=True)) / sum_in_order(weights)


def sum_in_order(terms: Any) -> Any:
    """The sum from left to right. It does not begin with 0, which would add an operation to the graph."""
    first, *others = terms
    return sum(others, start=first)


def upwind_value(q: Patch, flow: Patch, face_mask: Patch, neighbour: Callable[[Patch, int], Patch], r: int) -> Patch:
    """q midway between each point and the one before it, reconstructed from upwind.

    Args:
        q: values at points, here corners.
        flow: positive in the direction of the axis, between the points.
        face_mask: 1 between points if a stencil may contain both, else 0.
        neighbour: function (patch, n) that gives the value n points further along.
        r: number of points of the largest stencil.
    """
    is_positive = flow > 0
    differences = {n: neighbour(q, n) - neighbour(q, n - 1) for n in range(1 - r, r)}
    D = {k: where(is_positive, differences[k], -differences[-k]) for k in range(1 - r, r - 1)}
    u_0 = where(is_positive, neighbour(q, -1), q)
    change = 0.0 * D[0]
    for points in range(2, r + 1):
        crossed = [k for k in range(1 - points, points - 1) if k]
        passable = where(is_positive, *(prod(neighbour(face_mask, sign * k) for k in crossed) for sign in (1, -1)))
        change = where(passable > 0, weno_change(D, u_0, points), change)
    return u_0 + change


def vorticity_flux(q: Patch, flow: Any, r: int) -> tuple[Patch, Patch]:
    """q (V^x)^y and q (U^y)^x with upwind q, which dissipates the potential enstrophy of the shortest waves."""
    V, U = my_c(mx_f(flow.V)), mx_c(my_f(flow.U))
    return upwind_value(q, V, flow.open_u, neighbour_y, r) * V, upwind_value(q, U, flow.open_v, neighbour_x, r) * U


def kinetic_energy(u: Patch, v: Patch, grid: Grid) -> Patch:
    """K at centres, m2 s-2: half the sum of the squares of the upwind velocities; its derivatives are continuous."""
    return 0.5 * (upwind_square(u, neighbour_x) + upwind_square(v, neighbour_y))


def upwind_square(u: Patch, neighbour: Callable[[Patch, int], Patch]) -> Patch:
    """max(u+, 0)² + min(u-, 0)² at centres, with u+ and u- of third order, each from its upwind side."""
    u_m2, u_m1, u_0, u_p1 = (neighbour(u, n) for n in (-2, -1, 0, 1))
    forward = maximum((2 * u_0 + 5 * u_m1 - u_m2) / 6, 0.0)
    backward = minimum((2 * u_m1 + 5 * u_0 - u_p1) / 6, 0.0)
    return forward * forward + backward * backward


FLUXES: dict[str, Callable[[Patch, Any], tuple[Patch, Patch]]] = {
    "weno5": partial(vorticity_flux, r=3),
    "weno7": partial(vorticity_flux, r=4),
}
