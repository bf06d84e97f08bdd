"""Stations and sections on the C-grid: the cells and faces that a quantity is read from. NumPy only."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..errors import UsageError
from ..ocean.coordinates import along_axes, axes, distances, metres, places, points
from . import fields

#: Most cells whose mask is looked at together.
CELLS = 2**20


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
        axis: "x", a line of constant x (on a sphere longitude) made of u faces, or "y", made of v faces.
        at: where the faces lie on the axis; the nearest to what was asked for.
        number: their column, or row.
        start, end: ends of the line on the other axis.
        lengths: of the line on each of the faces, from the first row (or column) of the grid to the last, m.
    """

    axis: str
    at: float
    number: int
    start: float
    end: float
    lengths: np.ndarray


def inside(axis, what: str, position: float) -> float:
    """A position on an Axis; longitudes are brought into the domain where they are the same as one there.

    Raises:
        UsageError: it is outside the domain.
    """
    (first, last), within = axis.edges, float(axis.within(position))
    if not first <= within <= last:
        raise UsageError(f"{what}: {axis.told(position, 6)} is outside the domain, {first:g} to {last:g} {axis.unit}")
    return within


def station(config, x: float, y: float) -> Station:
    """The Station at (x, y), m, or on a sphere longitude and latitude.

    With a, b the distances from the south-western centre in cells, the weights (1-a)(1-b), a (1-b), (1-a) b, a b of wet
    cells, over their sum.

    Raises:
        UsageError: it is outside the domain, or in a cell of land.
        InputError: the file of the mask cannot be read.
    """
    grid, along, told = config.grid, axes(config.grid), f"the station {x:g},{y:g}"
    x, y = (inside(axis, told, at) for axis, at in zip(along, along_axes(grid, x, y), strict=True))
    i, j = along.x.index(x), along.y.index(y)
    column, row = int(np.floor(i)), int(np.floor(j))
    wet = np.broadcast_to(fields.wet(config, [row, row + 1], [column, column + 1]), (2, 2))
    # The cell that holds the station; on the domain's edge, the one within.
    nearest = min(int(np.floor(j + 0.5)), grid.ny - 1) - row, min(int(np.floor(i + 0.5)), grid.nx - 1) - column
    if not wet[nearest]:
        raise UsageError(f"{told} is on land")
    a, b = i - column, j - row
    weights = wet * np.outer([1 - b, b], [1 - a, a])
    rows, columns = np.array([row, row, row + 1, row + 1]), np.array([column, column + 1] * 2)
    return Station(x, y, rows % grid.ny, columns % grid.nx, weights.ravel() / weights.sum())


def section(config, axis: str, at: float, start: float | None = None, end: float | None = None) -> Section:
    """The Section along the faces nearest to `at` on an axis, from `start` to `end` on the other one.

    Args:
        at, start, end: m, or degrees on a sphere; None: the edge of the domain.

    Raises:
        UsageError: it is outside the domain, has no length, or no water flows through it.
        InputError: the file of the mask cannot be read.
    """
    other = "y" if axis == "x" else "x"
    across, along = (getattr(axes(config.grid), name) for name in (axis, other))
    what, unit, coasts = f"the section {across.told(at, 6)}", along.unit, along.edges
    at = inside(across, what, at)
    start, end = (
        coast if given is None else inside(along, what, given)
        for given, coast in zip((start, end), coasts, strict=True)
    )
    if not start < end:
        raise UsageError(f"{what}: from={start:g} is not below to={end:g}")
    face = round((at - across.edges[0]) / across.spacing) - 1
    at, count = across.edges[0] + (face + 1) * across.spacing, along.cells
    bounds = coasts[0] + along.spacing * np.arange(count + 1)
    lengths = np.clip(np.minimum(bounds[1:], end) - np.maximum(bounds[:-1], start), 0, None)
    if not (lengths * open_faces(config, axis, face, count)).any():
        raise UsageError(
            f"{what} from {start:g} to {end:g} {unit}: no water flows through it, all of it is land or wall"
        )
    number = face % across.cells if across.ring else face
    return Section(axis, at, number, start, end, lengths * metres(config.grid, other, at))


def open_faces(config, axis: str, face: int, count: int) -> np.ndarray:
    """1 where the faces of a column (axis x) or row (axis y) are between two wet cells, else 0, [count]."""
    along, across = np.arange(count), [face, face + 1]
    if axis == "x":
        return np.broadcast_to(fields.wet(config, along, across), (count, 2)).prod(axis=1)
    return np.broadcast_to(fields.wet(config, across, along), (2, count)).prod(axis=0)


def nearest_water(config, place: tuple[float, float]) -> tuple[float, tuple[float, float]]:
    """Distance in m, and place in m or degrees, of the centre of a wet cell that is nearest to a place.

    Raises:
        UsageError: there is no water.
        InputError: the file of the mask cannot be read.
    """
    grid, columns, best = config.grid, np.arange(config.grid.nx), (np.inf, (0, 0))
    height = max(1, CELLS // grid.nx)
    for first in range(0, grid.ny, height):
        rows = np.arange(first, min(first + height, grid.ny))
        wet = np.broadcast_to(fields.wet(config, rows, columns) != 0, (len(rows), len(columns)))
        away = np.where(wet, distances(grid, place, points(grid, "centre", rows, columns)), np.inf)
        j, i = np.unravel_index(np.argmin(away), away.shape)
        best = min(best, (float(away[j, i]), (first + int(j), int(i))))
    if np.isinf(best[0]):
        raise UsageError("there is no water in the domain")
    (of_x, of_y), (row, column) = axes(grid), best[1]
    return best[0], places(grid, of_x.first + column * of_x.spacing, of_y.first + row * of_y.spacing)
