"""Depth, share of sea and height of land of the cells of a grid: means of a relief over their area.

On longitudes and latitudes each value of the relief belongs to the cell that reaches half way to its neighbours. Its
weight is the exact area on the sphere of the overlap with a cell of the grid. Cells on a turned grid, or smaller than
the steps of the relief, use the mean over places in them, with bilinear interpolation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ...ocean.coordinates import CIRCLE, axes, turned
from ...ocean.rotated import to_earth
from .source import Line, Relief, ReliefError

#: Most values of the relief, or places in cells of the grid, in memory at a time.
MOST = 2**24

#: Number of places along a side of a cell: at least, and for each step of the relief in it.
FEWEST, EACH = 3, 2

#: Largest relative difference of equal numbers.
SAME = 1e-6


def averages(relief: Relief, grid) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean depth of the sea in each cell, share of sea, mean height of its land [ny, nx], m, float64; zero for none."""
    parts = sampled if turned(grid) or is_coarse(relief, grid) else overlapping
    volume, sea, above, whole = (np.concatenate(each) for each in zip(*parts(relief, grid), strict=True))
    land = whole - sea
    height = np.divide(above, land, out=np.zeros_like(sea), where=land > SAME * whole)
    return np.divide(volume, sea, out=np.zeros_like(sea), where=sea > 0), sea / whole, height


def is_coarse(relief: Relief, grid) -> bool:
    """Whether the steps of the relief are longer than the cells of the grid."""
    x, y = axes(grid)
    return x.spacing < (1 - SAME) * relief.x.step or y.spacing < (1 - SAME) * relief.y.step


def overlapping(relief: Relief, grid) -> Iterator[tuple[np.ndarray, ...]]:
    """For each band of rows, volume and area of the sea, volume of the land and the whole area of each cell."""
    along_x, along_y = axes(grid)
    of_x, columns = overlaps(relief, "lon", np.linspace(*along_x.edges, along_x.cells + 1))
    of_y, rows = overlaps(relief, "lat", np.linspace(*along_y.edges, along_y.cells + 1))
    each = max(1, int(MOST / len(columns) / (along_y.spacing / relief.y.step + 2)))
    for first in range(0, grid.ny, each):
        weights = of_y[first : first + each]
        used = np.unique(weights.indices)
        depth, sea, height = relief.window(rows[used], columns)
        parts = depth * sea, sea, height * (1 - sea), np.ones_like(depth)
        yield tuple(weights[:, used] @ values @ of_x.T for values in parts)


def overlaps(relief: Relief, name: str, wanted: np.ndarray):
    """The overlaps of cells with those of the relief's points along "lon" or "lat", and the points' numbers.

    A sparse matrix [cells, points]; along latitudes with differences of sines, which are proportional to areas on a
    sphere. `wanted`: edges of the cells, degrees, rising. ReliefError: cells lie beyond the relief.
    """
    from scipy.sparse import coo_array

    line = relief.x if name == "lon" else relief.y
    edges, numbers = line.edges, np.arange(len(line.points))
    if name == "lat":
        edges = np.clip(edges, -90.0, 90.0)
    else:
        edges = edges + turns_to(wanted[0], line)  # the first one before the grid
        if line.closed:
            edges = np.concatenate([edges[:-1], edges[:-1] + CIRCLE, edges[:1] + 2 * CIRCLE])
            numbers = np.tile(numbers, 2)
    slack = SAME * line.step
    outside = wanted[(wanted < edges[0] - slack) | (wanted > edges[-1] + slack)]
    if outside.size:
        refuse(relief, name, outside[0])
    nearest = wanted[np.searchsorted(0.5 * (wanted[1:] + wanted[:-1]), edges)]
    edges = np.where(np.abs(edges - nearest) <= slack, nearest, edges)
    measure = (lambda at: np.sin(np.radians(at))) if name == "lat" else np.asarray
    cuts = np.unique(np.concatenate([wanted, edges[(edges > wanted[0]) & (edges < wanted[-1])]]))
    middles = 0.5 * (cuts[1:] + cuts[:-1])
    cell = np.clip(np.searchsorted(wanted, middles, side="right") - 1, 0, len(wanted) - 2)
    point = numbers[np.clip(np.searchsorted(edges, middles, side="right") - 1, 0, len(numbers) - 1)]
    used, place = np.unique(point, return_inverse=True)
    shape = len(wanted) - 1, len(used)
    return coo_array((np.diff(measure(cuts)), (cell, place)), shape=shape).tocsr(), used


def turns_to(position, line: Line):
    """The full circles from the first edge of longitudes to the last one at or before a position, degrees."""
    return CIRCLE * np.floor((position - line.edges[0]) / CIRCLE + SAME * line.step / CIRCLE)


def refuse(relief: Relief, name: str, position: float):
    """Raise ReliefError for a position beyond the relief."""
    line = relief.x if name == "lon" else relief.y
    near = CIRCLE * np.rint((position - line.edges[[0, -1]].mean()) / CIRCLE) if name == "lon" else 0.0
    position, low, high = np.round([position, *(line.edges[[0, -1]] + near)], 9) + 0.0
    raise ReliefError(
        f"{relief.path} does not cover the region, which needs {name} = {position:.10g} degrees; its {name} runs "
        f"from {low:.10g} to {high:.10g} degrees"
    )


