"""Staircases: lines on the grid as paths from corner to corner of its cells, along faces."""

from __future__ import annotations

import numpy as np

from .coordinates import axes, has_rotated_pole, to_grid_axes
from .places import position_in_domain


def stair_corners(grid, label: str, start, end) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the corners of a staircase along a line.

    The staircase goes from the corner nearest to the start of the line to the corner nearest to its end, and is
    monotonic in x and y. Corner (j, i) is north-east of cell (j, i). If the staircase crosses a periodic boundary, its
    row or column numbers continue beyond the grid. Start and end are places: x and y in m, or longitude and latitude.

    UsageError: as for `position_in_domain`.
    """
    ends_by_axis = zip(axes(grid), *(to_grid_axes(grid, *place) for place in (start, end)), strict=True)
    (i_start, i_end), (j_start, j_end) = (
        [
            round(float(axis.fractional_index(position)) - 0.5)
            for position in ends_on_axis(grid, axis, label, float(first), float(last))
        ]
        for axis, first, last in ends_by_axis
    )
    total_x, total_y = abs(i_end - i_start), abs(j_end - j_start)
    step_x, step_y = int(np.sign(i_end - i_start)), int(np.sign(j_end - j_start))
    rows, columns, steps_x, steps_y = [j_start], [i_start], 0, 0  # numbers of steps so far
    while steps_x < total_x or steps_y < total_y:
        # Of the two possible steps, take the one whose middle is nearer to the line.
        goes_in_x = steps_y == total_y or (
            steps_x < total_x and (2 * steps_x + 1) * total_y < (2 * steps_y + 1) * total_x
        )
        steps_x, steps_y = steps_x + goes_in_x, steps_y + (not goes_in_x)
        rows.append(j_start + step_y * steps_y)
        columns.append(i_start + step_x * steps_x)
    return np.array(rows), np.array(columns)


def ends_on_axis(grid, axis, label: str, start: float, end: float) -> tuple[float, float]:
    """Start and end of a line as positions along an Axis.

    A line with both ends in the domain does not cross a periodic boundary. If an end is beyond the domain, or if the
    grid has a rotated pole, the line takes the shorter way, and its end may lie beyond the domain.
    """
    low, high = axis.edges
    if not axis.is_periodic or (low <= start <= high and low <= end <= high and not has_rotated_pole(grid)):
        return position_in_domain(axis, label, start), position_in_domain(axis, label, end)
    length = high - low
    start = low + (start - low) % length
    return start, start + (end - start + length / 2) % length - length / 2


def faces_between(rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The faces along a path of corners: whether each is a u face, and the row and column of each."""
    return np.diff(rows) != 0, np.maximum(rows[1:], rows[:-1]), np.maximum(columns[1:], columns[:-1])
