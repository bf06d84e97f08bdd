"""Land and sea of a grid: seas that are cut off from the largest, and bays of one cell, become land."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Closed(NamedTuple):
    """Water that became land.

    Attributes:
        what: lake or bay.
        cells: how many.
        row, column: of one of them.
    """

    what: str
    cells: int
    row: int
    column: int


def close(wet: np.ndarray, ring: bool, keep=()) -> tuple[np.ndarray, list[Closed]]:
    """The mask without lakes and bays, and what became land, the largest first.

    Water is one sea where cells share a side. A bay is a cell with water on one side only; where it ends a narrow
    inlet, the next cell of that becomes one, and so on.

    Args:
        wet: whether cells are water, [ny, nx].
        ring: whether the last column is a neighbour of the first.
        keep: (row, column) of cells whose seas stay although they are not the largest.
    """
    seas = label(wet, ring)
    sizes = np.bincount(seas.ravel())
    sizes[0] = 0
    stays = {int(sizes.argmax()), *(int(seas[at]) for at in keep)} - {0}
    lakes = [Closed("lake", int(sizes[n]), *map(int, np.argwhere(seas == n)[0]))
             for n in np.flatnonzero(sizes) if n not in stays]  # fmt: skip
    open_sea = without_bays(np.isin(seas, list(stays)), ring)
    bays = label(np.isin(seas, list(stays)) & ~open_sea, ring)
    found = np.bincount(bays.ravel())
    closed = lakes + [Closed("bay", int(found[n]), *map(int, np.argwhere(bays == n)[0])) for n in range(1, len(found))]
    return open_sea, sorted(closed, key=lambda one: (one.what != "lake", -one.cells))


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
    """The mask without cells that have water on one side, or none, again and again; beyond its edges water goes on."""
    while True:
        around = np.pad(wet, ((1, 1), (0, 0)), mode="edge")
        around = np.pad(around, ((0, 0), (1, 1)), mode="wrap" if ring else "edge").astype(int)
        sides = around[2:, 1:-1] + around[:-2, 1:-1] + around[1:-1, 2:] + around[1:-1, :-2]
        fewer = wet & (sides > 1)
        if (fewer == wet).all():
            return wet
        wet = fewer


def smooth(depth: np.ndarray, wet: np.ndarray, ring: bool, times: int) -> np.ndarray:
    """Depths with weights 1, 2, 1 along x and along y, applied `times` times; land has no weight."""
    for _ in range(times):
        for axis in (0, 1):
            depth = smoothed(depth, wet, ring and axis == 1, axis)
    return depth


def smoothed(depth: np.ndarray, wet: np.ndarray, ring: bool, axis: int) -> np.ndarray:
    """Depths with weights 1, 2, 1 along an axis."""
    pad = [(1, 1) if n == axis else (0, 0) for n in range(2)]
    values, weight = (np.pad(each, pad, mode="wrap" if ring else "constant") for each in (depth * wet, wet * 1.0))
    total, parts = (
        np.take(each, range(0, each.shape[axis] - 2), axis)
        + 2 * np.take(each, range(1, each.shape[axis] - 1), axis)
        + np.take(each, range(2, each.shape[axis]), axis)
        for each in (values, weight)
    )
    return np.where(wet, total / np.where(parts > 0, parts, 1.0), depth)
