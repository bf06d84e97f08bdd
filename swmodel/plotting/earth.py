"""Fields of grids with a pole of their own on true longitudes and latitudes, where pictures show them."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from ..ocean.rotated import from_earth, to_earth

#: Points of a picture in the width of a cell; most of them along a parallel.
FINER, MOST = 2, 1440
#: The western edge of a map of the whole Earth: no ocean lies on both of its sides but the Southern and the Arctic.
WEST = 20.0


class Places(NamedTuple):
    """Points of a regular grid of longitudes `x` and latitudes `y`, degrees, and where they lie on the model's grid.

    Attributes:
        rows, columns: fractional indices of the field's points, [y, x].
        outside: whether a point lies beyond a side of the grid; None: the grid is a ring round its pole.
    """

    x: np.ndarray
    y: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    outside: np.ndarray | None


def places(pole: tuple[float, float], centres: tuple, water: np.ndarray, x: np.ndarray, y: np.ndarray) -> Places:
    """The points of a map that holds all cells with water.

    Args:
        pole: longitude and latitude of the grid's north pole.
        centres: positions of the cells' centres about it along x and along y, degrees, evenly spaced.
        water: where the grid has water, [y, x].
        x, y: positions of a field's points.
    """
    dx, dy = x[1] - x[0], y[1] - y[0]
    ring = x.size * dx > 360 - dx / 2
    lons, lats = axes(pole, *centres, water, ring)
    about, up = from_earth(pole, lons, lats[:, None])
    columns, rows = ((about - x[0] + dx / 2) % 360.0) / dx - 0.5, (up - y[0]) / dy
    beyond = (rows < -0.5) | (rows > y.size - 0.5) | (columns > x.size - 0.5)
    return Places(lons, lats, rows, columns, None if ring else beyond)


def axes(pole: tuple[float, float], x: np.ndarray, y: np.ndarray, water: np.ndarray, ring: bool) -> list[np.ndarray]:
    """Longitudes and latitudes of the map."""
    rows, columns = np.nonzero(water if water.any() else np.ones_like(water))
    lon, lat = to_earth(pole, x[columns], y[rows])
    middle, cell = to_earth(pole, x.mean(), y.mean())[0], max(x[1] - x[0], y[1] - y[0])
    lon = (lon - middle + 180.0) % 360.0 + middle - 180.0
    around = ring or np.ptp(lon) > 330.0
    west, east = (WEST, WEST + 360.0) if around else (lon.min() - cell, lon.max() + cell)
    step = max(min(x[1] - x[0], y[1] - y[0]) / FINER, (east - west) / MOST)
    ends = (west, east), (max(lat.min() - cell, -90.0), min(lat.max() + cell, 90.0))
    edges = [np.linspace(*each, max(2, round((each[1] - each[0]) / step)) + 1) for each in ends]
    return [(each[1:] + each[:-1]) / 2 for each in edges]


def moved(values: np.ma.MaskedArray, to: Places, circle: bool = False) -> np.ma.MaskedArray:
    """Values [y, x] of the grid at Places: bilinear, from the water alone near a coast, land where the cell is land.

    Args:
        circle: whether values are angles in degrees.
    """
    ny, nx = values.shape

    def at(j, i):
        return values[np.clip(j, 0, ny - 1), i % nx if to.outside is None else np.clip(i, 0, nx - 1)]

    near = at(np.rint(to.rows).astype(int), np.rint(to.columns).astype(int))
    low, left = (np.floor(each).astype(int) for each in (to.rows, to.columns))
    more = np.zeros(near.shape)
    for up, right in product((0, 1), (0, 1)):
        weight = abs(1 - up - (to.rows - low)) * abs(1 - right - (to.columns - left))
        apart = at(low + up, left + right) - near
        more += np.ma.filled(weight * ((apart + 180.0) % 360.0 - 180.0 if circle else apart), 0.0)
    beyond = to.outside if to.outside is not None else (to.rows < -0.5) | (to.rows > ny - 0.5)
    return np.ma.masked_where(beyond, near + more)
