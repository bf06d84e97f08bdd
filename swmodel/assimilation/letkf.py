"""The analysis of the local ensemble transform Kalman filter, at many points.

The N members have perturbations x' at a point, and perturbations Y' of their values Y at the observations y near it.
The observations have errors with the diagonal covariance matrix R, and departures d = y - mean(Y). The rows of
A = R^(-1/2) Y' and R^(-1/2) d are multiplied by the square root of the localisation weight:

    P = ((N - 1)/rho + Aᵀ A)^-1       with inflation rho of the first guess's covariance
    mean += x' P Aᵀ R^(-1/2) d
    x'   := x' ((N - 1) P)^(1/2)            the symmetric root
    x'   *= 1 + alpha (s_b - s_a)/s_a       relaxation of the spread s_a to the spread s_b before the analysis

P and its root follow from the eigenvectors of the smaller of A Aᵀ and Aᵀ A. The members do not change at a point
without observations, not even by inflation.

Reference: Hunt, B. R., E. J. Kostelich and I. Szunyogh (2007), Efficient data assimilation for spatiotemporal chaos: a
local ensemble transform Kalman filter, Physica D 230, 112-126. Whitaker, J. S. and T. M. Hamill (2012), Evaluating
methods to account for system errors in ensemble data assimilation, Mon. Weather Rev. 140, 3078-3089, eq. (2).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from ..parallel.environment import n_cores_per_process
from .localisation import NearbyObservations

#: Largest number of elements of the matrices A of all points of a batch; only a batch of one point may exceed it.
MAX_BATCH_ELEMENTS = 2**19


class NormalisedDepartures(NamedTuple):
    """Departures and perturbations at a cycle's observations, divided by the standard deviations of their errors."""

    perturbations: np.ndarray  # the members' values minus their mean, [N, n]
    departures: np.ndarray  # observation minus the members' mean, [n]


def normalise_departures(member_values: np.ndarray, value: np.ndarray, error: np.ndarray) -> NormalisedDepartures:
    """The values of members [N, n] and observations [n], minus the mean over members, divided by the errors [n]."""
    # The array is made contiguous, because the order of the sum depends on the memory layout.
    mean = np.ascontiguousarray(member_values).mean(axis=0)
    return NormalisedDepartures((member_values - mean) / error, (value - mean) / error)


def analyse(
    x: np.ndarray,
    scaled: NormalisedDepartures,
    nearby: NearbyObservations,
    inflation: float = 1.0,
    relaxation: float = 0.0,
) -> np.ndarray:
    """The members at some points after the analysis, [N, points, fields], from those before it, `x`.

    Points with the same number of observations are computed together, each with its own matrices, so the result at a
    point depends neither on other points nor on observations far from it. Threads compute different points.

    `inflation` is rho and `relaxation` is alpha in the module's docstring.
    """
    x_a, counts = x.copy(), np.diff(nearby.start)
    perturbations = np.ascontiguousarray(scaled.perturbations.T)

    def compute(points: np.ndarray) -> None:
        pairs = nearby.start[points, None] + np.arange(counts[points[0]])
        index, weight_root = nearby.index[pairs], np.sqrt(nearby.weight[pairs])
        A, d = perturbations[index] * weight_root[..., None], scaled.departures[index] * weight_root
        members_before = np.ascontiguousarray(np.moveaxis(x[:, points], 0, -1))
        x_a[:, points] += np.moveaxis(analysis_increment(members_before, A, d, inflation, relaxation), -1, 0)

    batches = []
    for count in np.unique(counts[counts > 0]):
        points, batch_size = np.flatnonzero(counts == count), max(1, MAX_BATCH_ELEMENTS // (len(x) * int(count)))
        batches += [points[first : first + batch_size] for first in range(0, len(points), batch_size)]
    with threadpool_limits(1, "blas"), ThreadPoolExecutor(n_cores_per_process()) as pool:
        list(pool.map(compute, batches))
    return x_a


def analysis_increment(x: np.ndarray, A: np.ndarray, d: np.ndarray, inflation: float, relaxation: float) -> np.ndarray:
    """Analysis minus first guess of members [points, fields, N], with p observations near each point.

    A [points, p, N] and d [points, p] are A and R^(-1/2) d of the module's docstring, multiplied by the square root of
    the localisation weight.
    """
    n_members = x.shape[-1]
    prior_precision = (n_members - 1) / inflation
    perturbations = x - x.mean(axis=-1, keepdims=True)
    transposed, d = np.swapaxes(A, 1, 2), d[..., None]
    scale: float | np.ndarray
    if A.shape[1] < n_members:
        s, U = np.linalg.eigh(A @ transposed)
        Q, d = transposed @ U, np.swapaxes(U, 1, 2) @ d
        scale = 1.0
    else:
        s, Q = np.linalg.eigh(transposed @ A)
        d = np.swapaxes(Q, 1, 2) @ (transposed @ d)
        scale = s
    s = np.maximum(s, 0.0)
    projected = perturbations @ Q
    mean_increment = (projected / (prior_precision + s)[:, None, :]) @ d
    # scale (sqrt((N - 1)/(prior_precision + s)) - sqrt(rho)) / s, without cancellation. The squared length of a column
    # of Q is s / scale, so Q diag(factor) Qᵀ has the eigenvalues sqrt((N - 1)/(prior_precision + s)) - sqrt(rho).
    root = np.sqrt(prior_precision + s)
    factor = -scale * np.sqrt((n_members - 1) / prior_precision) / (root * (root + np.sqrt(prior_precision)))
    perturbation_change = (projected * factor[:, None, :]) @ np.swapaxes(Q, 1, 2)
    analysed = np.sqrt(inflation) * perturbations + perturbation_change
    spread = [np.sqrt((each**2).sum(axis=-1, keepdims=True)) for each in (perturbations, analysed)]
    relaxation_factor = 1 + relaxation * np.divide(
        spread[0] - spread[1], spread[1], out=np.zeros_like(spread[0]), where=spread[1] > 0
    )
    return (
        mean_increment
        + (np.sqrt(inflation) * relaxation_factor - 1) * perturbations
        + relaxation_factor * perturbation_change
    )
