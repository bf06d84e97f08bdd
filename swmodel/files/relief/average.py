"""Depth, sea fraction and height of land in the cells of a grid: means of a relief over their area.

On grids of longitude and latitude, each value of the relief stands for a cell that reaches half way to its neighbours.
Its weight is the exact area on the sphere of the overlap with a grid cell. Cells of a rotated-pole grid, or smaller
than the spacing of the relief, use the mean over samples in them, interpolated bilinearly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ...ocean.coordinates import FULL_CIRCLE_DEGREES, axes, has_rotated_pole
from ...ocean.rotated_pole import to_earth
from .source import Relief, ReliefAxis, ReliefError

#: Maximum number of values of the relief, or of samples, in memory at a time.
MAX_VALUES = 2**24

#: Number of samples along a side of a cell: the minimum, and the number per step of the relief in it.
MIN_SAMPLES_PER_SIDE, SAMPLES_PER_RELIEF_STEP = 3, 2

#: Largest relative difference of equal numbers.
RELATIVE_TOLERANCE = 1e-6


def average_over_cells(relief: Relief, grid) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean depth of the sea, m, sea fraction and mean height of land, m, of each cell [ny, nx]; zero for none."""
    integrate = integrate_samples if has_rotated_pole(grid) or is_coarse(relief, grid) else integrate_overlaps
    volume, sea, land_volume, whole = (np.concatenate(each) for each in zip(*integrate(relief, grid), strict=True))
    land = whole - sea
    height = np.divide(land_volume, land, out=np.zeros_like(sea), where=land > RELATIVE_TOLERANCE * whole)
    return np.divide(volume, sea, out=np.zeros_like(sea), where=sea > 0), sea / whole, height


def is_coarse(relief: Relief, grid) -> bool:
    """Whether the spacing of the relief is wider than the cells of the grid."""
    x, y = axes(grid)
    return (
        x.spacing < (1 - RELATIVE_TOLERANCE) * relief.x.max_spacing
        or y.spacing < (1 - RELATIVE_TOLERANCE) * relief.y.max_spacing
    )


def integrate_overlaps(relief: Relief, grid) -> Iterator[tuple[np.ndarray, ...]]:
    """For each band of rows, volume and area of the sea, volume of the land and the whole area of each cell."""
    along_x, along_y = axes(grid)
    weights_x, columns = overlap_weights(relief, "lon", np.linspace(*along_x.edges, along_x.cells + 1))
    weights_y, rows = overlap_weights(relief, "lat", np.linspace(*along_y.edges, along_y.cells + 1))
    rows_per_band = max(1, int(MAX_VALUES / len(columns) / (along_y.spacing / relief.y.max_spacing + 2)))
    for first in range(0, grid.ny, rows_per_band):
        weights = weights_y[first : first + rows_per_band]
        used = np.unique(weights.indices)
        depth, sea_fraction, height = relief.window(rows[used], columns)
        densities = depth * sea_fraction, sea_fraction, height * (1 - sea_fraction), np.ones_like(depth)
        yield tuple(weights[:, used] @ values @ weights_x.T for values in densities)


