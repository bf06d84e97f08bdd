"""The analysis of the local ensemble transform Kalman filter, at many points.

The N members have perturbations x' at a point, and Y' at the observations y near it. Their departures are
d = y - mean(Y). A = R^(-1/2) Y', of which each row is multiplied by the root of the localisation's weight, as d is:

    P = ((N - 1)/rho + Aᵀ A)^-1       inflation rho of the first guess's covariance
    mean += x' P Aᵀ R^(-1/2) d
    x'   := x' ((N - 1) P)^(1/2)            the symmetric root
    x'   *= 1 + alpha (s_b - s_a)/s_a       relaxation of the spread s_a to that before, s_b

Eigenvectors are those of the smaller one of A Aᵀ and Aᵀ A. A point without observations does not change by a bit.

Reference: Hunt, B. R., E. J. Kostelich and I. Szunyogh (2007), Efficient data assimilation for spatiotemporal chaos: a
local ensemble transform Kalman filter, Physica D 230, 112-126. Whitaker, J. S. and T. M. Hamill (2012), Evaluating
methods to account for system errors in ensemble data assimilation, Mon. Weather Rev. 140, 3078-3089, eq. (2).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from ..parallel.environment import share_of_cores
from .localisation import Near

#: Most numbers in an array of matrices that are computed together.
NUMBERS = 2**19


class Seen(NamedTuple):
    """Observations of a cycle, divided by their errors."""

    perturbations: np.ndarray  # of the members' values from their mean, [N, n]
    departures: np.ndarray  # observation minus the members' mean, [n]


def seen_by(members: np.ndarray, value: np.ndarray, error: np.ndarray) -> Seen:
    """From the members' values of the observed quantities [N, n], and the observations with their errors [n]."""
    mean = np.ascontiguousarray(members).mean(axis=0)  # other orders in memory are summed otherwise
    return Seen((members - mean) / error, (value - mean) / error)


def analyse(x: np.ndarray, seen: Seen, near: Near, inflation: float = 1.0, relaxation: float = 0.0) -> np.ndarray:
    """The members at n points after the analysis, [N, n, layers], from those before it.

    Points with the same number of observations are computed together, each with its own matrices. So its result does
    not depend on other points, nor on observations that are not near it. Matrices are small: threads share the points.
    """
    x_a, counts = x.copy(), np.diff(near.start)
    perturbations = np.ascontiguousarray(seen.perturbations.T)

    def compute(at: np.ndarray) -> None:
        which = near.start[at, None] + np.arange(counts[at[0]])
        index, root = near.index[which], np.sqrt(near.weight[which])
        A, d = perturbations[index] * root[..., None], seen.departures[index] * root
        before = np.ascontiguousarray(np.moveaxis(x[:, at], 0, -1))
        x_a[:, at] += np.moveaxis(change(before, A, d, inflation, relaxation), -1, 0)

    parts = []
    for count in np.unique(counts[counts > 0]):
        points, some = np.flatnonzero(counts == count), max(1, NUMBERS // (len(x) * int(count)))
        parts += [points[first : first + some] for first in range(0, len(points), some)]
    with threadpool_limits(1, "blas"), ThreadPoolExecutor(share_of_cores()) as pool:
        list(pool.map(compute, parts))
    return x_a


def change(x: np.ndarray, A: np.ndarray, d: np.ndarray, inflation: float, relaxation: float) -> np.ndarray:
    """Analysis minus first guess of members [points, layers, N], with A [points, p, N] and d [points, p]."""
    members = x.shape[-1]
    own = (members - 1) / inflation
    before = x - x.mean(axis=-1, keepdims=True)
    transposed, d = np.swapaxes(A, 1, 2), d[..., None]
    if A.shape[1] < members:
        s, U = np.linalg.eigh(A @ transposed)
        Q, d = transposed @ U, np.swapaxes(U, 1, 2) @ d
        scale = 1.0
    else:
        s, Q = np.linalg.eigh(transposed @ A)
        d = np.swapaxes(Q, 1, 2) @ (transposed @ d)
        scale = s
    s = np.maximum(s, 0.0)
    along = before @ Q
    mean = (along / (own + s)[:, None, :]) @ d
    # (sqrt((N - 1)/(own + s)) - sqrt(rho)) / s, without cancellation
    root = np.sqrt(own + s)
    factor = -scale * np.sqrt((members - 1) / own) / (root * (root + np.sqrt(own)))
    rotated = (along * factor[:, None, :]) @ np.swapaxes(Q, 1, 2)
    after = np.sqrt(inflation) * before + rotated
    spread = [np.sqrt((each**2).sum(axis=-1, keepdims=True)) for each in (before, after)]
    relaxed = 1 + relaxation * np.divide(
        spread[0] - spread[1], spread[1], out=np.zeros_like(spread[0]), where=spread[1] > 0
    )
    return mean + (np.sqrt(inflation) * relaxed - 1) * before + relaxed * rotated
