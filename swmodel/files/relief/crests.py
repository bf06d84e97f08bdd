"""Crests of dikes, walls and narrow ridges: the height at which water passes a cell that is wider than they are.

The mean height of a cell hides what stops water in it. A cell has a crest if every path through it along x, or along y,
through places of the relief that share sides, rises above both of its ends. Oblique walls, which need not close a cell,
part neighbouring cells: one of both is raised to the lowest pass between the low grounds of both.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .average import MOST, between, places, places_along
from .source import Relief

#: Least height of a crest above the mean height of its cell, and above both ends of the way through it, m.
HIGH = 0.5

#: The neighbours of a place in a stack of windows [n, y, x]: those that share sides.
SIDES = np.array([[[0, 0, 0]] * 3, [[0, 1, 0], [1, 1, 1], [0, 1, 0]], [[0, 0, 0]] * 3])


def crests(relief: Relief, grid, height: np.ndarray, wet: np.ndarray, low: np.ndarray) -> np.ndarray:
    """The height of the crest in each cell of low land, m [ny, nx]; NaN in cells without one.

    Of both directions the larger height counts. The crest between the sea and the land in a cell of water is that of
    its neighbour on the side of the land. Crests below sea level are left out. After this no way from cell to cell is
    lower than in the relief by more than HIGH (`lowest_passes`).

    Args:
        height: mean height of the land of each cell, m.
        wet, low: the cells of water, and those of low land that water may flood.
    """
    found, count, faces = np.full(wet.shape, np.nan), places_along(relief, grid), []
    each = max(1, MOST // (grid.nx * count[0] * count[1]))
    for first in range(0, grid.ny, each):
        begin, end = max(first - 2, 0), min(first + each + 2, grid.ny)
        band = grid.model_copy(update={"south": grid.south + begin * grid.dlat, "ny": end - begin})
        heights = np.concatenate([heights_of(relief, *part) for part in places(band, count, end - begin)])
        ground = np.where(wet, 0.0, height)[begin:end]
        own = (first, min(first + each, grid.ny))
        faces.append(lowest_passes(heights, ground, wet[begin:end], low[begin:end], grid.periodic_x, begin, own))
        chosen = (wet | low)[begin:end] & (heights.max(axis=(1, 3)) > ground + HIGH)
        chosen[: first - begin], chosen[own[1] - begin :] = False, False
        for step in ((0, 1), (1, 0)):
            for j, i, top, before, after in passes(heights, chosen, step, grid.periodic_x):
                j = j + begin
                ahead = np.where(wet[j, i], np.where(before < 0, 1, -1), 0)
                shore = ~wet[j, i] | ((before < 0) != (after < 0))
                j, i = j + ahead * step[0], (i + ahead * step[1]) % grid.nx
                kept = shore & low[j, i] & (top > height[j, i] + HIGH)
                np.fmax.at(found, (j[kept], i[kept]), top[kept])
    return raised(found, np.where(wet, 0.0, height), low, np.concatenate(faces))


def raised(found: np.ndarray, ground: np.ndarray, low: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Crests, m [ny, nx], that also keep the `lowest_passes` in `faces`: of two cells of low land the walled one."""
    level = np.fmax(ground, found)
    for one, other, top, share, of_other in faces[np.argsort(-faces[:, 2], kind="stable")].tolist():
        pair = [(share, int(one)), (of_other, int(other))]
        if max(level.flat[cell] for _, cell in pair) < top - HIGH:
            cell = max(each for each in pair if low.flat[each[1]])[1]
            level.flat[cell] = found.flat[cell] = top
    return found