def overlap_weights(relief: Relief, name: str, cell_edges: np.ndarray):
    """The overlaps of grid cells with cells around the relief's points along "lon" or "lat", and the points' indices.

    The overlaps are a sparse matrix [cells, points]; those along latitudes are differences of sines, which are
    proportional to areas on a sphere. `cell_edges`: ascending, degrees. ReliefError: cells lie beyond the relief.
    """
    from scipy.sparse import coo_array

    axis = relief.x if name == "lon" else relief.y
    edges, point_numbers = axis.edges, np.arange(len(axis.points))
    if name == "lat":
        edges = np.clip(edges, -90.0, 90.0)
    else:
        edges = edges + full_circles_to(cell_edges[0], axis)  # so that the first edge is not east of the grid
        if axis.is_full_circle:
            edges = np.concatenate([edges[:-1], edges[:-1] + FULL_CIRCLE_DEGREES, edges[:1] + 2 * FULL_CIRCLE_DEGREES])
            point_numbers = np.tile(point_numbers, 2)
    tolerance = RELATIVE_TOLERANCE * axis.max_spacing
    outside = cell_edges[(cell_edges < edges[0] - tolerance) | (cell_edges > edges[-1] + tolerance)]
    if outside.size:
        raise_not_covered(relief, name, outside[0])
    nearest = cell_edges[np.searchsorted(0.5 * (cell_edges[1:] + cell_edges[:-1]), edges)]
    edges = np.where(np.abs(edges - nearest) <= tolerance, nearest, edges)
    measure = (lambda at: np.sin(np.radians(at))) if name == "lat" else np.asarray
    cuts = np.unique(np.concatenate([cell_edges, edges[(edges > cell_edges[0]) & (edges < cell_edges[-1])]]))
    middles = 0.5 * (cuts[1:] + cuts[:-1])
    cell = np.clip(np.searchsorted(cell_edges, middles, side="right") - 1, 0, len(cell_edges) - 2)
    point = point_numbers[np.clip(np.searchsorted(edges, middles, side="right") - 1, 0, len(point_numbers) - 1)]
    used, column = np.unique(point, return_inverse=True)
    shape = len(cell_edges) - 1, len(used)
    return coo_array((np.diff(measure(cuts)), (cell, column)), shape=shape).tocsr(), used


def full_circles_to(position, axis: ReliefAxis):
    """The multiple of 360 degrees that moves the first edge of longitudes to at most one circle before a position."""
    return FULL_CIRCLE_DEGREES * np.floor(
        (position - axis.edges[0]) / FULL_CIRCLE_DEGREES + RELATIVE_TOLERANCE * axis.max_spacing / FULL_CIRCLE_DEGREES
    )


def raise_not_covered(relief: Relief, name: str, position: float):
    """Raise ReliefError for a position beyond the relief."""
    axis = relief.x if name == "lon" else relief.y
    shift = (
        FULL_CIRCLE_DEGREES * np.rint((position - axis.edges[[0, -1]].mean()) / FULL_CIRCLE_DEGREES)
        if name == "lon"
        else 0.0
    )
    position, low, high = np.round([position, *(axis.edges[[0, -1]] + shift)], 9) + 0.0
    raise ReliefError(
        f"{relief.path} does not cover the region, which needs {name} = {position:.10g} degrees; its {name} runs "
        f"from {low:.10g} to {high:.10g} degrees"
    )


