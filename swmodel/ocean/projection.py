"""Projected coordinate reference systems, by PROJ: longitudes, latitudes and directions at eastings and northings.

A system is a text that `pyproj.CRS` understands, such as "EPSG:32633" or WKT. Eastings and northings are in m,
longitudes and latitudes, WGS 84, in degrees. Arrays broadcast against each other.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import numpy as np

from ..extras import missing_package_reason

#: Longitude and latitude on the Earth.
GEOGRAPHIC_CRS = "EPSG:4326"

#: Largest distance of a position from itself after it was transformed to longitude and latitude and back, m.
MAX_RETURN_DISTANCE = 1.0

#: Largest relative error of lengths in a projection; that of UTM is 0.1 % in its zone, that of EPSG:3035 2 % in Europe.
MAX_SCALE_ERROR = 0.03

#: Number of lattices of points in each cache: the four locations of the C-grid in one block.
KEPT_LATTICES = 4


@cache
def parse(crs: str) -> Any:
    """The `pyproj.CRS` of a system. ValueError: pyproj does not know it."""
    import pyproj

    try:
        return pyproj.CRS.from_user_input(crs)
    except pyproj.exceptions.CRSError:
        raise ValueError(f'there is no coordinate reference system "{crs}"') from None


@cache
def transformer(crs: str) -> Any:
    """The `pyproj.Transformer` from eastings and northings to longitudes and latitudes."""
    import pyproj

    return pyproj.Transformer.from_crs(parse(crs), GEOGRAPHIC_CRS, always_xy=True)


def find_problem(crs: str) -> str:
    """Why a grid cannot have this coordinate reference system, or "": it must be projected and in metres."""
    if reason := missing_package_reason(crs, "pyproj"):
        return reason
    try:
        system = parse(crs)
    except ValueError as error:
        return f'{error}; must be a projected one in metres, such as "EPSG:32633"'
    if not system.is_projected:
        return f"{crs}, {system.name}, is not a projected coordinate reference system: x and y must be in metres"
    if units := {axis.unit_name for axis in system.axis_info[:2] if axis.unit_conversion_factor != 1}:
        return f"{crs}, {system.name}, is in {' and '.join(units)}: x and y must be in metres"
    return ""


def find_problem_of_domain(crs: str, west: float, east: float, south: float, north: float) -> str:
    """Why a grid with these edges, m, cannot have this coordinate reference system, or "".

    The domain must be on the Earth, lengths must be right within MAX_SCALE_ERROR, and axes an easting and a northing.
    """
    x, y = np.meshgrid(np.linspace(west, east, 3), np.linspace(south, north, 3))
    round_trip = eastings_northings(crs, *lon_lat(crs, x, y))
    with np.errstate(invalid="ignore"):
        is_on_earth = np.hypot(round_trip[0] - x, round_trip[1] - y) <= MAX_RETURN_DISTANCE
    if not is_on_earth.all():
        return (
            f"eastings {west:.10g} to {east:.10g} and northings {south:.10g} to {north:.10g} m are not on the Earth in "
            f"{crs}; are they exchanged, or of another system?"
        )
    if (error := max_scale_error(crs, x, y)) > MAX_SCALE_ERROR:
        return (
            f"lengths in {crs} differ by {100 * error:.3g} % from those on the Earth at eastings {west:.10g} to "
            f"{east:.10g} and northings {south:.10g} to {north:.10g} m; take a system of the region, such as its UTM "
            "zone (are easting and northing exchanged?)"
        )
    if not any(has_eastings_northings(crs, *position) for position in zip(x.flat, y.flat, strict=True)):
        return f"the axes of {crs} are not an easting and a northing; take a system in which they are"
    return ""


def max_scale_error(crs: str, x, y) -> float:
    """The largest relative error of lengths of the projection in any direction."""
    factors = scale_factors(crs, *lon_lat(crs, x, y))
    return float(np.abs(np.array([factors.tissot_semimajor, factors.tissot_semiminor]) - 1.0).max())


def has_eastings_northings(crs: str, x: float, y: float) -> bool:
    """Whether x is an easting and y a northing at a position, so that they are neither reversed nor exchanged."""
    lon, lat = lon_lat(crs, x + np.array([0.0, 1.0, 0.0]), y + np.array([0.0, 0.0, 1.0]))
    cosine, sine = axis_angle(crs, lon[0], lat[0])
    east, north = np.cos(np.radians(lat[0])) * ((lon[1:] - lon[0] + 180.0) % 360.0 - 180.0), lat[1:] - lat[0]
    along_axes = np.array([cosine * east[0] + sine * north[0], cosine * north[1] - sine * east[1]])
    return bool((along_axes > 0.9 * np.hypot(east, north)).all())


def scale_factors(crs: str, lon, lat) -> Any:
    """The `pyproj.proj.Factors` of the projection at longitudes and latitudes."""
    import pyproj

    lon, lat = np.broadcast_arrays(lon, lat)
    return pyproj.Proj(parse(crs)).get_factors(lon, lat)


def lon_lat(crs: str, x, y) -> tuple[np.ndarray, np.ndarray]:
    """Longitudes and latitudes of eastings and northings, infinite beyond the system."""
    return transformer(crs).transform(*np.broadcast_arrays(x, y))


def eastings_northings(crs: str, lon, lat) -> tuple[np.ndarray, np.ndarray]:
    """Eastings and northings of longitudes and latitudes, infinite beyond the system."""
    return transformer(crs).transform(*np.broadcast_arrays(lon, lat), direction="INVERSE")


def axis_angle(crs: str, lon, lat) -> tuple[np.ndarray, np.ndarray]:
    """Cosine and sine of the angle from eastward to the x axis at longitudes and latitudes, counter-clockwise.

    It is minus the convergence of meridians: in a system that is not conformal, the angle from northward to the y axis.
    """
    angle = -np.radians(scale_factors(crs, lon, lat).meridian_convergence)
    return np.cos(angle), np.sin(angle)


@lru_cache(maxsize=KEPT_LATTICES)
def lattice_lon_lat(crs: str, x: bytes, y: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Longitudes and latitudes [rows, columns] at the bytes of eastings [columns] and northings [rows], float64."""
    return as_constants(lon_lat(crs, np.frombuffer(x), np.frombuffer(y)[:, None]))


@lru_cache(maxsize=KEPT_LATTICES)
def lattice_axis_angle(crs: str, x: bytes, y: bytes) -> tuple[np.ndarray, np.ndarray]:
    """The cosine and sine of `axis_angle` at the same points, [rows, columns]."""
    return as_constants(axis_angle(crs, *lattice_lon_lat(crs, x, y)))


def as_constants(arrays: tuple[np.ndarray, ...]) -> Any:
    """The arrays, made read-only because a cache returns them to every caller."""
    for each in arrays:
        each.flags.writeable = False
    return arrays


def cf_attributes(crs: str) -> dict[str, Any]:
    """The attributes of a grid mapping of CF, with WKT in `crs_wkt`."""
    return parse(crs).to_cf()


def crs_of_attributes(attributes) -> str:
    """The projected system that the attributes of a grid mapping of CF name, as WKT; "" for a geographic one.

    ValueError: they do not describe a system.
    """
    import pyproj

    try:
        system = pyproj.CRS.from_cf(dict(attributes))
    except (pyproj.exceptions.CRSError, KeyError) as error:
        raise ValueError(str(error)) from None
    return system.to_wkt() if system.is_projected else ""


@cache
def are_equal(crs: str, other: str) -> bool:
    """Whether two systems have the same eastings and northings."""
    return crs == other or parse(crs).equals(parse(other), ignore_axis_order=True)
