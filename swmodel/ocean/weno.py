"""WENO: the flux of vorticity from upwind, of order five or seven, and the kinetic energy that goes with it.

Points u_k along a line are means over intervals. u_0 is the last one upwind of the middle, u_1 the first downstream.
With D_k = u_{k+1} - u_k the value in the middle is a mean over r stencils of r points, m points further upwind each,

    u_0 + sum_m w_m c_m(D),   w_m ~ d_m (1 + tau / beta_m)²

c_m is exact for polynomials. beta_m, of second order in D, measures how rough the stencil is. Where the line crosses a
closed face, r falls from 4 to 3, 2 and 1. Written in differences, a uniform field stays uniform to the bit.

Differences below a thousandth of u_0 get the weights d_m, so that the step has derivatives where the sea is uniform.

References: Jiang and Shu (1996), Balsara and Shu (2000), Borges and others (2008), Castro and others (2011). As a flux
of vorticity: Silvestri and others (2024).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import numpy as np

from .operators import mx_c, mx_f, my_c, my_f, where
from .patch import Patch

#: For r points a stencil: c_m as {k: factor of D_k}, from the stencil that reaches furthest downstream.
CANDIDATES: dict[int, list[dict[int, float]]] = {
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
IDEAL = {2: (2 / 3, 1 / 3), 3: (3 / 10, 6 / 10, 1 / 10), 4: (4 / 35, 18 / 35, 12 / 35, 1 / 35)}
#: beta_m as {(k, l): factor of D_k D_l}, of the first half of the stencils; the others mirror them.
ROUGHNESS: dict[int, list[dict[tuple[int, int], float]]] = {
    2: [{(0, 0): 1}],
    3: [{(0, 0): 10, (0, 1): -11, (1, 1): 4}, {(-1, -1): 4, (-1, 0): -5, (0, 0): 4}],
    4: [
        {(0, 0): 2107, (0, 1): -5188, (0, 2): 1854, (1, 1): 3708, (1, 2): -2788, (2, 2): 547},
        {(-1, -1): 547, (-1, 0): -1428, (-1, 1): 494, (0, 0): 1468, (0, 1): -1108, (1, 1): 267},
    ],
}
#: tau as the modulus of a sum of beta_m.
TAU = {2: (1, -1), 3: (1, 0, -1), 4: (1, 3, -3, -1)}
#: Least beta beside the sum of all D² and of SMALL u_0²; the least sum.
EPSILON, SMALL, TINY = 1e-4, 1e-6, 1e-32


def mirrored(beta: dict[tuple[int, int], float]) -> dict[tuple[int, int], float]:
    """The beta of the stencil on the other side of u_0."""
    return {(-1 - k, -1 - other): factor for (k, other), factor in beta.items()}


def weighted(D: dict[int, Patch], here: Patch, r: int) -> Patch:
    """The sum of w_m c_m over the stencils of r points; `here` is u_0."""
    half = ROUGHNESS[r]
    forms = [half[m] if m < len(half) else mirrored(half[r - 1 - m]) for m in range(r)]
    beta = [total(factor * (D[k] * D[other]) for (k, other), factor in form.items()) for form in forms]
    largest = max(factor for form in forms for factor in form.values())
    size = total(D[k] * D[k] for k in range(1 - r, r - 1)) + SMALL * (here * here)
    scale = 1.0 / (largest * size + TINY)
    tau = abs(total(factor * each for factor, each in zip(TAU[r], beta, strict=True) if factor)) * scale
    beta = [each * scale + EPSILON for each in beta]
    weights = []
    for m, ideal in enumerate(IDEAL[r]):
        product = (beta[m] + tau) * prod(beta[:m] + beta[m + 1 :])
        weights.append(ideal * (product * product))
    changes = (total(factor * D[k] for k, factor in each.items()) for each in CANDIDATES[r])
    return total(w * change for w, change in zip(weights, changes, strict=True)) / total(weights)


def total(terms: Any) -> Any:
    """The sum from left to right."""
    first, *others = terms
    return sum(others, start=first)


def upwind(q: Patch, flow: Patch, opened: Patch, along: Callable[[Patch, int], Patch], r: int) -> Patch:
    """q between each point and the one before it, from the side from which the flow comes.

    Args:
        q: values at points, here corners.
        flow: positive in the direction of the axis, between the points.
        opened: 1 between points where the line may pass, else 0.
        along: function (patch, n) that gives the value n points further along.
        r: points of the largest stencil.
    """
    ahead = flow > 0
    before = {n: along(q, n) - along(q, n - 1) for n in range(1 - r, r)}
    D = {k: where(ahead, before[k], -before[-k]) for k in range(1 - r, r - 1)}
    here = where(ahead, along(q, -1), q)
    change = 0.0 * D[0]
    for points in range(2, r + 1):
        crossed = [k for k in range(1 - points, points - 1) if k]
        passable = where(ahead, *(prod(along(opened, way * k) for k in crossed) for way in (1, -1)))
        change = where(passable > 0, weighted(D, here, points), change)
    return here + change


def eastward(a: Patch, n: int) -> Patch:
    """a[j, i+n] at (j, i)."""
    return a.moved(0, -n)


def northward(a: Patch, n: int) -> Patch:
    """a[j+n, i] at (j, i)."""
    return a.moved(-n, 0)


def flux(q: Patch, flow: Any, r: int) -> tuple[Patch, Patch]:
    """q (V^x)^y and q (U^y)^x with q from upwind: the shortest waves lose potential enstrophy."""
    V, U = my_c(mx_f(flow.V)), mx_c(my_f(flow.U))
    return upwind(q, V, flow.open_u, northward, r) * V, upwind(q, U, flow.open_v, eastward, r) * U


def kinetic_energy(u: Patch, v: Patch, grid: Any) -> Patch:
    """K at centres, m2 s-2: half the squares of what enters from either side, whose sum has continuous derivatives."""
    return 0.5 * (entering(u, eastward) + entering(v, northward))


def entering(u: Patch, along: Callable[[Patch, int], Patch]) -> Patch:
    """max(u+, 0)² + min(u-, 0)² at centres, with u+ and u- of third order from the faces behind and ahead."""
    far, behind, ahead, beyond = (along(u, n) for n in (-2, -1, 0, 1))
    forward = np.maximum((2 * ahead + 5 * behind - far) / 6, 0.0)
    backward = np.minimum((2 * behind + 5 * ahead - beyond) / 6, 0.0)
    return forward * forward + backward * backward


FLUXES = {"weno5": partial(flux, r=3), "weno7": partial(flux, r=4)}
