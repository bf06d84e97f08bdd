"""Land and sea of a grid: small cut-off seas and bays of one cell become land; low land by the sea may flood."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

#: A sea with more cells than this fraction of the largest is kept, too.
ALSO = 0.5


class Changed(NamedTuple):
    """A change between water and land: its kind (isthmus, ...), number of cells, and one cell."""

    what: str
    cells: int
    row: int
    column: int


def close(wet: np.ndarray, ring: bool, keep=()) -> tuple[np.ndarray, list[Changed]]:
    """The mask without bays and seas that are cut off from the largest, and the changes.

    Both seas of a region with two large ones are kept, as in Central America, and so are seas of the cells `keep`. A
    bay is a cell with water on one side only; narrow inlets are closed bay by bay. `ring`: whether the last column is a
    neighbour of the first.
    """
    seas = label(wet, ring)
    sizes = np.bincount(seas.ravel())
    sizes[0] = 0
    stays = {*np.flatnonzero(sizes > ALSO * sizes.max()), *(seas[at] for at in keep)} - {0}
    stay = np.isin(seas, list(stays))
    open_sea = without_bays(stay, ring)
    return open_sea, [*parts(wet & ~stay, ring, "cut-off sea"), *parts(stay & ~open_sea, ring, "bay")]


def parts(changed: np.ndarray, ring: bool, what: str) -> list[Changed]:
    """The connected parts of a mask, the largest first."""
    numbers = label(changed, ring)
    part, first, cells = np.unique(numbers, return_index=True, return_counts=True)
    rows, columns = np.unravel_index(first, numbers.shape)
    found = zip(cells[part > 0].tolist(), rows[part > 0].tolist(), columns[part > 0].tolist(), strict=True)
    return sorted((Changed(what, *one) for one in found), key=lambda one: -one.cells)


def label(wet: np.ndarray, ring: bool) -> np.ndarray:
    """Numbers of connected parts, from 1 on, zero on land [ny, nx]."""
    from scipy import ndimage
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    parts, count = ndimage.label(wet)
    if not ring:
        return parts
    joined = parts[:, [0, -1]][(parts[:, 0] > 0) & (parts[:, -1] > 0)]
    pairs = coo_array((np.ones(len(joined)), (joined[:, 0], joined[:, 1])), shape=(count + 1, count + 1))
    return connected_components(pairs, directed=False)[1][parts]


def without_bays(wet: np.ndarray, ring: bool) -> np.ndarray:
    """The mask without cells that have water on at most one side, repeatedly; beyond its edges is water."""
    from scipy.ndimage import convolve1d

    while True:
        sides = convolve1d(wet.astype(int), [1, 0, 1], 0, mode="nearest")
        sides += convolve1d(wet.astype(int), [1, 0, 1], 1, mode="wrap" if ring else "nearest")
        fewer = wet & (sides > 1)
        if (fewer == wet).all():
            return wet
        wet = fewer


def low_land(wet: np.ndarray, height: np.ndarray, most: float, ring: bool) -> np.ndarray:
    """Cells of land at most so high, m, that are connected with water through such cells."""
    low = ~wet & (height <= most)
    parts = label(wet | low, ring)
    return low & np.isin(parts, parts[wet])


def smooth(depth: np.ndarray, wet: np.ndarray, ring: bool, times: int) -> np.ndarray:
    """Depths with weights 1, 2, 1 along x and along y, applied `times` times; cells not `wet` have no weight."""

    def weighted(field, axis):
        mode = "wrap" if ring and axis == 1 else "constant"
        lines = np.pad(np.moveaxis(field, axis, 0), ((1, 1), (0, 0)), mode=mode)
        return np.moveaxis(lines[:-2] + 2 * lines[1:-1] + lines[2:], 0, axis)

    for _ in range(times):
        for axis in (0, 1):
            total, weight = weighted(depth * wet, axis), weighted(wet * 1.0, axis)
            depth = np.where(wet, total / np.where(weight > 0, weight, 1.0), depth)
    return depth
