"""Land and sea of a grid: small cut-off seas and narrow bays become land; low land by the sea may flood."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

#: A sea is kept if it has more cells than this fraction of the largest sea.
MIN_RELATIVE_SEA_SIZE = 0.5


class MaskChange(NamedTuple):
    """A change between water and land, or a crest: kind (isthmus, ...), number of cells, row and column of one cell."""

    kind: str
    n_cells: int
    row: int
    column: int


def close_seas_and_bays(wet: np.ndarray, is_periodic: bool, cells_to_keep=()) -> tuple[np.ndarray, list[MaskChange]]:
    """The mask without bays and without small seas that are cut off from the largest, and the changes.

    If a region has two large seas, as around Central America, both are kept. Seas that contain `cells_to_keep` are also
    kept. A bay is a cell with water on at most one side; narrow inlets are closed cell by cell. `is_periodic`: whether
    the last column is a neighbour of the first.
    """
    seas = label_connected(wet, is_periodic)
    sizes = np.bincount(seas.ravel())
    sizes[0] = 0
    labels_to_keep = {
        *np.flatnonzero(sizes > MIN_RELATIVE_SEA_SIZE * sizes.max()),
        *(seas[cell] for cell in cells_to_keep),
    } - {0}
    without_small_seas = np.isin(seas, list(labels_to_keep))
    without_bays = remove_bays(without_small_seas, is_periodic)
    return without_bays, [
        *list_changes(wet & ~without_small_seas, is_periodic, "cut-off sea"),
        *list_changes(without_small_seas & ~without_bays, is_periodic, "bay"),
    ]


def list_changes(mask: np.ndarray, is_periodic: bool, kind: str) -> list[MaskChange]:
    """The connected parts of a mask as changes of one `kind`, the largest first."""
    labels = label_connected(mask, is_periodic)
    part, first_cell, n_cells = np.unique(labels, return_index=True, return_counts=True)
    rows, columns = np.unravel_index(first_cell, labels.shape)
    parts = zip(n_cells[part > 0].tolist(), rows[part > 0].tolist(), columns[part > 0].tolist(), strict=True)
    return sorted((MaskChange(kind, *values) for values in parts), key=lambda change: -change.n_cells)


def label_connected(wet: np.ndarray, is_periodic: bool) -> np.ndarray:
    """The number of the connected part that each water cell belongs to, from 1 on; 0 on land, [ny, nx]."""
    from scipy import ndimage
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    labels, n_labels = ndimage.label(wet)
    if not is_periodic:
        return labels
    across_edge = labels[:, [0, -1]][(labels[:, 0] > 0) & (labels[:, -1] > 0)]
    pairs = coo_array(
        (np.ones(len(across_edge)), (across_edge[:, 0], across_edge[:, 1])), shape=(n_labels + 1, n_labels + 1)
    )
    return connected_components(pairs, directed=False)[1][labels]


def remove_bays(wet: np.ndarray, is_periodic: bool) -> np.ndarray:
    """The mask after repeated removal of cells with water on at most one side.

    Beyond an edge that is not periodic, a cell has a neighbour like itself.
    """
    from scipy.ndimage import convolve1d

    while True:
        n_water_sides = convolve1d(wet.astype(int), [1, 0, 1], 0, mode="nearest")
        n_water_sides += convolve1d(wet.astype(int), [1, 0, 1], 1, mode="wrap" if is_periodic else "nearest")
        remaining = wet & (n_water_sides > 1)
        if (remaining == wet).all():
            return wet
        wet = remaining


def floodable_land(wet: np.ndarray, height: np.ndarray, max_height: float, is_periodic: bool) -> np.ndarray:
    """The land cells no higher than `max_height`, m, that are connected to water through such cells."""
    is_low = ~wet & (height <= max_height)
    labels = label_connected(wet | is_low, is_periodic)
    return is_low & np.isin(labels, labels[wet])


def smooth_depth(depth: np.ndarray, wet: np.ndarray, is_periodic: bool, n_passes: int) -> np.ndarray:
    """Depths smoothed `n_passes` times with weights 1, 2, 1 along x and y, using only cells that are `wet`."""

    def weighted_sum(field, axis):
        mode: Literal["wrap", "constant"] = "wrap" if is_periodic and axis == 1 else "constant"
        padded = np.pad(np.moveaxis(field, axis, 0), ((1, 1), (0, 0)), mode=mode)
        return np.moveaxis(padded[:-2] + 2 * padded[1:-1] + padded[2:], 0, axis)

    for _ in range(n_passes):
        for axis in (0, 1):
            total, weight = weighted_sum(depth * wet, axis), weighted_sum(wet * 1.0, axis)
            depth = np.where(wet, total / np.where(weight > 0, weight, 1.0), depth)
    return depth