def lowest_passes(heights, ground, wet, low, ring: bool, begin: int, own: tuple[int, int]) -> np.ndarray:
    """Pairs of neighbouring cells, one of them low land, whose low grounds lie on two sides of something higher.

    The pass is the least height of a path between both grounds in these cells and those around them.

    Args:
        heights: of the places in the cells, m [rows, ky, nx, kx].
        ground: of the cells, m [rows, nx], zero for water.
        begin: the row of the grid that is the first one of these arrays.
        own: the first row of the grid, and the one after the last, whose pairs with the next rows are wanted.

    Returns:
        [n, 5]: both cells as numbers in the flat grid, height of the pass, m, share of places that high in each.
    """
    (rows, ky, nx, kx), start, found = heights.shape, grounds(heights, ground, wet), [np.zeros((0, 5))]
    padded = np.pad(heights, ((2, 2), (0, 0), (0, 0), (0, 0)), constant_values=np.inf)
    outer = {"mode": "wrap"} if ring else {"constant_values": np.inf}
    padded = np.pad(padded, ((0, 0), (0, 0), (2, 2), (0, 0)), **outer)
    highest, there = heights.max(axis=(1, 3)), wet | low
    for step in ((0, 1), (1, 0)):
        j, i = (each.ravel() for each in np.indices((rows - step[0], nx if ring else nx - step[1])))
        north, east = j + step[0], (i + step[1]) % nx
        least = np.maximum(ground[j, i], ground[north, east]) + HIGH
        chosen = there[j, i] & there[north, east] & (low[j, i] | low[north, east])
        chosen &= (np.maximum(highest[j, i], highest[north, east]) > least) & (begin + j >= own[0])
        numbers = np.flatnonzero(chosen & (begin + j < own[1]))
        each = max(1, MOST // (12 * ky * kx))
        for some in np.split(numbers, range(each, len(numbers), each)):
            for around in (0, 1):
                window = windows(padded, j[some], i[some], step, around)
                ends = [
                    ((around + dj) * ky + at // kx) * window.shape[2] + (around + di) * kx + at % kx
                    for at, dj, di in ((start[j[some], i[some]], 0, 0), (start[north[some], east[some]], *step))
                ]
                apart = ~meet(window, ends, least[some])
                some, window, ends = some[apart], window[apart], [end[apart] for end in ends]
            top = lowest_pass(window, ends)
            pair = (j[some], i[some]), (north[some], east[some])
            shares = [(heights[y, :, x] >= top[:, None, None] - HIGH).mean(axis=(1, 2)) for y, x in pair]
            found.append(np.stack([*((begin + y) * nx + x for y, x in pair), top, *shares], axis=1))
    return np.concatenate(found)


def grounds(heights: np.ndarray, ground: np.ndarray, wet: np.ndarray) -> np.ndarray:
    """A place, as number in its cell, of the largest low ground of each cell, in cells `wet` of the largest water."""
    from scipy import ndimage

    _, ky, _, kx = heights.shape
    cells = heights.transpose(0, 2, 1, 3).reshape(-1, ky, kx)
    most = np.where(wet, np.nextafter(0.0, -1.0), ground + HIGH).ravel()
    labels, _ = ndimage.label(cells <= np.maximum(most, cells.min(axis=(1, 2)))[:, None, None], SIDES)
    sizes = np.bincount(labels.ravel())
    last = np.zeros(len(sizes), np.int64)
    last[labels.ravel()] = np.arange(labels.size)
    rising = 1 + np.argsort(sizes[1:], kind="stable")
    found = np.zeros(len(cells), np.int64)
    found[last[rising] // (ky * kx)] = last[rising] % (ky * kx)
    return found.reshape(wet.shape)


def windows(padded: np.ndarray, j: np.ndarray, i: np.ndarray, step: tuple[int, int], around: int) -> np.ndarray:
    """Heights [n, y, x] of cells, their neighbours one `step` on, and `around` more on all sides, of padded places."""
    rows, columns = (np.arange(-around, around + 1 + each) + 2 for each in step)
    found = padded[(j[:, None] + rows)[:, :, None], :, (i[:, None] + columns)[:, None, :]].transpose(0, 1, 3, 2, 4)
    return found.reshape(len(j), len(rows) * padded.shape[1], len(columns) * padded.shape[3])


def meet(window: np.ndarray, ends: list[np.ndarray], level: np.ndarray) -> np.ndarray:
    """Whether two places of each window [n, y, x] are connected by places at most `level` [n] high, m."""
    from scipy import ndimage

    labels = ndimage.label(window <= level[:, None, None], SIDES)[0].reshape(len(window), window[:1].size)
    one, other = (np.take_along_axis(labels, end[:, None], axis=1)[:, 0] for end in ends)
    return (one > 0) & (one == other)


def lowest_pass(window: np.ndarray, ends: list[np.ndarray]) -> np.ndarray:
    """The least height, m [n], of a path between two places of each window [n, y, x]."""
    levels = np.sort(window.reshape(len(window), window[:1].size), axis=1)
    low, high = np.zeros(len(window), int), np.full(len(window), levels.shape[1] - 1)
    while (low < high).any():
        middle = (low + high) // 2
        over = meet(window, ends, levels[np.arange(len(window)), middle])
        low, high = np.where(over, low, middle + 1), np.where(over, middle, high)
        low = np.minimum(low, high)
    return levels[np.arange(len(window)), low]


def heights_of(relief: Relief, cells, y, lon, lat) -> np.ndarray:
    """The height of the point of the relief nearest to each place, m, below zero at sea, [rows, ky, nx, kx]."""
    (j0, j1, part_y), (i0, i1, part_x) = between(relief, "lat", lat), between(relief, "lon", lon)
    j, i = np.where(part_y < 0.5, j0, j1), np.where(part_x < 0.5, i0, i1)
    rows, columns = np.unique(j), np.unique(i)
    depth, sea, height = relief.window(rows, columns)
    z = np.where(sea >= 0.5, -depth, height)
    return z[np.searchsorted(rows, j), np.searchsorted(columns, i)].reshape(cells)


def passes(heights: np.ndarray, chosen: np.ndarray, step: tuple[int, int], ring: bool) -> Iterator[tuple]:
    """The crests of `chosen` cells [rows, nx] along a `step` (rows, columns), between the middles of their neighbours.

    Yields rows, columns, heights of the crests, lowest heights before and after them, m. A crest is the least height of
    a path through the cell, if it lies in it and above both ends.
    """
    _, ky, nx, kx = heights.shape
    if step[0]:
        chosen = np.pad(chosen[1:-1], ((1, 1), (0, 0)))[: len(chosen)]
    elif not ring:
        chosen = np.pad(chosen[:, 1:-1], ((0, 0), (1, 1)))[:, :nx]
    j, i = np.nonzero(chosen)
    each = max(1, MOST // (4 * ky * kx))
    for first in range(0, len(j), each):
        rows, columns = j[first : first + each], i[first : first + each]
        parts = [heights[rows + way * step[0], :, (columns + way * step[1]) % nx] for way in (-1, 0, 1)]
        before, own, after = parts if step[1] else (part.transpose(0, 2, 1) for part in parts)
        half = own.shape[2] // 2
        before, after = before[..., -half:], after[..., :half]
        ends = np.stack([before.min(axis=(1, 2)), after.min(axis=(1, 2))])
        strip, least = np.concatenate([before, own, after], axis=2), np.maximum(ends.max(axis=0), 0.0) + HIGH
        blocked = np.flatnonzero(~meet(*open_ended(strip), least))
        top = least_height(strip[blocked])
        inside = ~meet(*open_ended(own[blocked]), top - HIGH)
        crest = blocked[inside]
        yield rows[crest], columns[crest], top[inside], *ends[:, crest]


def open_ended(heights: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Windows [n, y, x] with a column of no height before and after; and a place in each of both, as `meet` takes."""
    wider = np.pad(heights, ((0, 0), (0, 0), (1, 1)), constant_values=-np.inf)
    return wider, [np.full(len(heights), at) for at in (0, wider.shape[2] - 1)]


def least_height(heights: np.ndarray) -> np.ndarray:
    """The least height, m [n], over which a path leads from the first to the last column of each window [n, y, x]."""
    return lowest_pass(*open_ended(heights))
