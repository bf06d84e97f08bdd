"""Straits and isthmuses narrower than a cell: waters of a grid are connected where they are in its relief.

Each cell is divided into samples, which are water or land like the nearest point of the relief. A body is a connected
part of the water within a cell. Bodies are the nodes of a graph, whose edges join bodies of neighbouring cells that
touch; its connected parts are the seas of the relief. The largest body of a water cell represents the cell.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from .coast import label_connected


def connect_seas(
    wet: np.ndarray, sea_fraction: np.ndarray, sea_samples: np.ndarray, is_periodic: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The mask of water with closed isthmuses and opened straits, and the mask of closed isthmuses, both [ny, nx].

    If the bodies of two neighbouring water cells are not connected within one cell around both, the cell with less sea
    becomes land. Then seas that are cut off from the largest sea on the grid, but not in the relief, are connected to
    it along the path with the fewest land cells. The path must not join waters that land separates in the relief.
    `sea_samples`: whether each sample is water, [ny, ky, nx, kx]. `sea_fraction`: sea fraction of each cell, [ny, nx].
    """
    bodies = WaterBodies(sea_samples, is_periodic)
    wet = wet.copy()
    isthmus = np.zeros_like(wet)
    pairs = bodies.neighbouring_cells(wet)
    pairs = pairs[~bodies.are_touching(bodies.largest_body.flat[pairs])]
    cell_pairs = [pair for pair in pairs if not bodies.are_near(*bodies.largest_body.flat[pair])]
    for pair in sorted(cell_pairs, key=lambda pair: sea_fraction.flat[list(pair)].min()):
        if all(wet.flat[cell] for cell in pair):
            drier_cell = min(pair, key=lambda cell: sea_fraction.flat[cell])
            wet.flat[drier_cell], isthmus.flat[drier_cell] = False, True
    excluded: set[int] = set()
    while True:
        opened = bodies.bodies_on_paths(wet, isthmus, excluded)
        leaks = {body for body in opened if bodies.joins_separate_waters(body, wet)}
        if not leaks:
            break
        excluded |= leaks
    wet.flat[bodies.cell_of_body[list(opened)]] = True
    return wet, isthmus & ~wet


