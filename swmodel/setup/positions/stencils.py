"""The four points of the C-grid around a position, and their bilinear weights near coasts and walls. NumPy only."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...ocean.coordinates import LOCATION_OFFSETS, axes
from ...ocean.table import VARIABLES
from .. import fields
from ..fields.field_sources import STEP_ACROSS_FACE

if TYPE_CHECKING:
    from ...config.options.model import Config

#: The quantities that can be observed; an observation has the index of its quantity in this list.
OBSERVED_QUANTITIES = ("eta", "u", "v")

#: Distance within which a position counts as lying on a point of the grid, cells.
SNAP_CELLS = 1e-9

#: Largest number of cells in rows that are evaluated together, without two further rows in the north.
MAX_CELLS_PER_EVALUATION = 2**20


class Stencils(NamedTuple):
    """Points around n positions and their weights, [n, 4]: south-west, south-east, north-west and north-east.

    The weight of a point on land or on a closed face is zero, so all four are zero where no water is near.
    """

    rows: np.ndarray
    columns: np.ndarray
    weights: np.ndarray

    @property
    def is_covered(self) -> np.ndarray:
        """Whether any point around each position has a weight, [n]."""
        return np.any(self.weights, axis=1)


def bilinear_stencils(config: Config, quantity, x, y, with_open_boundaries: bool = False) -> Stencils:
    """Bilinear interpolation from the points of each quantity to the positions (x, y) within the domain, m or degrees.

    The weights are (1-a)(1-b), a (1-b), (1-a) b, a b, with a, b the distances from the south-west point in cells. Those
    of the points with a value are divided by their sum:

        sea level   has a value in wet cells. Within half a cell of a wall or coast it is that of the nearest cells.
        velocity    has a value on faces next to a wet cell, which is zero on closed faces. Faces between dry cells have
                    none. Within half a cell of a wall or straight coast, the velocity along it is that of the nearest
                    faces.

    Away from land, the interpolation is exact for linear fields. It continues across periodic boundaries.

    Args:
        quantity: indices in OBSERVED_QUANTITIES, [n].
        x, y: positions along the axes of the grid, [n], m or degrees.
        with_open_boundaries: whether the current through open boundaries is known, so that their faces count as open.
    """
    quantity, x, y = np.asarray(quantity), np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    grid, along = config.grid, axes(config.grid)
    offsets = np.array([LOCATION_OFFSETS[VARIABLES[name].location] for name in OBSERVED_QUANTITIES])[quantity]
    rows, b = split_floor(along.y.fractional_index(y) - offsets[:, 0])
    columns, a = split_floor(along.x.fractional_index(along.x.wrap(x)) - offsets[:, 1])
    weights = np.stack([(1 - b) * (1 - a), (1 - b) * a, b * (1 - a), b * a], axis=1)
    wet = neighbourhood_values(config, rows, columns)
    is_open, has_value = np.empty_like(weights), np.empty_like(weights)
    for number, name in enumerate(OBSERVED_QUANTITIES):
        # Faces lie between two cells; the step (0, 0) of the sea level, which is at centres, leads to the same cell.
        (north, east), chosen = STEP_ACROSS_FACE.get(name, (0, 0)), quantity == number
        wet_cell = wet[chosen, :2, :2].reshape(-1, 4)
        wet_across = wet[chosen, north : north + 2, east : east + 2].reshape(-1, 4)
        is_open[chosen], has_value[chosen] = wet_cell * wet_across, np.maximum(wet_cell, wet_across)
        if with_open_boundaries and name != "eta" and config.open_boundaries.sides:
            is_open[chosen] += open_boundary_faces(config, name, rows[chosen], columns[chosen], wet_cell, wet_across)
    total = (weights * has_value).sum(axis=1, keepdims=True)
    return Stencils(
        (rows[:, None] + [0, 0, 1, 1]) % grid.ny,
        (columns[:, None] + [0, 1, 0, 1]) % grid.nx,
        np.divide(weights * is_open, total, out=np.zeros_like(weights), where=total > 0),
    )


def open_boundary_faces(
    config: Config, name: str, rows, columns, wet_cell: np.ndarray, wet_across: np.ndarray
) -> np.ndarray:
    """1 on faces of open boundaries, else 0, for the four points of a velocity, [n, 4].

    `wet_cell`, `wet_across`: 1 if the cell of the face, or that on its other side, is wet, else 0.
    """
    north, east = STEP_ACROSS_FACE[name]
    outside = neighbourhood_values(config, rows, columns, lambda *at: fields.boundary_water_masks(*at)[north])
    outside_cell, outside_across = (outside[:, j : j + 2, i : i + 2].reshape(-1, 4) for j, i in ((0, 0), (north, east)))
    return wet_cell * outside_across + outside_cell * wet_across


def split_floor(position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The whole number at or below each position and the distance from it; positions within SNAP_CELLS are rounded."""
    nearest = np.rint(position)
    position = np.where(np.abs(position - nearest) < SNAP_CELLS, nearest, position)
    lower = np.floor(position)
    return lower.astype(np.int64), position - lower


def neighbourhood_values(
    config: Config, rows: np.ndarray, columns: np.ndarray, function: Callable = fields.wet_mask
) -> np.ndarray:
    """Values in the 3 x 3 cells with the cell (rows[n], columns[n]) in their south-west corner, [n, 3, 3].

    `function`: function of (config, rows, columns) that returns the values; by default 1 in wet cells, else 0.
    """
    neighbours = np.empty((len(rows), 3, 3))
    order = np.argsort(rows, kind="stable")
    first_column, last_column = (columns.min(), columns.max() + 2) if len(columns) else (0, 0)
    width, position = int(last_column - first_column) + 1, 0
    height = max(1, MAX_CELLS_PER_EVALUATION // width)
    while position < len(order):
        first = rows[order[position]]
        end = np.searchsorted(rows[order], first + height)
        chosen, band = order[position:end], np.arange(first, rows[order[end - 1]] + 3)
        values = function(config, band, np.arange(first_column, last_column + 1))
        j = rows[chosen, None, None] - first + np.arange(3)[:, None]
        i = columns[chosen, None, None] - first_column + np.arange(3)
        neighbours[chosen] = np.broadcast_to(values, (len(band), width))[j, i]
        position = end
    return neighbours
