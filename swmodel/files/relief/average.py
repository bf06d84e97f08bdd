"""Depth, sea fraction and height of land in the cells of a grid: area means of a relief.

If grid and relief are both in longitude and latitude, or in the same projection, each value of the relief represents a
cell that reaches half way to the neighbouring values. Its weight in the mean over a grid cell is the exact area, on the
sphere or in the projection, in which both cells overlap. If the axes of grid and relief differ, or the grid cells are
smaller than the spacing of the relief, the mean is taken over samples in each grid cell, interpolated bilinearly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from ...ocean.coordinates import (
    FULL_CIRCLE_DEGREES,
    are_same_frames,
    axes,
    frame_of,
    from_frame,
    is_spherical,
    sample_centres,
    to_frame,
)
from .source import ReliefAxis, ReliefError

if TYPE_CHECKING:
    from .mosaic import AnyRelief

#: Maximum number of values of the relief, or of samples, in memory at a time.
MAX_VALUES = 2**24

#: Number of samples along a side of a grid cell: the minimum, and the number per spacing of the relief.
MIN_SAMPLES_PER_SIDE, SAMPLES_PER_RELIEF_STEP = 3, 2

#: Largest relative difference between numbers that count as equal.
RELATIVE_TOLERANCE = 1e-6


def average_over_cells(relief: AnyRelief, grid) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean depth of the sea, m, sea fraction, and mean height of land, m, in each cell [ny, nx]; 0 if there is none."""
    has_same_axes = are_same_frames(frame_of(grid), relief.frame)
    integrate = integrate_overlaps if has_same_axes and not is_coarse(relief, grid) else integrate_samples
    volume, sea_area, land_volume, cell_area = (
        np.concatenate(bands) for bands in zip(*integrate(relief, grid), strict=True)
    )
    land_area = cell_area - sea_area
    has_land = land_area > RELATIVE_TOLERANCE * cell_area
    height = np.divide(land_volume, land_area, out=np.zeros_like(sea_area), where=has_land)
    depth = np.divide(volume, sea_area, out=np.zeros_like(sea_area), where=sea_area > 0)
    return depth, sea_area / cell_area, height


def is_coarse(relief: AnyRelief, grid) -> bool:
    """Whether the spacing of the relief is wider than the cells of the grid."""
    sizes = zip(cell_sizes(relief, grid), (relief.x, relief.y), strict=True)
    return any(size < (1 - RELATIVE_TOLERANCE) * axis.max_spacing for size, axis in sizes)


def cell_sizes(relief: AnyRelief, grid) -> list[float]:
    """The size of grid cells along x and y, in the unit of the relief; converted for the middle of the grid."""
    sizes = [axis.spacing for axis in axes(grid)]
    if axes(grid).x.unit == relief.x.unit:
        return sizes
    y_factor = grid.radius * math.radians(1.0)  # metres per degree
    x_factor = y_factor * math.cos(math.radians(np.mean(sample_centres(grid).lat)))
    if is_spherical(grid):
        return [sizes[0] * x_factor, sizes[1] * y_factor]
    return [sizes[0] / x_factor, sizes[1] / y_factor]


def integrate_overlaps(relief: AnyRelief, grid) -> Iterator[tuple[np.ndarray, ...]]:
    """For each band of rows: volume and area of the sea, volume of the land, and area, of each cell, from overlaps."""
    x_axis, y_axis = axes(grid)
    weights_x, columns = overlap_weights(relief, "x", np.linspace(*x_axis.edges, x_axis.n_cells + 1))
    weights_y, rows = overlap_weights(relief, "y", np.linspace(*y_axis.edges, y_axis.n_cells + 1))
    rows_per_band = max(1, int(MAX_VALUES / len(columns) / (y_axis.spacing / relief.y.max_spacing + 2)))
    for first in range(0, grid.ny, rows_per_band):
        weights = weights_y[first : first + rows_per_band]
        used = np.unique(weights.indices)
        depth, sea_fraction, height = relief.window(rows[used], columns)
        densities = depth * sea_fraction, sea_fraction, height * (1 - sea_fraction), np.ones_like(depth)
        yield tuple(weights[:, used] @ values @ weights_x.T for values in densities)


