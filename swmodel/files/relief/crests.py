"""Crests of dikes, walls and narrow ridges: the height at which water passes a cell that is wider than they are.

The mean height of a cell hides what stops water in it. A cell has a crest if every path through it along x, or along y,
through places of the relief that share sides, rises above both of its ends.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .average import MOST, between, places, places_along
from .source import Relief

#: Least height of a crest above the mean height of its cell, and above both ends of the way through it, m.
HIGH = 0.5


def crests(relief: Relief, grid, height: np.ndarray, wet: np.ndarray, low: np.ndarray) -> np.ndarray:
    """The height of the crest in each cell of low land, m [ny, nx]; NaN in cells without one.

    Of both directions the larger height counts. The crest between the sea and the land in a cell of water is that of
    its neighbour on the side of the land. Crests below sea level are left out.

    Args:
        height: mean height of the land of each cell, m.
        wet, low: the cells of water, and those of low land that water may flood.
    """
    found, count = np.full(wet.shape, np.nan), places_along(relief, grid)
    each = max(1, MOST // (grid.nx * count[0] * count[1]))
    for first in range(0, grid.ny, each):
        begin, end = max(first - 1, 0), min(first + each + 1, grid.ny)
        band = grid.model_copy(update={"south": grid.south + begin * grid.dlat, "ny": end - begin})
        heights = np.concatenate([heights_of(relief, *part) for part in places(band, count, end - begin)])
        ground = np.where(wet, 0.0, height)[begin:end]
        chosen = (wet | low)[begin:end] & (heights.max(axis=(1, 3)) > ground + HIGH)
        for row, column in np.argwhere(chosen):
            if not first <= begin + row < first + each:
                continue
            for top, before, after, step in passes(heights, row, column, grid.periodic_x):
                j, i = begin + row, column
                if wet[j, i]:
                    if (before < 0) == (after < 0):
                        continue
                    ahead = 1 if before < 0 else -1
                    j, i = j + ahead * step[0], (i + ahead * step[1]) % grid.nx
                if low[j, i] and top > height[j, i] + HIGH:
                    found[j, i] = np.fmax(found[j, i], top)
    return found


def heights_of(relief: Relief, cells, y, lon, lat) -> np.ndarray:
    """The height of the point of the relief nearest to each place, m, below zero at sea, [rows, ky, nx, kx]."""
    (j0, j1, part_y), (i0, i1, part_x) = between(relief, "lat", lat), between(relief, "lon", lon)
    j, i = np.where(part_y < 0.5, j0, j1), np.where(part_x < 0.5, i0, i1)
    rows, columns = np.unique(j), np.unique(i)
    depth, sea, height = relief.window(rows, columns)
    z = np.where(sea >= 0.5, -depth, height)
    return z[np.searchsorted(rows, j), np.searchsorted(columns, i)].reshape(cells)


def passes(heights: np.ndarray, row: int, column: int, ring: bool) -> Iterator[tuple]:
    """The crests of a cell along x and along y, between the middles of its neighbours.

    Height of the crest, lowest heights before and after it, m, and the step (rows, columns) from before to after.
    """
    ny, ky, nx, kx = heights.shape
    own, (half_y, half_x) = heights[row, :, column], (ky // 2, kx // 2)
    west, east = ((column + step) % nx if ring else column + step for step in (-1, 1))
    if 0 <= west < nx and 0 <= east < nx:
        yield from crest_between(heights[row, :, west, kx - half_x :], own, heights[row, :, east, :half_x], (0, 1))
    if 0 < row < ny - 1:
        before, after = heights[row - 1, ky - half_y :, column], heights[row + 1, :half_y, column]
        yield from crest_between(before.T, own.T, after.T, (1, 0))


def crest_between(before: np.ndarray, own: np.ndarray, after: np.ndarray, step: tuple[int, int]) -> Iterator[tuple]:
    """See `passes`: the least height of a path along the last axis, if it lies in `own` and above both ends."""
    height, ends = least_height(np.concatenate([before, own, after], axis=1)), (before.min(), after.min())
    if height > max(0.0, *ends) + HIGH and least_height(own) > height - HIGH:
        yield height, *ends, step


def least_height(heights: np.ndarray) -> float:
    """The least height over which a path leads from the first to the last column, m; steps go to places beside."""
    from scipy import ndimage

    levels = np.unique(heights)
    low, high = 0, len(levels) - 1
    while low < high:
        middle = (low + high) // 2
        parts, _ = ndimage.label(heights <= levels[middle])
        first, last = parts[:, 0], parts[:, -1]
        if np.isin(first[first > 0], last).any():
            high = middle
        else:
            low = middle + 1
    return float(levels[low])
