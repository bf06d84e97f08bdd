"""Depth and coast, interpolated between the points of a regular table of depths; for cases of real seas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class DepthTable:
    """Depths at points in rows and columns, for interpolation; constant beyond the edges."""

    depths: np.ndarray  # m, 0 on land, float64 [row, column]
    is_periodic: bool = False  # whether the first column follows the last

    @classmethod
    def load(cls, path, is_periodic: bool = False) -> DepthTable:
        """The array called `depth` in a NumPy file (.npz)."""
        with np.load(path) as file:
            return cls(file["depth"].astype(np.float64), is_periodic)

    def neighbours(self, row, column) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the depth, m, and the bilinear weight of each of the four table points around the positions.

        Positions are fractional row and column numbers of the table.
        """
        row, column = np.broadcast_arrays(row, column)
        (ny, nx), j, i = self.depths.shape, np.floor(row).astype(int), np.floor(column).astype(int)
        for north in (0, 1):
            for east in (0, 1):
                weight = np.abs(1 - north - (row - j)) * np.abs(1 - east - (column - i))
                table_column = (i + east) % nx if self.is_periodic else np.clip(i + east, 0, nx - 1)
                yield self.depths[np.clip(j + north, 0, ny - 1), table_column], weight

    def water_fraction(self, row, column) -> np.ndarray:
        """The sum of the bilinear weights of the water points among the four table points around each position."""
        fraction: Any = sum(weight * (depth > 0) for depth, weight in self.neighbours(row, column))
        return fraction

    def depth(self, row, column) -> np.ndarray:
        """The weighted mean depth of the water points among the four, m; NaN where more than half is land."""
        wet = self.water_fraction(row, column)
        total = sum(weight * depth for depth, weight in self.neighbours(row, column))
        return np.divide(total, wet, out=np.full(total.shape, np.nan), where=wet >= 0.5)

    def mask(self, row, column) -> np.ndarray:
        """1 where the water fraction is at least a half, else 0."""
        return (self.water_fraction(row, column) >= 0.5).astype(float)