def overlap_weights(relief: AnyRelief, direction: str, cell_edges: np.ndarray):
    """The overlaps of grid cells with cells around the relief's points along "x" or "y", and the points' indices.

    The overlaps are a sparse matrix [cells, points]. Along latitudes they are differences of sines, which are
    proportional to areas on a sphere. `cell_edges`: ascending, in the unit of the relief. ReliefError: cells lie beyond
    the relief.
    """
    from scipy.sparse import coo_array

    axis = getattr(relief, direction)
    edges, point_numbers = axis.edges, np.arange(len(axis.points))
    if axis.name == "lat":
        edges = np.clip(edges, -90.0, 90.0)
    elif axis.name == "lon":
        edges = edges + full_circles_to(cell_edges[0], axis)  # so that the first edge is not east of the grid
        if axis.is_full_circle:
            edges = np.concatenate([edges[:-1], edges[:-1] + FULL_CIRCLE_DEGREES, edges[:1] + 2 * FULL_CIRCLE_DEGREES])
            point_numbers = np.tile(point_numbers, 2)
    tolerance = RELATIVE_TOLERANCE * axis.max_spacing
    outside = cell_edges[(cell_edges < edges[0] - tolerance) | (cell_edges > edges[-1] + tolerance)]
    if outside.size:
        raise_not_covered(relief, direction, outside[0])
    nearest = cell_edges[np.searchsorted(0.5 * (cell_edges[1:] + cell_edges[:-1]), edges)]
    edges = np.where(np.abs(edges - nearest) <= tolerance, nearest, edges)
    measure = (lambda at: np.sin(np.radians(at))) if axis.name == "lat" else np.asarray
    cuts = np.unique(np.concatenate([cell_edges, edges[(edges > cell_edges[0]) & (edges < cell_edges[-1])]]))
    middles = 0.5 * (cuts[1:] + cuts[:-1])
    cell = np.clip(np.searchsorted(cell_edges, middles, side="right") - 1, 0, len(cell_edges) - 2)
    point = np.clip(np.searchsorted(edges, middles, side="right") - 1, 0, len(point_numbers) - 1)
    used, column = np.unique(point, return_inverse=True)  # ascending, wherever the longitudes of a file begin
    shape = len(cell_edges) - 1, len(used)
    return coo_array((np.diff(measure(cuts)), (cell, column)), shape=shape).tocsr(), point_numbers[used]


def full_circles_to(position, axis: ReliefAxis):
    """The multiple of 360 degrees that moves the first edge of longitudes to at most one circle west of a position."""
    return FULL_CIRCLE_DEGREES * np.floor(
        (position - axis.edges[0]) / FULL_CIRCLE_DEGREES + RELATIVE_TOLERANCE * axis.max_spacing / FULL_CIRCLE_DEGREES
    )


def raise_not_covered(relief: AnyRelief, direction: str, position: float):
    """Raise ReliefError for a `position` along "x" or "y" that lies beyond the relief."""
    axis = getattr(relief, direction)
    ends = axis.edges[[0, -1]]
    if axis.name == "lon":
        ends = ends + FULL_CIRCLE_DEGREES * np.rint((position - ends.mean()) / FULL_CIRCLE_DEGREES)
    position, low, high = np.round([position, *ends], 9) + 0.0
    raise ReliefError(
        f"{relief.path} does not cover the region, which needs {axis.name} = {position:.10g} {axis.unit}; its "
        f"{axis.name} runs from {low:.10g} to {high:.10g} {axis.unit}"
    )


