"""Crests of dikes, walls and ridges that are narrower than a cell: the height at which water passes the cell.

The mean height of a cell hides a dike in it. A cell has a crest if every path through it along x, or along y, from
sample to neighbouring sample of the relief, rises above both ends of the path. An oblique wall need not close a cell,
but it separates neighbouring cells: one of the two is raised to the lowest pass between the low grounds of both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from .average import MAX_VALUES, at_nearest_points, part_of_grid, sample_points, samples_per_side

if TYPE_CHECKING:
    from .mosaic import AnyRelief

#: Minimum height of a crest above the mean height of its cell, and above both ends of the path through it, m.
MIN_CREST_METRES = 0.5

#: The neighbours of a sample in a stack of windows [n, y, x]: samples of the same window that share a side with it.
SIDE_NEIGHBOURS = np.array([[[0, 0, 0]] * 3, [[0, 1, 0], [1, 1, 1], [0, 1, 0]], [[0, 0, 0]] * 3])


def crest_heights(relief: AnyRelief, grid, height: np.ndarray, wet: np.ndarray, floodable: np.ndarray) -> np.ndarray:
    """The height of the crest in each cell of low land, m [ny, nx]; NaN in cells without a crest.

    If a cell has a crest along x and another along y, the higher one counts. A crest between sea and land within a
    water cell is assigned to the neighbour on the landward side. Crests below sea level are left out. Afterwards the
    pass between neighbouring cells is lower than in the relief by at most MIN_CREST_METRES (`lowest_passes`).

    Args:
        height: mean height of the land of each cell, m.
        wet, floodable: whether each cell is water, and whether it is low land that may flood.
    """
    crest_height, n_samples, pair_passes = np.full(wet.shape, np.nan), samples_per_side(relief, grid), []
    rows_per_band = max(1, MAX_VALUES // (grid.nx * n_samples[0] * n_samples[1]))
    for first in range(0, grid.ny, rows_per_band):
        band_start, band_end = max(first - 2, 0), min(first + rows_per_band + 2, grid.ny)
        band = part_of_grid(grid, band_start, band_end)
        heights = np.concatenate(
            [nearest_heights(relief, *part) for part in sample_points(relief, band, n_samples, band_end - band_start)]
        )
        ground = np.where(wet, 0.0, height)[band_start:band_end]
        band_wet, band_floodable = wet[band_start:band_end], floodable[band_start:band_end]
        row_range = (first, min(first + rows_per_band, grid.ny))
        pair_passes.append(
            lowest_passes(heights, ground, band_wet, band_floodable, grid.periodic_x, band_start, row_range)
        )
        may_have_crest = (band_wet | band_floodable) & (heights.max(axis=(1, 3)) > ground + MIN_CREST_METRES)
        may_have_crest[: first - band_start], may_have_crest[row_range[1] - band_start :] = False, False
        for direction in ((0, 1), (1, 0)):
            for j, i, top, lowest_before, lowest_after in crests_along(
                heights, may_have_crest, direction, grid.periodic_x
            ):
                j = j + band_start
                shift = np.where(wet[j, i], np.where(lowest_before < 0, 1, -1), 0)
                is_shore = ~wet[j, i] | ((lowest_before < 0) != (lowest_after < 0))
                j, i = j + shift * direction[0], (i + shift * direction[1]) % grid.nx
                is_crest = is_shore & floodable[j, i] & (top > height[j, i] + MIN_CREST_METRES)
                np.fmax.at(crest_height, (j[is_crest], i[is_crest]), top[is_crest])
    return raise_to_passes(crest_height, np.where(wet, 0.0, height), floodable, np.concatenate(pair_passes))


def raise_to_passes(
    crest_height: np.ndarray, ground: np.ndarray, floodable: np.ndarray, pair_passes: np.ndarray
) -> np.ndarray:
    """Raise crests, m [ny, nx], to the `lowest_passes`, `pair_passes`.

    In a pair of floodable cells, the cell with the larger fraction of high samples is raised.
    """
    level = np.fmax(ground, crest_height)
    for one, other, top, fraction_of_one, fraction_of_other in pair_passes[
        np.argsort(-pair_passes[:, 2], kind="stable")
    ].tolist():
        pair = [(fraction_of_one, int(one)), (fraction_of_other, int(other))]
        if max(level.flat[cell] for _, cell in pair) < top - MIN_CREST_METRES:
            cell = max(candidate for candidate in pair if floodable.flat[candidate[1]])[1]
            level.flat[cell] = crest_height.flat[cell] = top
    return crest_height


def lowest_passes(
    heights, ground, wet, floodable, is_periodic: bool, first_row: int, row_range: tuple[int, int]
) -> np.ndarray:
    """Pairs of neighbouring cells, at least one of which is low land, with higher ground between their low grounds.

    The pass of a pair is the height of the lowest path from one low ground to the other, through these cells and those
    around them.

    Args:
        heights: heights of the samples in the cells, m [rows, ky, nx, kx].
        ground: mean heights of the cells, m [rows, nx], zero for water.
        wet, floodable: see `crest_heights`, [rows, nx].
        first_row: the number, in the grid, of the first row of these arrays.
        row_range: first row and one past the last row of the grid in which the first cells of the pairs lie.

    Returns:
        [n, 5]: flat indices of both cells, height of the pass, m, and the fraction of samples in each that reach the
        pass to within MIN_CREST_METRES.
    """
    (rows, ky, nx, kx), tables = heights.shape, [np.zeros((0, 5))]
    low_samples = low_ground_samples(heights, ground, wet)
    padded = np.pad(heights, ((2, 2), (0, 0), (0, 0), (0, 0)), constant_values=np.inf)
    padding = {"mode": "wrap"} if is_periodic else {"constant_values": np.inf}
    padded = np.pad(padded, ((0, 0), (0, 0), (2, 2), (0, 0)), **padding)
    highest, may_have_water = heights.max(axis=(1, 3)), wet | floodable
    for direction in ((0, 1), (1, 0)):
        j, i = (index.ravel() for index in np.indices((rows - direction[0], nx if is_periodic else nx - direction[1])))
        next_j, next_i = j + direction[0], (i + direction[1]) % nx
        cell, next_cell = (j, i), (next_j, next_i)
        threshold = np.maximum(ground[cell], ground[next_cell]) + MIN_CREST_METRES
        is_candidate = may_have_water[cell] & may_have_water[next_cell] & (floodable[cell] | floodable[next_cell])
        is_candidate &= np.maximum(highest[cell], highest[next_cell]) > threshold
        is_candidate &= first_row + j >= row_range[0]
        candidates = np.flatnonzero(is_candidate & (first_row + j < row_range[1]))
        pairs_per_batch = max(1, MAX_VALUES // (12 * ky * kx))
        for batch in np.split(candidates, range(pairs_per_batch, len(candidates), pairs_per_batch)):
            for margin in (0, 1):
                window = cell_windows(padded, j[batch], i[batch], direction, margin)
                ends = [
                    ((margin + dj) * ky + sample // kx) * window.shape[2] + (margin + di) * kx + sample % kx
                    for sample, dj, di in (
                        (low_samples[j[batch], i[batch]], 0, 0),
                        (low_samples[next_j[batch], next_i[batch]], *direction),
                    )
                ]
                is_separate = ~are_connected(window, ends, threshold[batch])
                batch, window, ends = batch[is_separate], window[is_separate], [end[is_separate] for end in ends]
            top = lowest_pass(window, ends)
            pair = (j[batch], i[batch]), (next_j[batch], next_i[batch])
            fractions = [(heights[y, :, x] >= top[:, None, None] - MIN_CREST_METRES).mean(axis=(1, 2)) for y, x in pair]
            tables.append(np.stack([*((first_row + y) * nx + x for y, x in pair), top, *fractions], axis=1))
    return np.concatenate(tables)


def low_ground_samples(heights: np.ndarray, ground: np.ndarray, wet: np.ndarray) -> np.ndarray:
    """The index, within each cell, of a sample in the largest connected low ground or, in `wet` cells, water."""
    from scipy import ndimage

    _, ky, _, kx = heights.shape
    cells = heights.transpose(0, 2, 1, 3).reshape(-1, ky, kx)
    max_height = np.where(wet, np.nextafter(0.0, -1.0), ground + MIN_CREST_METRES).ravel()
    labels, _ = ndimage.label(cells <= np.maximum(max_height, cells.min(axis=(1, 2)))[:, None, None], SIDE_NEIGHBOURS)
    sizes = np.bincount(labels.ravel())
    last_sample = np.zeros(len(sizes), np.int64)  # of each label
    last_sample[labels.ravel()] = np.arange(labels.size)
    labels_by_size = 1 + np.argsort(sizes[1:], kind="stable")
    samples = np.zeros(len(cells), np.int64)
    samples[last_sample[labels_by_size] // (ky * kx)] = last_sample[labels_by_size] % (ky * kx)
    return samples.reshape(wet.shape)


def cell_windows(
    padded: np.ndarray, j: np.ndarray, i: np.ndarray, direction: tuple[int, int], margin: int
) -> np.ndarray:
    """Heights [n, y, x], from `padded`, of cells, their next cells in a `direction`, and `margin` cells around both."""
    rows, columns = (np.arange(-margin, margin + 1 + step) + 2 for step in direction)
    heights = padded[(j[:, None] + rows)[:, :, None], :, (i[:, None] + columns)[:, None, :]].transpose(0, 1, 3, 2, 4)
    return heights.reshape(len(j), len(rows) * padded.shape[1], len(columns) * padded.shape[3])


def are_connected(window: np.ndarray, ends: list[np.ndarray], level: np.ndarray) -> np.ndarray:
    """Whether the samples `ends` of each window [n, y, x] are connected by samples no higher than `level`, m [n]."""
    from scipy import ndimage

    labels = ndimage.label(window <= level[:, None, None], SIDE_NEIGHBOURS)[0].reshape(len(window), window[:1].size)
    one, other = (np.take_along_axis(labels, end[:, None], axis=1)[:, 0] for end in ends)
    return (one > 0) & (one == other)


def lowest_pass(window: np.ndarray, ends: list[np.ndarray]) -> np.ndarray:
    """The height, m [n], of the lowest path between the samples `ends` of each window [n, y, x]."""
    levels = np.sort(window.reshape(len(window), window[:1].size), axis=1)
    low, high = np.zeros(len(window), int), np.full(len(window), levels.shape[1] - 1)
    while (low < high).any():
        middle = (low + high) // 2
        is_connected = are_connected(window, ends, levels[np.arange(len(window)), middle])
        low, high = np.where(is_connected, low, middle + 1), np.where(is_connected, middle, high)
        low = np.minimum(low, high)
    return levels[np.arange(len(window)), low]


def nearest_heights(relief: AnyRelief, shape, y_along_grid, x, y) -> np.ndarray:
    """The height, m [rows, ky, nx, kx], of the relief's point nearest to each sample; the sea floor is below zero."""

    def read_heights(rows, columns):
        depth, sea, height = relief.window(rows, columns)
        return np.where(sea >= 0.5, -depth, height)

    return at_nearest_points(read_heights, relief, x, y).reshape(shape)


