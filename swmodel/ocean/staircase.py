"""Staircases: lines on the grid as paths from corner to corner of its cells, along faces."""

from __future__ import annotations

import numpy as np

from .coordinates import axes, has_rotated_pole, to_grid_axes
from .places import position_in_domain


def stair_corners(grid, label: str, start, end) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the corners of a staircase along a line, from the corner nearest to its start to its end.

    Corner (j, i) is north-east of cell (j, i). A staircase is monotonic in x and y. Across a periodic boundary its
    numbers continue beyond the grid. Start and end are places: x and y in m, or longitude and latitude.
    """
    ends = zip(axes(grid), *(to_grid_axes(grid, *place) for place in (start, end)), strict=True)
    (i, i1), (j, j1) = (
        [
            round(float(axis.fractional_index(at)) - 0.5)
            for at in ends_on_axis(grid, axis, label, float(start), float(end))
        ]
        for axis, start, end in ends
    )
    n_x, n_y = abs(i1 - i), abs(j1 - j)
    step_x, step_y = int(np.sign(i1 - i)), int(np.sign(j1 - j))
    rows, columns, x, y = [j], [i], 0, 0
    while x < n_x or y < n_y:
        # Of both possible steps, take the one whose middle is nearer to the line.
        goes_in_x = y == n_y or (x < n_x and (2 * x + 1) * n_y < (2 * y + 1) * n_x)
        x, y = x + goes_in_x, y + (not goes_in_x)
        rows.append(j + step_y * y)
        columns.append(i + step_x * x)
    return np.array(rows), np.array(columns)


def ends_on_axis(grid, axis, label: str, start: float, end: float) -> tuple[float, float]:
    """Both ends of a line along an Axis. A line with both ends in the domain does not cross a periodic boundary.

    It takes the shorter way if one end is given beyond a periodic boundary, or if the grid has a rotated pole. Then its
    end may be beyond the domain.
    """
    low, high = axis.edges
    if not axis.is_periodic or (low <= start <= high and low <= end <= high and not has_rotated_pole(grid)):
        return position_in_domain(axis, label, start), position_in_domain(axis, label, end)
    length = high - low
    start = low + (start - low) % length
    return start, start + (end - start + length / 2) % length - length / 2


def faces_between(rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The faces along a path of corners: whether each is a u face, and the row and column that it has."""
    return np.diff(rows) != 0, np.maximum(rows[1:], rows[:-1]), np.maximum(columns[1:], columns[:-1])
