"""Where the points of the C-grid lie."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: Distance of each location from its cell's centre, in cells (north, east).
OFFSETS = {"centre": (0.0, 0.0), "u": (0.0, 0.5), "v": (0.5, 0.0), "corner": (0.5, 0.5)}


@dataclass(frozen=True)
class Points:
    """Points of one location in some rows and columns of the grid, float64.

    Attributes:
        x, y: positions in m, [1, columns] and [rows, 1].
        i, j: column and row numbers in the whole grid, same shapes.
        origin: position (x0, y0) of the centre of cell (0, 0), m.
        length_x, length_y: size of the domain, nx dx and ny dy, m.
    """

    x: np.ndarray
    y: np.ndarray
    i: np.ndarray
    j: np.ndarray
    origin: tuple[float, float]
    length_x: float
    length_y: float


def origin(grid) -> tuple[float, float]:
    """Position (x0, y0) of the centre of cell (0, 0), m, as `grid.origin` says."""
    return {
        "edge": (0.5 * grid.dx, 0.5 * grid.dy),
        "centre": (0.0, 0.0),
        "middle": (-0.5 * (grid.nx - 1) * grid.dx, -0.5 * (grid.ny - 1) * grid.dy),
    }[grid.origin]


def edges(grid) -> tuple[float, float, float, float]:
    """West, east, south and north edge of the domain, m."""
    x0, y0 = origin(grid)
    west, south = x0 - 0.5 * grid.dx, y0 - 0.5 * grid.dy
    return west, west + grid.nx * grid.dx, south, south + grid.ny * grid.dy


def points(grid, location: str, rows, columns) -> Points:
    """The points of `location` in the given row and column numbers (which may lie beyond the grid)."""
    x0, y0 = origin(grid)
    north, east = OFFSETS[location]
    j = np.asarray(rows, dtype=np.int64)[:, None]
    i = np.asarray(columns, dtype=np.int64)[None, :]
    return Points(
        x=x0 + (i + east) * grid.dx,
        y=y0 + (j + north) * grid.dy,
        i=i,
        j=j,
        origin=(x0, y0),
        length_x=grid.nx * grid.dx,
        length_y=grid.ny * grid.dy,
    )