def integrate_samples(relief: Relief, grid) -> Iterator[tuple[np.ndarray, ...]]:
    """Like `integrate_overlaps`, from samples spread over the cells."""
    n_samples = samples_per_side(relief, grid)
    for samples_shape, y, lon, lat in sample_points(
        grid, n_samples, max(1, MAX_VALUES // (grid.nx * n_samples[0] * n_samples[1]))
    ):
        depth, sea_fraction, height = interpolate(relief, lon, lat)
        area = np.broadcast_to(np.cos(np.radians(y))[:, None], sea_fraction.shape)
        densities = area * depth * sea_fraction, area * sea_fraction, area * height * (1 - sea_fraction), area
        yield tuple(each.reshape(samples_shape).sum(axis=(1, 3)) for each in densities)


def samples_per_side(relief: Relief, grid) -> list[int]:
    pairs = zip(axes(grid), (relief.x, relief.y), strict=True)
    return [
        max(MIN_SAMPLES_PER_SIDE, math.ceil(SAMPLES_PER_RELIEF_STEP * axis.spacing / np.diff(line.points).min()))
        for axis, line in pairs
    ]


def sample_points(grid, n_samples, rows_per_band: int) -> Iterator[tuple]:
    """For each band of rows, the shape [rows, ky, nx, kx], y, longitudes and latitudes [y, x] of samples, degrees."""
    grid_axes = axes(grid)
    x = grid_axes.x.edges[0] + (np.arange(grid.nx * n_samples[0]) + 0.5) * grid_axes.x.spacing / n_samples[0]
    for first in range(0, grid.ny, rows_per_band):
        n_rows = min(rows_per_band, grid.ny - first)
        y = (
            grid_axes.y.edges[0]
            + (first * n_samples[1] + np.arange(n_rows * n_samples[1]) + 0.5) * grid_axes.y.spacing / n_samples[1]
        )
        lon, lat = to_earth(grid.pole, x, y[:, None]) if has_rotated_pole(grid) else np.broadcast_arrays(x, y[:, None])
        yield (n_rows, n_samples[1], grid.nx, n_samples[0]), y, lon, lat


def sample_sea(relief: Relief, grid) -> np.ndarray:
    """Whether the relief's point nearest to each sample is sea, [ny, ky, nx, kx]."""
    max_samples = max(1, math.isqrt(MAX_VALUES // (grid.nx * grid.ny)))
    n_samples = [min(number, max_samples) for number in samples_per_side(relief, grid)]
    rows_per_band = max(1, MAX_VALUES // int(len(relief.x.points) * (axes(grid).y.spacing / relief.y.max_spacing + 2)))
    return np.concatenate(
        [
            is_sea(relief, lon, lat).reshape(cells)
            for cells, _, lon, lat in sample_points(grid, n_samples, rows_per_band)
        ]
    )


def is_sea(relief: Relief, lon: np.ndarray, lat: np.ndarray) -> np.ndarray:
    """Whether the relief's points nearest to true longitudes and latitudes [y, x] are at least half sea."""
    brackets = bracket(relief, "lat", lat), bracket(relief, "lon", lon)
    j, i = (np.where(part < 0.5, low, high) for low, high, part in brackets)
    rows, columns = np.unique(j), np.unique(i)
    return relief.is_sea(rows, columns)[np.searchsorted(rows, j), np.searchsorted(columns, i)]


def interpolate(relief: Relief, lon: np.ndarray, lat: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Depth, sea fraction and height of land at true longitudes and latitudes [y, x], interpolated bilinearly."""
    i0, i1, fraction_x = bracket(relief, "lon", lon)
    j0, j1, fraction_y = bracket(relief, "lat", lat)
    rows, columns = np.arange(j0.min(), j1.max() + 1), np.unique([i0, i1])
    i0, i1 = np.searchsorted(columns, i0), np.searchsorted(columns, i1)
    corners = relief.window(rows, columns)
    return tuple(
        (1 - fraction_y) * ((1 - fraction_x) * values[j0 - rows[0], i0] + fraction_x * values[j0 - rows[0], i1])
        + fraction_y * ((1 - fraction_x) * values[j1 - rows[0], i0] + fraction_x * values[j1 - rows[0], i1])
        for values in corners
    )


def bracket(relief: Relief, name: str, positions: np.ndarray) -> tuple[np.ndarray, ...]:
    """Indices of the relief's points before and after positions, and the fraction of the step from the first."""
    axis = relief.x if name == "lon" else relief.y
    points, edges, count = axis.points, axis.edges, len(axis.points)
    if name == "lon":
        positions = positions - full_circles_to(positions, axis)
        is_beyond = positions > edges[-1] + RELATIVE_TOLERANCE * axis.max_spacing
        if axis.is_full_circle:
            points = np.concatenate([points[-1:] - FULL_CIRCLE_DEGREES, points, points[:1] + FULL_CIRCLE_DEGREES])
            is_beyond[...] = False
    else:
        is_beyond = ((positions < edges[0]) | (positions > edges[-1])) & (np.abs(positions) < 90.0 - axis.max_spacing)
    if is_beyond.any():
        raise_not_covered(relief, name, positions[is_beyond][0])
    first = np.clip(np.searchsorted(points, positions, side="right") - 1, 0, len(points) - 2)
    fraction = np.clip((positions - points[first]) / (points[first + 1] - points[first]), 0.0, 1.0)
    shift = 1 if len(points) > count else 0
    return (first - shift) % count, (first + 1 - shift) % count, fraction