def integrate_samples(relief: AnyRelief, grid) -> Iterator[tuple[np.ndarray, ...]]:
    """Like `integrate_overlaps`, but from samples spread over each cell; areas are relative."""
    n_samples = samples_per_side(relief, grid)
    rows_per_band = max(1, MAX_VALUES // (grid.nx * n_samples[0] * n_samples[1]))
    for samples_shape, y, *positions in sample_points(relief, grid, n_samples, rows_per_band):
        depth, sea_fraction, height = interpolate(relief, *positions)
        width = np.cos(np.radians(y)) if is_spherical(grid) else np.ones_like(y)
        area = np.broadcast_to(width[:, None], sea_fraction.shape)
        densities = area * depth * sea_fraction, area * sea_fraction, area * height * (1 - sea_fraction), area
        yield tuple(density.reshape(samples_shape).sum(axis=(1, 3)) for density in densities)


def part_of_grid(grid, first: int, last: int):
    """Rows [first, last) of a grid, as a grid."""
    start, size = ("northing", "dy") if grid.crs else ("south", "dlat")
    position = getattr(grid, start) + int(first) * getattr(grid, size)
    return grid.model_copy(update={start: position, "ny": int(last - first)})


def samples_per_side(relief: AnyRelief, grid) -> list[int]:
    """The numbers of samples along x and along y in a grid cell."""
    sizes = zip(cell_sizes(relief, grid), (relief.x, relief.y), strict=True)
    return [
        max(MIN_SAMPLES_PER_SIDE, math.ceil(SAMPLES_PER_RELIEF_STEP * size / np.diff(axis.points).min()))
        for size, axis in sizes
    ]


def sample_points(relief: AnyRelief, grid, n_samples, rows_per_band: int) -> Iterator[tuple]:
    """For each band of rows: the shape [rows, ky, nx, kx] of the samples, with ky by kx samples per cell, their y along
    the grid's axis, and their positions along x and y of the relief, which broadcast to [y, x].
    """
    grid_axes, frame = axes(grid), frame_of(grid)
    x = grid_axes.x.edges[0] + (np.arange(grid.nx * n_samples[0]) + 0.5) * grid_axes.x.spacing / n_samples[0]
    for first in range(0, grid.ny, rows_per_band):
        n_rows = min(rows_per_band, grid.ny - first)
        numbers = first * n_samples[1] + np.arange(n_rows * n_samples[1])
        y = grid_axes.y.edges[0] + (numbers + 0.5) * grid_axes.y.spacing / n_samples[1]
        positions = x[None], y[:, None]
        if not are_same_frames(frame, relief.frame):
            positions = to_frame(relief.frame, *from_frame(frame, *positions))
        yield (n_rows, n_samples[1], grid.nx, n_samples[0]), y, *positions


def sample_sea(relief: AnyRelief, grid) -> np.ndarray:
    """Whether the relief's point nearest to each sample is sea or a strait, [ny, ky, nx, kx]."""
    max_samples = max(1, math.isqrt(MAX_VALUES // (grid.nx * grid.ny)))
    n_samples = [min(number, max_samples) for number in samples_per_side(relief, grid)]
    rows_per_cell = cell_sizes(relief, grid)[1] / relief.y.max_spacing
    rows_per_band = max(1, MAX_VALUES // int(len(relief.x.points) * (rows_per_cell + 2)))
    return np.concatenate(
        [
            at_nearest_points(relief.is_sea, relief, *positions).reshape(samples_shape)
            for samples_shape, _, *positions in sample_points(relief, grid, n_samples, rows_per_band)
        ]
    )


def at_nearest_points(read: Callable, relief: AnyRelief, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The values of `read(rows, columns)` at the relief's points nearest to positions x and y, which may broadcast."""
    brackets = bracket(relief, "y", y), bracket(relief, "x", x)
    j, i = (np.where(part < 0.5, low, high) for low, high, part in brackets)
    rows, columns = np.unique(j), np.unique(i)
    return read(rows, columns)[np.searchsorted(rows, j), np.searchsorted(columns, i)]


def interpolate(relief: AnyRelief, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Depth, m, sea fraction, and height of land, m, interpolated bilinearly to positions, which may broadcast."""
    i0, i1, fraction_x = bracket(relief, "x", x)
    j0, j1, fraction_y = bracket(relief, "y", y)
    rows, columns = np.arange(j0.min(), j1.max() + 1), np.unique([i0, i1])
    i0, i1 = np.searchsorted(columns, i0), np.searchsorted(columns, i1)
    corners = relief.window(rows, columns)
    return tuple(
        (1 - fraction_y) * ((1 - fraction_x) * values[j0 - rows[0], i0] + fraction_x * values[j0 - rows[0], i1])
        + fraction_y * ((1 - fraction_x) * values[j1 - rows[0], i0] + fraction_x * values[j1 - rows[0], i1])
        for values in corners
    )


def bracket(relief: AnyRelief, direction: str, positions: np.ndarray) -> tuple[np.ndarray, ...]:
    """Indices of the relief's points before and after each position, and the fraction of the way between them.

    The positions are along "x" or "y". ReliefError: one of them lies beyond the relief.
    """
    axis = getattr(relief, direction)
    points, edges, n_points = axis.points, axis.edges, len(axis.points)
    if axis.name == "lon":
        positions = positions - full_circles_to(positions, axis)
        is_beyond = positions > edges[-1] + RELATIVE_TOLERANCE * axis.max_spacing
        if axis.is_full_circle:
            points = np.concatenate([points[-1:] - FULL_CIRCLE_DEGREES, points, points[:1] + FULL_CIRCLE_DEGREES])
            is_beyond[...] = False
    elif axis.name == "lat":
        is_beyond = ((positions < edges[0]) | (positions > edges[-1])) & (np.abs(positions) < 90.0 - axis.max_spacing)
    else:
        tolerance = RELATIVE_TOLERANCE * axis.max_spacing
        is_beyond = ~((positions >= edges[0] - tolerance) & (positions <= edges[-1] + tolerance))
    if is_beyond.any():
        raise_not_covered(relief, direction, positions[is_beyond][0])
    first = np.clip(np.searchsorted(points, positions, side="right") - 1, 0, len(points) - 2)
    fraction = np.clip((positions - points[first]) / (points[first + 1] - points[first]), 0.0, 1.0)
    shift = 1 if len(points) > n_points else 0
    return (first - shift) % n_points, (first + 1 - shift) % n_points, fraction
