"""Localisation: the observations near grid points, with weights that decrease with distance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..ocean.coordinates import axes, is_spherical
from ..ocean.rotated_pole import unit_vectors


def taper(distance, radius: float) -> np.ndarray:
    """The correlation of Gaspari and Cohn (1999), eq. (4.10) with c = radius / 2: 1 at 0, exactly 0 from `radius` on.

    It is positive definite and, at a distance r, close to exp(-r²/(2 l²)) with l = 0.27 radius.

    Reference: Gaspari, G. and S. E. Cohn (1999), Construction of correlation functions in two and three dimensions, Q.
    J. R. Meteorol. Soc. 125, 723-757.
    """
    z = np.asarray(distance, np.float64) / (0.5 * radius)
    inner = 1 + z**2 * (-5 / 3 + z * (5 / 8 + z * (1 / 2 - z / 4)))
    far = np.maximum(z, 1)
    outer = 4 + far * (-5 + far * (5 / 3 + far * (5 / 8 + far * (-1 / 2 + far / 12)))) - 2 / (3 * far)
    return np.where(z <= 1, inner, np.where(z < 2, np.maximum(outer, 0), 0.0))


def embed_positions(grid, x, y) -> tuple[np.ndarray, np.ndarray | None]:
    """The positions (x, y) as points [n, 2 or 3] of a Euclidean space, m, and its periods along each axis.

    On a plane the points are relative to the south-west corner of the domain, m, and a period is 0 if the axis is not
    periodic. A sphere is embedded in three dimensions; its periods are None.
    """
    x, y = (np.asarray(coordinate, np.float64).ravel() for coordinate in np.broadcast_arrays(x, y))
    if is_spherical(grid):
        return grid.radius * unit_vectors(x, y), None
    grid_axes = axes(grid)
    size = np.array([axis.edges[1] - axis.edges[0] for axis in grid_axes])
    periods = np.where([axis.is_periodic for axis in grid_axes], size, 0.0)
    positions = np.stack([x, y], axis=-1) - [axis.edges[0] for axis in grid_axes]
    within_period = positions % np.where(periods > 0, size, 1.0)
    within_period[within_period >= size] = 0.0  # a rounding error below zero becomes the whole period
    return np.where(periods > 0, within_period, positions), periods


def surface_distance(grid, chords):
    """Distances along the surface, m, from straight-line distances `chords`, m."""
    if not is_spherical(grid):
        return chords
    return 2 * grid.radius * np.arcsin(np.minimum(0.5 * chords / grid.radius, 1.0))


@dataclass(frozen=True, eq=False)
class NearbyObservations:
    """The observations near n points: those of point i are index[start[i]:start[i + 1]], in ascending order."""

    start: np.ndarray  # [n + 1]
    index: np.ndarray
    weight: np.ndarray  # the `taper` of the distances, above 0


def find_nearby(grid, points: tuple, observation_positions: tuple, radius: float) -> NearbyObservations:
    """The observations within a radius (m, along the surface) of points; all positions are (x, y) along the axes."""
    from scipy.spatial import cKDTree

    embedded_points, periods = embed_positions(grid, *points)
    embedded_observations, _ = embed_positions(grid, *observation_positions)
    max_chord = 2 * grid.radius * np.sin(min(0.5 * radius / grid.radius, 0.5 * np.pi)) if is_spherical(grid) else radius
    tree_of_points = cKDTree(embedded_points, boxsize=periods)
    tree_of_observations = cKDTree(embedded_observations, boxsize=periods)
    pairs = tree_of_points.sparse_distance_matrix(tree_of_observations, max_chord, output_type="ndarray")
    weight = taper(surface_distance(grid, pairs["v"]), radius)
    pairs, weight = pairs[weight > 0], weight[weight > 0]
    order = np.lexsort((pairs["j"], pairs["i"]))
    start = np.searchsorted(pairs["i"][order], np.arange(len(embedded_points) + 1))
    return NearbyObservations(start, pairs["j"][order], weight[order])
