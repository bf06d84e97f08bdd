"""Longitudes and latitudes about a rotated pole, for grids with both poles on land.

They follow CF's grid mapping rotated_latitude_longitude: the meridian 0 runs from the pole of the grid over the north
pole of the Earth. So the point (0, 0) is at the geographic longitude of the pole plus 180 degrees, and at 90 degrees
minus the latitude of the pole. All angles are in degrees; arrays broadcast against each other.
"""

from __future__ import annotations

import numpy as np


def unit_vectors(lon, lat) -> np.ndarray:
    """Points [..., 3] of the unit sphere at longitudes and latitudes."""
    lon, lat = np.broadcast_arrays(np.radians(lon), np.radians(lat))
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=-1)


def lon_lat(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Longitudes, -180 to 180, and latitudes of points of the unit sphere [..., 3]."""
    x, y, z = np.moveaxis(points, -1, 0)
    return np.degrees(np.arctan2(y, x)), np.degrees(np.arctan2(z, np.hypot(x, y)))


def rotation_matrix(pole: tuple[float, float]) -> np.ndarray:
    """The axes of the grid with its north pole at this longitude and latitude, in the Earth's axes, as rows [3, 3]."""
    pole_axis, x_axis = unit_vectors(*pole), unit_vectors(pole[0] + 180.0, 90.0 - pole[1])
    return np.stack([x_axis, np.cross(pole_axis, x_axis), pole_axis])


def to_earth(pole: tuple[float, float], lon, lat) -> tuple[np.ndarray, np.ndarray]:
    """Geographic longitudes and latitudes of positions about the pole."""
    return lon_lat(unit_vectors(lon, lat) @ rotation_matrix(pole))


def from_earth(pole: tuple[float, float], lon, lat) -> tuple[np.ndarray, np.ndarray]:
    """Positions about the pole of geographic longitudes and latitudes."""
    return lon_lat(unit_vectors(lon, lat) @ rotation_matrix(pole).T)


def axis_angle(pole: tuple[float, float], lon, lat) -> tuple[np.ndarray, np.ndarray]:
    """Cosine and sine of the angle from eastward to the x axis of the grid, counter-clockwise.

    A vector with the components (e, n) eastward and northward has the components (c e + s n, -s e + c n) along the
    axes of the grid. `lon` and `lat` are positions about the pole.
    """
    axes = rotation_matrix(pole)
    eastward_of_grid = unit_vectors(np.asarray(lon) + 90.0, 0.0) @ axes
    true_lon, true_lat = np.radians(to_earth(pole, lon, lat))
    east = np.stack([-np.sin(true_lon), np.cos(true_lon), np.zeros_like(true_lon)], axis=-1)
    north = np.stack(
        [-np.sin(true_lat) * np.cos(true_lon), -np.sin(true_lat) * np.sin(true_lon), np.cos(true_lat)], axis=-1
    )
    return (eastward_of_grid * east).sum(axis=-1), (eastward_of_grid * north).sum(axis=-1)
