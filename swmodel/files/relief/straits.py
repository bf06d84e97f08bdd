"""Straits and isthmuses narrower than a cell: water of a grid is connected where water of its relief is.

Each cell is divided into places, each water or land like the nearest point of the relief. A body is connected water
within a cell. Bodies of neighbouring cells that share sides are the edges of a graph, whose connected parts are the
seas of the relief. The largest body of a cell of water represents it.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from .coast import label

#: Cost of a path through a cell of land, in cells of water.
OPENED = 1000.0


def connected(wet: np.ndarray, share: np.ndarray, places: np.ndarray, ring: bool) -> tuple[np.ndarray, np.ndarray]:
    """The mask with closed isthmuses and opened straits, and the closed isthmuses, both [ny, nx].

    If bodies of neighbouring cells of water are not connected within one cell around both, the cell with less sea
    becomes land. Then seas that are cut off from the largest, but not in the relief, are connected with it. The path
    has the fewest cells of land, and must not join waters with land between them.
    `places`: whether the places in the cells are water, [ny, ky, nx, kx]. `share`: share of sea in cells.
    """
    bodies = Bodies(places, ring)
    wet = wet.copy()
    isthmus = np.zeros_like(wet)
    faces = [pair for pair in bodies.neighbours(wet) if not bodies.near(*bodies.main.flat[list(pair)])]
    for pair in sorted(faces, key=lambda pair: share.flat[list(pair)].min()):
        if all(wet.flat[cell] for cell in pair):
            least = min(pair, key=lambda cell: share.flat[cell])
            wet.flat[least], isthmus.flat[least] = False, True
    barred: set[int] = set()
    while True:
        opened = bodies.paths(wet, isthmus, barred)
        leaks = {body for body in opened if bodies.joins(body, wet)}
        if not leaks:
            break
        barred |= leaks
    wet.flat[bodies.cell[list(opened)]] = True
    return wet, isthmus & ~wet


class Bodies:
    """The bodies of water in the cells of a grid, numbered from 1 on.

    Attributes:
        cell: the cell of each body, as number in the flat grid.
        main: the largest body of each cell, 0 for none, [ny, nx].
        pairs: pairs of bodies that share sides, [n, 2].
    """

    def __init__(self, places: np.ndarray, ring: bool):
        from scipy import ndimage

        ny, ky, nx, kx = places.shape
        apart = np.zeros((ny, ky + 1, nx, kx + 1), bool)
        apart[:, :ky, :, :kx] = places
        labels, count = ndimage.label(apart.reshape(ny * (ky + 1), nx * (kx + 1)))
        labels = labels.reshape(apart.shape)[:, :ky, :, :kx]
        self.shape, self.ring = (ny, nx), ring
        cells = np.broadcast_to(np.arange(ny * nx).reshape(ny, 1, nx, 1), labels.shape)
        self.cell = np.zeros(count + 1, np.int64)
        self.cell[labels.ravel()] = cells.ravel()
        size = np.bincount(labels.ravel(), minlength=count + 1)[1:]
        self.main = np.zeros((ny, nx), np.int64)
        rising = 1 + np.argsort(size, kind="stable")
        self.main.flat[self.cell[rising]] = rising
        east = labels[..., -1], np.roll(labels[..., 0], -1, axis=-1)
        east = east if ring else tuple(side[..., :-1] for side in east)
        sides = zip(east, (labels[:-1, -1], labels[1:, 0]), strict=True)
        low, high = (np.concatenate([part.ravel() for part in side]) for side in sides)
        both = (low > 0) & (high > 0)
        self.pairs = np.unique(np.stack([low[both], high[both]], axis=1), axis=0)

    @cached_property
    def beside(self) -> list[np.ndarray]:
        """The bodies that share sides with each."""
        ends = np.concatenate([self.pairs, self.pairs[:, ::-1]])
        ends = ends[np.argsort(ends[:, 0], kind="stable")]
        return np.split(ends[:, 1], np.searchsorted(ends[:, 0], np.arange(1, len(self.cell))))

    def neighbours(self, wet: np.ndarray) -> np.ndarray:
        """Pairs of numbers of cells of water that share a side and have bodies, [n, 2]."""
        there = wet & (self.main > 0)
        numbers = np.arange(wet.size).reshape(wet.shape)
        east = numbers, np.roll(numbers, -1, axis=1)
        east = east if self.ring else tuple(side[:, :-1] for side in east)
        pairs = zip(east, (numbers[:-1], numbers[1:]), strict=True)
        pairs = np.stack([np.concatenate([part.ravel() for part in side]) for side in pairs], axis=1)
        return pairs[there.flat[pairs].all(axis=1)]

    def near(self, one: int, other: int) -> bool:
        """Whether two bodies are connected within one cell around theirs."""
        (j, i), (north, east) = (np.divmod(self.cell[body], self.shape[1]) for body in (one, other))
        found, new = {one}, [one]
        while new and other not in found:
            reached = {int(body) for here in new for body in self.beside[here]} - found
            new = [
                body for body in reached
                if min(abs(self.cell[body] // self.shape[1] - row) for row in (j, north)) <= 1
                and min(self.columns_between(self.cell[body], column) for column in (i, east)) <= 1
            ]  # fmt: skip
            found |= set(new)
        return other in found

    def columns_between(self, cell: int, column: int) -> int:
        """The distance of a cell from another in columns, on a ring the shorter way round."""
        away = abs(int(cell) % self.shape[1] - int(column))
        return min(away, self.shape[1] - away) if self.ring else away

    def joins(self, body: int, wet: np.ndarray) -> bool:
        """Whether the cell of a body, as water, would join it with water of a neighbour that is not near it."""
        beside = wet.copy()
        beside.flat[self.cell[body]] = True
        pairs = self.neighbours(beside)
        pairs = pairs[(pairs == self.cell[body]).any(axis=1)]
        others = self.main.flat[pairs[pairs != self.cell[body]]]
        return not all(self.near(body, int(other)) for other in others)

    def paths(self, wet: np.ndarray, isthmus: np.ndarray, barred: set[int]) -> set[int]:
        """Bodies in cells of land that connect cut-off seas with the largest, without `isthmus` and `barred`."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import dijkstra

        seas = label(wet & (self.main > 0), self.ring)
        sizes = np.bincount(seas.ravel())
        if len(sizes) < 3:
            return set()
        largest = int(sizes[1:].argmax()) + 1
        of_sea = np.zeros(len(self.cell), bool)
        of_sea[self.main[seas > 0]] = True
        free = of_sea | ~(wet | isthmus).flat[self.cell]
        free[[0, *barred]] = False
        edges = self.pairs[free[self.pairs].all(axis=1)]
        edges = np.concatenate([edges, self.main.flat[self.neighbours(wet)]])
        edges = np.unique(np.concatenate([edges, edges[:, ::-1]]), axis=0)
        cost = np.where(of_sea[edges[:, 1]], 1.0, OPENED)
        graph = coo_array((cost, tuple(edges.T)), shape=(len(self.cell),) * 2).tocsr()
        start = int(self.main[seas == largest][0])
        away, before = dijkstra(graph, indices=start, return_predecessors=True)
        opened: set[int] = set()
        for sea in range(1, len(sizes)):
            own = self.main[seas == sea]
            body = int(own[np.argmin(away[own])])
            while sea != largest and before[body] >= 0:
                opened |= set() if of_sea[body] else {body}
                body = int(before[body])
        return opened