def sampled(relief: Relief, grid) -> Iterator[tuple[np.ndarray, ...]]:
    """As `overlapping`, by places spread over the cells."""
    count = places_along(relief, grid)
    for cells, y, lon, lat in places(grid, count, max(1, MOST // (grid.nx * count[0] * count[1]))):
        depth, sea, height = at_places(relief, lon, lat)
        area = np.broadcast_to(np.cos(np.radians(y))[:, None], sea.shape)
        parts = area * depth * sea, area * sea, area * height * (1 - sea), area
        yield tuple(each.reshape(cells).sum(axis=(1, 3)) for each in parts)


def places_along(relief: Relief, grid) -> list[int]:
    """The number of places along x and y in a cell."""
    pairs = zip(axes(grid), (relief.x, relief.y), strict=True)
    return [max(FEWEST, math.ceil(EACH * axis.spacing / np.diff(line.points).min())) for axis, line in pairs]


def places(grid, count, rows: int) -> Iterator[tuple]:
    """Bands of `rows`: shape [rows, ky, nx, kx], y of the places, their longitudes and latitudes [y, x], degrees."""
    along = axes(grid)
    x = along.x.edges[0] + (np.arange(grid.nx * count[0]) + 0.5) * along.x.spacing / count[0]
    for first in range(0, grid.ny, rows):
        here = min(rows, grid.ny - first)
        y = along.y.edges[0] + (first * count[1] + np.arange(here * count[1]) + 0.5) * along.y.spacing / count[1]
        lon, lat = to_earth(grid.pole, x, y[:, None]) if turned(grid) else np.broadcast_arrays(x, y[:, None])
        yield (here, count[1], grid.nx, count[0]), y, lon, lat


def sea_places(relief: Relief, grid) -> np.ndarray:
    """Whether the relief's point nearest to each place in the cells is sea, [ny, ky, nx, kx]."""
    most = max(1, math.isqrt(MOST // (grid.nx * grid.ny)))
    count = [min(number, most) for number in places_along(relief, grid)]
    rows = max(1, MOST // int(len(relief.x.points) * (axes(grid).y.spacing / relief.y.step + 2)))
    return np.concatenate([is_sea(relief, lon, lat).reshape(cells) for cells, _, lon, lat in places(grid, count, rows)])


def is_sea(relief: Relief, lon: np.ndarray, lat: np.ndarray) -> np.ndarray:
    """Whether the nearest points of the relief to true longitudes and latitudes [y, x] are sea, by half or more."""
    found = between(relief, "lat", lat), between(relief, "lon", lon)
    j, i = (np.where(part < 0.5, low, high) for low, high, part in found)
    rows, columns = np.unique(j), np.unique(i)
    return relief.is_sea(rows, columns)[np.searchsorted(rows, j), np.searchsorted(columns, i)]


def at_places(relief: Relief, lon: np.ndarray, lat: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Depth, share of sea and height of land at true longitudes and latitudes [y, x], interpolated bilinearly."""
    i0, i1, part_x = between(relief, "lon", lon)
    j0, j1, part_y = between(relief, "lat", lat)
    rows, columns = np.arange(j0.min(), j1.max() + 1), np.unique([i0, i1])
    i0, i1 = np.searchsorted(columns, i0), np.searchsorted(columns, i1)
    corners = relief.window(rows, columns)
    return tuple(
        (1 - part_y) * ((1 - part_x) * values[j0 - rows[0], i0] + part_x * values[j0 - rows[0], i1])
        + part_y * ((1 - part_x) * values[j1 - rows[0], i0] + part_x * values[j1 - rows[0], i1])
        for values in corners
    )


def between(relief: Relief, name: str, wanted: np.ndarray) -> tuple[np.ndarray, ...]:
    """The numbers of the relief's points on both sides of positions, and the fraction of the step after the first."""
    line = relief.x if name == "lon" else relief.y
    points, edges, count = line.points, line.edges, len(line.points)
    if name == "lon":
        wanted = wanted - turns_to(wanted, line)
        beyond = wanted > edges[-1] + SAME * line.step
        if line.closed:
            points = np.concatenate([points[-1:] - CIRCLE, points, points[:1] + CIRCLE])
            beyond[...] = False
    else:
        beyond = ((wanted < edges[0]) | (wanted > edges[-1])) & (np.abs(wanted) < 90.0 - line.step)
    if beyond.any():
        refuse(relief, name, wanted[beyond][0])
    first = np.clip(np.searchsorted(points, wanted, side="right") - 1, 0, len(points) - 2)
    part = np.clip((wanted - points[first]) / (points[first + 1] - points[first]), 0.0, 1.0)
    shift = 1 if len(points) > count else 0
    return (first - shift) % count, (first + 1 - shift) % count, part
