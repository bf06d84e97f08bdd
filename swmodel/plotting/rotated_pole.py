"""Interpolation of fields on rotated-pole grids to true longitudes and latitudes, as pictures show them."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from ..ocean.rotated_pole import from_earth, to_earth

#: Points of a picture per cell width, and their largest number along a parallel.
POINTS_PER_CELL, MAX_POINTS_PER_PARALLEL = 2, 1440
#: The western edge of a map of the whole Earth, which cuts no ocean but the Southern and the Arctic.
GLOBAL_WEST_DEGREES = 20.0


class MapPoints(NamedTuple):
    """Points of a regular grid of longitudes `x` and latitudes `y`, degrees, and their positions on the model's grid.

    Attributes:
        rows, columns: fractional row and column of each point among the points of the field, [y, x].
        outside_grid: whether a point lies beyond a side of the grid; None: the grid is periodic about its pole.
    """

    x: np.ndarray
    y: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    outside_grid: np.ndarray | None


def make_map_points(
    pole: tuple[float, float],
    centres: tuple[np.ndarray, np.ndarray],
    water_mask: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
) -> MapPoints:
    """The points of a map that contains all cells with water.

    Args:
        pole: longitude and latitude of the grid's north pole.
        centres: longitudes and latitudes of the cells' centres about that pole, degrees, evenly spaced.
        water_mask: where the grid has water, [y, x].
        x, y: longitudes and latitudes of a field's points about that pole, degrees.
    """
    dx, dy = x[1] - x[0], y[1] - y[0]
    is_periodic = x.size * dx > 360 - dx / 2
    lons, lats = map_axes(pole, *centres, water_mask, is_periodic)
    rotated_lon, rotated_lat = from_earth(pole, lons, lats[:, None])
    columns, rows = ((rotated_lon - x[0] + dx / 2) % 360.0) / dx - 0.5, (rotated_lat - y[0]) / dy
    outside_grid = (rows < -0.5) | (rows > y.size - 0.5) | (columns > x.size - 0.5)
    return MapPoints(lons, lats, rows, columns, None if is_periodic else outside_grid)


def map_axes(
    pole: tuple[float, float], x: np.ndarray, y: np.ndarray, water_mask: np.ndarray, is_periodic: bool
) -> list[np.ndarray]:
    """Longitudes and latitudes, degrees, of the points of `make_map_points`; `x`, `y`: its `centres`."""
    rows, columns = np.nonzero(water_mask if water_mask.any() else np.ones_like(water_mask))
    lon, lat = to_earth(pole, x[columns], y[rows])
    centre_lon, cell = to_earth(pole, x.mean(), y.mean())[0], max(x[1] - x[0], y[1] - y[0])
    lon = (lon - centre_lon + 180.0) % 360.0 + centre_lon - 180.0
    west, east = lon.min() - cell, lon.max() + cell
    if is_periodic or np.ptp(lon) > 330.0:
        west, east = GLOBAL_WEST_DEGREES, GLOBAL_WEST_DEGREES + 360.0
    spacing = max(min(x[1] - x[0], y[1] - y[0]) / POINTS_PER_CELL, (east - west) / MAX_POINTS_PER_PARALLEL)
    limits = (west, east), (max(lat.min() - cell, -90.0), min(lat.max() + cell, 90.0))
    edges = [np.linspace(*each, max(2, round((each[1] - each[0]) / spacing)) + 1) for each in limits]
    return [(each[1:] + each[:-1]) / 2 for each in edges]


def interpolate_to_map(values: np.ma.MaskedArray, points: MapPoints, is_angle: bool = False) -> np.ma.MaskedArray:
    """Values [y, x] of the grid, interpolated bilinearly to MapPoints.

    A point whose nearest cell is land is masked. Near a coast the nearest value replaces masked ones. `is_angle`:
    whether values are angles in degrees.
    """
    ny, nx = values.shape

    def values_at(j, i):
        return values[np.clip(j, 0, ny - 1), i % nx if points.outside_grid is None else np.clip(i, 0, nx - 1)]

    nearest = values_at(np.rint(points.rows).astype(int), np.rint(points.columns).astype(int))
    row_below, column_left = (np.floor(each).astype(int) for each in (points.rows, points.columns))
    correction = np.zeros(nearest.shape)
    for up, right in product((0, 1), (0, 1)):
        weight = abs(1 - up - (points.rows - row_below)) * abs(1 - right - (points.columns - column_left))
        difference = values_at(row_below + up, column_left + right) - nearest
        correction += np.ma.filled(weight * ((difference + 180.0) % 360.0 - 180.0 if is_angle else difference), 0.0)
    outside_grid = points.outside_grid
    if outside_grid is None:
        outside_grid = (points.rows < -0.5) | (points.rows > ny - 0.5)
    return np.ma.masked_where(outside_grid, nearest + correction)
