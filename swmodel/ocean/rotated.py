"""Longitudes and latitudes about another north pole than the Earth's, for grids with both poles on land.

They follow CF's grid mapping rotated_latitude_longitude: the meridian 0 runs from the pole of the grid over the north
pole of the Earth. So the point (0, 0) has the longitude of the pole + 180 degrees, and 90 degrees minus its latitude.
All angles are in degrees; arrays broadcast against each other.
"""

from __future__ import annotations

import numpy as np


def directions(lon, lat) -> np.ndarray:
    """Points [..., 3] of the unit sphere at longitudes and latitudes."""
    lon, lat = np.broadcast_arrays(np.radians(lon), np.radians(lat))
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=-1)


def positions(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Longitudes, -180 to 180, and latitudes of points of the unit sphere [..., 3]."""
    x, y, z = np.moveaxis(points, -1, 0)
    return np.degrees(np.arctan2(y, x)), np.degrees(np.arctan2(z, np.hypot(x, y)))


def frame(pole: tuple[float, float]) -> np.ndarray:
    """The axes of a grid with this longitude and latitude of its north pole as rows [3, 3], along the Earth's axes."""
    up, first = directions(*pole), directions(pole[0] + 180.0, 90.0 - pole[1])
    return np.stack([first, np.cross(up, first), up])


def to_earth(pole: tuple[float, float], lon, lat) -> tuple[np.ndarray, np.ndarray]:
    """Geographic longitudes and latitudes of positions about the pole."""
    return positions(directions(lon, lat) @ frame(pole))


def from_earth(pole: tuple[float, float], lon, lat) -> tuple[np.ndarray, np.ndarray]:
    """Positions about the pole of geographic longitudes and latitudes."""
    return positions(directions(lon, lat) @ frame(pole).T)


def turn(pole: tuple[float, float], lon, lat) -> tuple[np.ndarray, np.ndarray]:
    """Cosine and sine of the angle from eastward to the x axis of the grid, counter-clockwise.

    A vector with the components (e, n) eastward and northward has (c e + s n, -s e + c n) along the axes of the grid.
    `lon` and `lat` are positions about the pole.
    """
    axes = frame(pole)
    along = directions(np.asarray(lon) + 90.0, 0.0) @ axes
    true_lon, true_lat = np.radians(to_earth(pole, lon, lat))
    east = np.stack([-np.sin(true_lon), np.cos(true_lon), np.zeros_like(true_lon)], axis=-1)
    north = np.stack(
        [-np.sin(true_lat) * np.cos(true_lon), -np.sin(true_lat) * np.sin(true_lon), np.cos(true_lat)], axis=-1
    )
    return (along * east).sum(axis=-1), (along * north).sum(axis=-1)
