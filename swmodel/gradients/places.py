"""Stations and sections on the C-grid: the cells and faces that a quantity is read from. NumPy only."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..config import fields
from ..errors import UsageError
from ..ocean.coordinates import edges, origin


class Station(NamedTuple):
    """The four cells around a position, [4] each, and their bilinear weights; those of land are zero."""

    x: float
    y: float
    rows: np.ndarray
    columns: np.ndarray
    weights: np.ndarray


class Section(NamedTuple):
    """Faces along a line of constant x or y.

    Attributes:
        axis: "x", a line of constant x made of u faces, or "y", made of v faces.
        at: where the faces lie on the axis, m; the nearest to what was asked for.
        number: their column, or row.
        start, end: ends of the line on the other axis, m.
        lengths: of the line on each of the faces, from the first row (or column) of the grid to the last, m.
    """

    axis: str
    at: float
    number: int
    start: float
    end: float
    lengths: np.ndarray


def ends(grid, axis: str) -> tuple[float, float]:
    """Where the domain begins and ends on an axis, m."""
    west, east, south, north = edges(grid)
    return (west, east) if axis == "x" else (south, north)


def require_inside(grid, what: str, **positions: float) -> None:
    """Make sure that positions on the axes `x` and `y` lie within the domain.

    Raises:
        UsageError: they do not.
    """
    for axis, position in positions.items():
        first, last = ends(grid, axis)
        if not first <= position <= last:
            raise UsageError(f"{what}: {axis} = {position:g} m is outside the domain, {first:g} to {last:g} m")


def station(config, x: float, y: float) -> Station:
    """The Station at (x, y), m.

    With a, b the distances from the south-western centre in cells, the weights (1-a)(1-b), a (1-b), (1-a) b, a b of wet
    cells, over their sum.

    Raises:
        UsageError: it is outside the domain, or in a cell of land.
        InputError: the file of the mask cannot be read.
    """
    grid, (x0, y0) = config.grid, origin(config.grid)
    require_inside(grid, f"the station {x:g},{y:g}", x=x, y=y)
    i, j = (x - x0) / grid.dx, (y - y0) / grid.dy
    column, row = int(np.floor(i)), int(np.floor(j))
    wet = np.broadcast_to(fields.wet(config, [row, row + 1], [column, column + 1]), (2, 2))
    # The cell that holds the station; on the domain's edge, the one within.
    nearest = min(int(np.floor(j + 0.5)), grid.ny - 1) - row, min(int(np.floor(i + 0.5)), grid.nx - 1) - column
    if not wet[nearest]:
        raise UsageError(f"the station {x:g},{y:g} is on land")
    a, b = i - column, j - row
    weights = wet * np.outer([1 - b, b], [1 - a, a])
    rows, columns = np.array([row, row, row + 1, row + 1]), np.array([column, column + 1] * 2)
    return Station(x, y, rows % grid.ny, columns % grid.nx, weights.ravel() / weights.sum())


def section(config, axis: str, at: float, start: float | None = None, end: float | None = None) -> Section:
    """The Section along the faces nearest to `at` on an axis, m, from `start` to `end` on the other one.

    Args:
        start, end: m; None: the edge of the domain.

    Raises:
        UsageError: it is outside the domain, has no length, or no water flows through it.
        InputError: the file of the mask cannot be read.
    """
    grid, other = config.grid, "y" if axis == "x" else "x"
    what = f"the section {axis} = {at:g} m"
    coasts = ends(grid, other)
    start, end = coasts[0] if start is None else start, coasts[1] if end is None else end
    require_inside(grid, what, **{axis: at})
    for position in (start, end):
        require_inside(grid, what, **{other: position})
    if not start < end:
        raise UsageError(f"{what}: from={start:g} is not below to={end:g}")
    spacing, cells, ring = (grid.dx, grid.nx, grid.periodic_x) if axis == "x" else (grid.dy, grid.ny, grid.periodic_y)
    face = round((at - ends(grid, axis)[0]) / spacing) - 1
    count, width = (grid.ny, grid.dy) if axis == "x" else (grid.nx, grid.dx)
    bounds = coasts[0] + width * np.arange(count + 1)
    lengths = np.clip(np.minimum(bounds[1:], end) - np.maximum(bounds[:-1], start), 0, None)
    if not (lengths * open_faces(config, axis, face, count)).any():
        raise UsageError(f"{what} from {start:g} to {end:g} m: no water flows through it, all of it is land or wall")
    number = face % cells if ring else face
    return Section(axis, ends(grid, axis)[0] + (face + 1) * spacing, number, start, end, lengths)


def open_faces(config, axis: str, face: int, count: int) -> np.ndarray:
    """1 where the faces of a column (axis x) or row (axis y) are between two wet cells, else 0, [count]."""
    along, across = np.arange(count), [face, face + 1]
    if axis == "x":
        return np.broadcast_to(fields.wet(config, along, across), (count, 2)).prod(axis=1)
    return np.broadcast_to(fields.wet(config, across, along), (2, count)).prod(axis=0)
