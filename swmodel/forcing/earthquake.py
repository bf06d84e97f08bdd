"""The uplift of the sea floor by an earthquake, in any cells of a grid: subfaults, slopes and Kajiura's filter.

Sums of many subfaults are computed in squares of SQUARE_CELLS x SQUARE_CELLS cells of the grid and cached. So the value
of a cell has the same bits whichever cells are requested, on any number of processes.

References: `finite_fault`; Tanioka, Y. and Satake, K. (1996), Geophys. Res. Lett. 23, 861-864.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING

import numpy as np

from ..ocean.coordinates import points
from .finite_fault import MIN_INTERPOLATED, Subfaults, slip_fraction, sum_of_displacements

if TYPE_CHECKING:
    from ..config.options.grid import GridOptions

#: Rows and columns of a square of the grid in which a sum is computed at once.
SQUARE_CELLS = 128
#: Largest total size of the cached sums, bytes.
MAX_CACHED_BYTES = 2**29


class Earthquake:
    """An earthquake under a grid of longitudes and latitudes.

    Attributes:
        times: times of the uplifts, s after the origin time; only 0 if all subfaults slip at once.
    """

    def __init__(
        self,
        faults: Subfaults,
        grid: GridOptions,
        depth: Callable,
        interval: float = 0.0,
        has_horizontal: bool = False,
        is_filtered: bool = False,
    ):
        """Prepare the uplifts of an earthquake; they are computed when `uplift` needs them.

        Args:
            faults: its subfaults.
            grid: the section [grid] of a configuration.
            depth: function of row and column numbers to the depth before the earthquake, m, NaN where unknown.
            interval: time between uplifts while the rupture spreads, s; 0: all subfaults slip at once.
            has_horizontal: whether the horizontal motion of a sloping floor adds to the uplift.
            is_filtered: whether Kajiura's filter turns the uplift of the floor into that of the water's surface.
        """
        self.faults, self.grid, self.depth = faults, grid, depth
        self.has_horizontal, self.is_filtered = has_horizontal, is_filtered
        self.times: tuple[float, ...] = (0.0,)
        weights = np.ones((faults.count, 1))
        if interval and faults.end > 0:
            self.times = tuple((interval * np.arange(1 + int(np.ceil(faults.end / interval)))).tolist())
            weights = slip_fraction(faults, self.times)
        self._squares: dict[tuple[int, int], np.ndarray] = {}  # by their row and column in the grid of squares
        self._weights, self._cached_bytes = weights, 0
        self._lock = RLock()  # because a thread reads records ahead

    @property
    def moves_in_time(self) -> bool:
        return len(self.times) > 1

    def uplift(self, rows, columns, time_index: int = -1) -> np.ndarray:
        """The uplift at one of the `times`, by default the last, in rows and columns of the grid, m [rows, columns]."""
        rows, columns = np.asarray(rows), np.asarray(columns)
        with self._lock:
            return (
                self._filtered_uplifts[time_index][np.ix_(rows, columns)]
                if self.is_filtered
                else self._unfiltered_uplift(rows, columns, time_index)
            )

    @cached_property
    def _filtered_uplifts(self) -> list[np.ndarray]:
        """The filtered uplifts of the whole grid, m, [rows, columns] at each of the `times`."""
        from .kajiura import kajiura_filter

        rows, columns = np.arange(self.grid.ny), np.arange(self.grid.nx)
        at = points(self.grid, "centre", rows, columns)
        depth = np.nan_to_num(np.broadcast_to(self.depth(rows, columns), (len(rows), len(columns))))
        return [
            kajiura_filter(
                self._unfiltered_uplift(rows, columns, time_index), depth, at.dx, at.dy, (self.grid.periodic_x, False)
            )
            for time_index in range(len(self.times))
        ]

    def _unfiltered_uplift(self, rows, columns, time_index: int) -> np.ndarray:
        """The uplift of the floor, without Kajiura's filter, m, [rows, columns]."""
        if self.faults.count < MIN_INTERPOLATED:
            return self._weighted_uplifts(rows, columns, self._weights[:, [time_index]])[0]
        uplift = np.empty((len(rows), len(columns)))
        for square_row in np.unique(rows // SQUARE_CELLS).tolist():
            for square_column in np.unique(columns // SQUARE_CELLS).tolist():
                (row_positions,), (column_positions,) = (
                    np.nonzero(rows // SQUARE_CELLS == square_row),
                    np.nonzero(columns // SQUARE_CELLS == square_column),
                )
                square = self._square_uplifts(square_row, square_column)[time_index]
                uplift[np.ix_(row_positions, column_positions)] = square[
                    np.ix_(
                        rows[row_positions] - square_row * SQUARE_CELLS,
                        columns[column_positions] - square_column * SQUARE_CELLS,
                    )
                ]
        return uplift

    def _square_uplifts(self, square_row: int, square_column: int) -> np.ndarray:
        """The uplifts in a square of the grid at all `times`, m, [times, rows, columns]."""
        if (square_row, square_column) not in self._squares:
            rows, columns = (
                np.arange(n * SQUARE_CELLS, min((n + 1) * SQUARE_CELLS, cells))
                for n, cells in ((square_row, self.grid.ny), (square_column, self.grid.nx))
            )
            square = self._weighted_uplifts(rows, columns, self._weights)
            while self._squares and self._cached_bytes + square.nbytes > MAX_CACHED_BYTES:
                self._cached_bytes -= self._squares.pop(next(iter(self._squares))).nbytes
            self._squares[square_row, square_column] = square
            self._cached_bytes += square.nbytes
        return self._squares[square_row, square_column]

    def _weighted_uplifts(self, rows, columns, weights) -> np.ndarray:
        """Uplifts by the slip of each subfault times its `weights` [subfaults, sums], m, [sums, rows, columns]."""
        at = points(self.grid, "centre", rows, columns)
        displacement = sum_of_displacements(self.faults, weights, at, self.grid, self.has_horizontal)
        if not self.has_horizontal:
            return displacement[:, 0]
        (up, east, north), (slope_x, slope_y) = np.moveaxis(displacement, 1, 0), self._slopes(rows, columns)
        cosine, sine = at.axis_angle or (1.0, 0.0)
        return up + (cosine * east + sine * north) * slope_x + (cosine * north - sine * east) * slope_y

    def _slopes(self, rows, columns) -> list[np.ndarray]:
        """Slopes of the depth along x and y, dimensionless, from the depths on both sides of a cell.

        At an edge of the grid the cell's own depth replaces the one beyond. The slope is 0 where a depth is unknown.
        """
        grid, at, slopes = self.grid, points(self.grid, "centre", rows, columns), []
        for axis, (indices, cells, is_periodic, cell_length) in enumerate(
            ((columns, grid.nx, grid.periodic_x, at.dx), (rows, grid.ny, False, at.dy))
        ):
            lower, upper = indices - 1, indices + 1
            if not is_periodic:
                lower, upper = np.maximum(lower, 0), np.minimum(upper, cells - 1)
            distance = (upper - lower)[(slice(None), None) if axis else (None, slice(None))] * cell_length
            lower_depth, upper_depth = (
                self.depth(*((each % cells, columns) if axis else (rows, each % cells))) for each in (lower, upper)
            )
            slopes.append(np.nan_to_num((upper_depth - lower_depth) / np.where(distance > 0, distance, np.inf)))
        return slopes
