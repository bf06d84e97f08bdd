"""The grids of the interface: one for each location of the C-grid; its nodes are the points of fields there."""

from __future__ import annotations

from typing import Any

import numpy as np
from bmipy import Bmi

from ..errors import UsageError
from ..ocean.coordinates import LOCATION_OFFSETS, axes, has_rotated_pole, points
from ..setup.setup import rows_and_columns

#: The locations, by grid identifier.
LOCATIONS = ("centre", "u", "v", "corner")


class GridFunctions(Bmi):
    """The methods of the interface about grids.

    The nodes of grid 0 are the centres of the cells of this process's block, those of grid 1 the middles of their east
    faces, those of grid 2 the middles of their north faces, and those of grid 3 their north-eastern corners. Positions
    are in m on a plane and in degrees on a sphere. A grid is `uniform_rectilinear`; with a rotated pole it is a
    `structured_quadrilateral` of longitudes and latitudes. No edge or face crosses a periodic boundary or the boundary
    of the block.

    Methods raise a UsageError if there is no such grid, if z is requested, if the caller's array has another size, or
    if they need the model and there is none yet.
    """

    simulation: Any

    def _location(self, grid: int) -> str:
        if grid not in range(len(LOCATIONS)):
            raise UsageError(f"grid {grid!r:.40}: must be 0 (centres), 1 (east faces), 2 (north faces) or 3 (corners)")
        return LOCATIONS[grid]

    def _first_and_spacing(self, grid: int) -> list[tuple[float, float]]:
        """Two pairs, along y and along x: position of the first node, and spacing."""
        x_axis, y_axis = axes(self.simulation.config.grid)
        block, offsets = self.simulation.block, LOCATION_OFFSETS[self._location(grid)]
        starts = zip((y_axis, x_axis), (block.y.start, block.x.start), offsets, strict=True)
        return [(axis.first + (start + offset) * axis.spacing, axis.spacing) for axis, start, offset in starts]

    def _node_coordinates(self, grid: int) -> tuple[np.ndarray, np.ndarray]:
        """x of each column and y of each row; for a `structured_quadrilateral`, x and y of each node."""
        if self.get_grid_type(grid) == "structured_quadrilateral":
            node_points = points(
                self.simulation.config.grid, self._location(grid), *rows_and_columns(self.simulation.block, 0)
            )
            return node_points.lon, node_points.lat
        (y, dy), (x, dx) = self._first_and_spacing(grid)
        rows, columns = self._shape(grid)
        return x + dx * np.arange(columns), y + dy * np.arange(rows)

    def _shape(self, grid: int) -> tuple[int, int]:
        """The numbers of rows and columns."""
        self._location(grid)
        return self.simulation.block.shape

    def get_grid_type(self, grid: int) -> str:
        self._location(grid)
        return "structured_quadrilateral" if has_rotated_pole(self.simulation.config.grid) else "uniform_rectilinear"

    def get_grid_rank(self, grid: int) -> int:
        self._location(grid)
        return 2

    def get_grid_size(self, grid: int) -> int:
        rows, columns = self._shape(grid)
        return rows * columns

    def get_grid_shape(self, grid: int, shape: np.ndarray) -> np.ndarray:
        return copy_into(shape, self._shape(grid))

    def get_grid_spacing(self, grid: int, spacing: np.ndarray) -> np.ndarray:
        return copy_into(spacing, [step for _, step in self._first_and_spacing(grid)])

    def get_grid_origin(self, grid: int, origin: np.ndarray) -> np.ndarray:
        return copy_into(origin, [first for first, _ in self._first_and_spacing(grid)])

    def get_grid_x(self, grid: int, x: np.ndarray) -> np.ndarray:
        return copy_into(x, self._node_coordinates(grid)[0])

    def get_grid_y(self, grid: int, y: np.ndarray) -> np.ndarray:
        return copy_into(y, self._node_coordinates(grid)[1])

    def get_grid_z(self, grid: int, z: np.ndarray) -> np.ndarray:
        raise UsageError(f"grid {grid}: has two dimensions, so there is no z")

    def get_grid_node_count(self, grid: int) -> int:
        return self.get_grid_size(grid)

    def get_grid_edge_count(self, grid: int) -> int:
        return sum(edges.size for edges in self._edge_numbers(grid))

    def get_grid_face_count(self, grid: int) -> int:
        rows, columns = self._shape(grid)
        return (rows - 1) * (columns - 1)

    def _node_numbers(self, grid: int) -> np.ndarray:
        """The indices of the nodes [rows, columns]."""
        return np.arange(self.get_grid_size(grid)).reshape(self._shape(grid))

    def _edge_numbers(self, grid: int) -> tuple[np.ndarray, np.ndarray]:
        """The indices of the edges along x [rows, columns - 1], and of the edges along y [rows - 1, columns]."""
        rows, columns = self._shape(grid)
        along_x = np.arange(rows * (columns - 1)).reshape(rows, columns - 1)
        return along_x, along_x.size + np.arange((rows - 1) * columns).reshape(rows - 1, columns)

    def get_grid_edge_nodes(self, grid: int, edge_nodes: np.ndarray) -> np.ndarray:
        nodes = self._node_numbers(grid)
        pairs = (nodes[:, :-1], nodes[:, 1:]), (nodes[:-1], nodes[1:])
        return copy_into(edge_nodes, np.concatenate([np.stack(pair, -1).ravel() for pair in pairs]))

    def get_grid_face_nodes(self, grid: int, face_nodes: np.ndarray) -> np.ndarray:
        nodes = self._node_numbers(grid)
        corners = nodes[:-1, :-1], nodes[:-1, 1:], nodes[1:, 1:], nodes[1:, :-1]  # counter-clockwise
        return copy_into(face_nodes, np.stack(corners, -1))

    def get_grid_face_edges(self, grid: int, face_edges: np.ndarray) -> np.ndarray:
        along_x, along_y = self._edge_numbers(grid)
        sides = along_x[:-1], along_y[:, 1:], along_x[1:], along_y[:, :-1]
        return copy_into(face_edges, np.stack(sides, -1))

    def get_grid_nodes_per_face(self, grid: int, nodes_per_face: np.ndarray) -> np.ndarray:
        return copy_into(nodes_per_face, np.full(self.get_grid_face_count(grid), 4))


def copy_into(buffer: np.ndarray, values: Any) -> np.ndarray:
    """Copy values into the caller's buffer and return the buffer; a UsageError if its size differs."""
    values = np.asarray(values)
    if np.size(buffer) != values.size:
        raise UsageError(f"the array has {np.size(buffer)} elements, but {values.size} are needed")
    buffer[...] = values.reshape(buffer.shape)
    return buffer