class WaterBodies:
    """The bodies of water in the cells of a grid, numbered from 1.

    Attributes:
        cell_of_body: the flat index of the cell of each body.
        largest_body: the largest body of each cell, 0 if it has no water, [ny, nx].
        body_pairs: pairs of bodies in neighbouring cells that touch, [n, 2].
    """

    def __init__(self, sea_samples: np.ndarray, is_periodic: bool):
        from scipy import ndimage

        ny, ky, nx, kx = sea_samples.shape
        separated = np.zeros((ny, ky + 1, nx, kx + 1), bool)
        separated[:, :ky, :, :kx] = sea_samples
        labels, n_bodies = ndimage.label(separated.reshape(ny * (ky + 1), nx * (kx + 1)))
        labels = labels.reshape(separated.shape)[:, :ky, :, :kx]
        self.shape, self.is_periodic = (ny, nx), is_periodic
        cells = np.broadcast_to(np.arange(ny * nx).reshape(ny, 1, nx, 1), labels.shape)
        self.cell_of_body = np.zeros(n_bodies + 1, np.int64)
        self.cell_of_body[labels.ravel()] = cells.ravel()
        size = np.bincount(labels.ravel(), minlength=n_bodies + 1)[1:]
        self.largest_body = np.zeros((ny, nx), np.int64)
        bodies_by_size = 1 + np.argsort(size, kind="stable")
        self.largest_body.flat[self.cell_of_body[bodies_by_size]] = bodies_by_size
        east = labels[..., -1], np.roll(labels[..., 0], -1, axis=-1)
        east = east if is_periodic else tuple(side[..., :-1] for side in east)
        sides = zip(east, (labels[:-1, -1], labels[1:, 0]), strict=True)
        low, high = (np.concatenate([part.ravel() for part in side]) for side in sides)
        both = (low > 0) & (high > 0)
        self.body_pairs = distinct_pairs(np.stack([low[both], high[both]], axis=1).astype(np.int64))

    @cached_property
    def sorted_pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """The neighbours of all bodies, sorted by body, and the index at which those of each body begin."""
        ends = np.concatenate([self.body_pairs, self.body_pairs[:, ::-1]])
        ends = ends[np.argsort(ends[:, 0], kind="stable")]
        return ends[:, 1], np.searchsorted(ends[:, 0], np.arange(len(self.cell_of_body) + 1))

    def adjacent_bodies(self, body: int) -> list[int]:
        """The bodies that touch a body."""
        others, starts = self.sorted_pairs
        return others[starts[body] : starts[body + 1]].tolist()

    def are_touching(self, pairs: np.ndarray) -> np.ndarray:
        """Whether the bodies of pairs [n, 2] touch."""
        n_labels = len(self.cell_of_body)
        numbers, touching = (bodies.min(axis=1) * n_labels + bodies.max(axis=1) for bodies in (pairs, self.body_pairs))
        touching.sort()  # np.isin takes several times as long
        return np.append(touching, -1)[np.searchsorted(touching, numbers)] == numbers

    def neighbouring_cells(self, wet: np.ndarray) -> np.ndarray:
        """Pairs of water cells that share a side and contain bodies: flat indices [n, 2]."""
        has_water = wet & (self.largest_body > 0)
        numbers: np.ndarray = np.arange(wet.size).reshape(wet.shape)
        west, east = numbers, np.roll(numbers, -1, axis=1)
        if not self.is_periodic:
            west, east = west[:, :-1], east[:, :-1]
        sides = (west, numbers[:-1]), (east, numbers[1:])
        pairs = np.stack([np.concatenate([part.ravel() for part in side]) for side in sides], axis=1)
        return pairs[has_water.flat[pairs].all(axis=1)]

    def are_near(self, one: int, other: int) -> bool:
        """Whether two bodies are connected through cells that are at most one cell away from their cells."""
        rows, columns = np.divmod(self.cell_of_body[[one, other]], self.shape[1])
        visited, new = {one}, [one]
        while new and other not in visited:
            reached = {neighbour for body in new for neighbour in self.adjacent_bodies(body)} - visited
            new = [
                body for body in reached
                if min(abs(self.cell_of_body[body] // self.shape[1] - row) for row in rows) <= 1
                and min(self.column_distance(self.cell_of_body[body], column) for column in columns) <= 1
            ]  # fmt: skip
            visited |= set(new)
        return other in visited

    def column_distance(self, cell: int, column: int) -> int:
        """The distance of a cell from a column, in columns; on a periodic axis, along the shorter way."""
        distance = abs(int(cell) % self.shape[1] - int(column))
        return min(distance, self.shape[1] - distance) if self.is_periodic else distance

    def joins_separate_waters(self, body: int, wet: np.ndarray) -> bool:
        """Whether opening the cell of a body would join the body to a neighbouring cell's water that is not near it."""
        (ny, nx), (row, column) = self.shape, divmod(int(self.cell_of_body[body]), self.shape[1])
        cells = {(row - 1, column), (row + 1, column)}
        cells |= {(row, i % nx if self.is_periodic else i) for i in (column - 1, column + 1)} - {(row, column)}
        others = [int(self.largest_body[j, i]) for j, i in cells if 0 <= j < ny and 0 <= i < nx and wet[j, i]]
        return not all(self.are_near(body, other) for other in others if other)

    def bodies_on_paths(self, wet: np.ndarray, isthmus: np.ndarray, excluded: set[int]) -> set[int]:
        """The bodies in land cells that connect cut-off seas to the largest sea, along the shortest paths.

        Paths avoid `isthmus` and `excluded`. The nodes of the graph are the seas of the grid and, after them, the
        bodies through which a path can pass.
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import dijkstra

        seas = label_connected(wet & (self.largest_body > 0), self.is_periodic)
        sizes = np.bincount(seas.ravel())
        if len(sizes) < 3:
            return set()
        is_passable = ~(wet | isthmus).flat[self.cell_of_body]
        is_passable[[0, *excluded]] = False
        bodies = np.flatnonzero(is_passable)
        node_of_body = np.zeros(len(self.cell_of_body), np.int64)
        node_of_body[self.largest_body[seas > 0]] = seas[seas > 0]
        node_of_body[bodies] = len(sizes) + np.arange(len(bodies))
        edges = node_of_body[self.body_pairs]
        edges = edges[(edges > 0).all(axis=1) & (edges[:, 0] != edges[:, 1])]
        edges = distinct_pairs(np.concatenate([edges, edges[:, ::-1]]))
        n_nodes = len(sizes) + len(bodies)
        cost = np.where(edges[:, 1] < len(sizes), 1.0, n_nodes)  # one land cell costs more than all seas
        graph = coo_array((cost, tuple(edges.T)), shape=(n_nodes, n_nodes)).tocsr()
        predecessor = dijkstra(graph, indices=1 + int(sizes[1:].argmax()), return_predecessors=True)[1]
        is_on_path = np.zeros(n_nodes, bool)
        nodes = np.arange(1, len(sizes))
        while nodes.size:
            is_on_path[nodes] = True
            nodes = np.unique(predecessor[nodes])
            nodes = nodes[nodes >= 0]
            nodes = nodes[~is_on_path[nodes]]
        return set(bodies[is_on_path[len(sizes) :]].tolist())


def distinct_pairs(pairs: np.ndarray) -> np.ndarray:
    """Pairs of numbers [n, 2], sorted and without duplicates; several times as fast as np.unique."""
    size = int(pairs.max(initial=0)) + 1
    keys = np.sort(pairs[:, 0] * size + pairs[:, 1])
    return np.stack(np.divmod(keys[np.diff(keys, prepend=-1) > 0], size), axis=1)