def crests_along(
    heights: np.ndarray, is_candidate: np.ndarray, direction: tuple[int, int], is_periodic: bool
) -> Iterator[tuple]:
    """Find the crests along a `direction` (rows, columns) in cells where `is_candidate` [rows, nx] is true.

    Yields rows, columns, heights of the crests, and the lowest heights before and after them, m. The height of a crest
    is that of the lowest path from the middle of one neighbour to the middle of the other. A crest counts if this path
    is highest in the cell, and higher there than at both ends.
    """
    _, ky, nx, kx = heights.shape
    if direction[0]:
        is_candidate = np.pad(is_candidate[1:-1], ((1, 1), (0, 0)))[: len(is_candidate)]
    elif not is_periodic:
        is_candidate = np.pad(is_candidate[:, 1:-1], ((0, 0), (1, 1)))[:, :nx]
    j, i = np.nonzero(is_candidate)
    cells_per_batch = max(1, MAX_VALUES // (4 * ky * kx))
    for first in range(0, len(j), cells_per_batch):
        rows, columns = j[first : first + cells_per_batch], i[first : first + cells_per_batch]
        parts = [
            heights[rows + offset * direction[0], :, (columns + offset * direction[1]) % nx] for offset in (-1, 0, 1)
        ]
        before, middle, after = parts if direction[1] else (part.transpose(0, 2, 1) for part in parts)
        half = middle.shape[2] // 2
        before, after = before[..., -half:], after[..., :half]
        end_heights = np.stack([before.min(axis=(1, 2)), after.min(axis=(1, 2))])
        strip = np.concatenate([before, middle, after], axis=2)
        threshold = np.maximum(end_heights.max(axis=0), 0.0) + MIN_CREST_METRES
        blocked_cells = np.flatnonzero(~are_connected(*with_open_ends(strip), threshold))
        top = lowest_crossing(strip[blocked_cells])
        is_inside = ~are_connected(*with_open_ends(middle[blocked_cells]), top - MIN_CREST_METRES)
        crest = blocked_cells[is_inside]
        yield rows[crest], columns[crest], top[is_inside], *end_heights[:, crest]


def with_open_ends(heights: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Windows [n, y, x] with one more column of height -inf at each end, and the index of a sample in each column."""
    wider = np.pad(heights, ((0, 0), (0, 0), (1, 1)), constant_values=-np.inf)
    return wider, [np.full(len(heights), index) for index in (0, wider.shape[2] - 1)]


def lowest_crossing(heights: np.ndarray) -> np.ndarray:
    """The height, m [n], of the lowest path from the first to the last column of each window [n, y, x]."""
    return lowest_pass(*with_open_ends(heights))
