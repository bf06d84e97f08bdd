"""Positions of the points of the C-grid, their distances, and the sizes of cells: on a plane or on a sphere.

Positions are in m on a plane, in degrees on a sphere (`axes`); lengths are in m along the surface on both. On a
projected grid, a plane with `grid.crs`, positions are eastings and northings, and points also have longitudes and
latitudes; lengths are those of the projection.

A frame is what the directions of axes, and positions along them, refer to: None for longitude and latitude, a pole
(longitude, latitude) of a rotated-pole grid, or the text of a projected coordinate reference system.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from math import radians
from typing import NamedTuple

import numpy as np

from . import projection
from .grid import Metric, plane_metrics, sphere_metrics
from .rotated_pole import axis_angle, from_earth, to_earth, unit_vectors

#: (Northward, eastward) distance of each location from the centre of its cell, in cells.
LOCATION_OFFSETS = {"centre": (0.0, 0.0), "u": (0.0, 0.5), "v": (0.5, 0.0), "corner": (0.5, 0.5)}

FULL_CIRCLE_DEGREES = 360.0

#: Largest number of rows, and of columns, of a sample of cell centres (`sample_centres`).
MAX_SAMPLE_LINES = 33

#: What positions refer to: see the docstring of this module.
Frame = str | tuple[float, float] | None


class Axis(NamedTuple):
    name: str  # x, y, lon or lat; rlon or rlat on a rotated-pole grid
    unit: str  # m or degrees
    first: float  # position of the centres of the first cells
    spacing: float  # distance between centres
    n_cells: int
    is_periodic: bool  # whether the last cells are neighbours of the first
    is_longitude: bool = False  # whether positions a full circle apart are the same

    @property
    def edges(self) -> tuple[float, float]:
        low = self.first - 0.5 * self.spacing
        return low, low + self.n_cells * self.spacing

    def wrap(self, position):
        """The position; a longitude is shifted by full circles to lie at most one circle east of the western edge."""
        if not self.is_longitude:
            return position
        low = self.edges[0]
        return np.where(position == low + FULL_CIRCLE_DEGREES, position, low + (position - low) % FULL_CIRCLE_DEGREES)

    def fractional_index(self, position):
        """A position as an index along the axis: its distance from the first centre, in cells."""
        return (position - self.first) / self.spacing

    def describe_position(self, position: float, digits: int = 10) -> str:
        return f"{self.name} = {position:.{digits}g} {self.unit}"

    def describe_extent(self, digits: int = 10) -> str:
        low, high = self.edges
        return f"{self.name} {low:.{digits}g} to {high:.{digits}g} {self.unit}"


class Axes(NamedTuple):
    x: Axis
    y: Axis


@dataclass(frozen=True)
class Points:
    """Points of one location in some rows and columns of the grid, float64.

    On a sphere x is the distance along the parallel from the meridian of `grid.origin`, and y the distance along the
    meridian from the parallel of `grid.origin`; x, its origin, dx and length_x then depend on the row.

    Attributes:
        x, y: positions in m, [1, columns] (on a sphere [rows, columns]) and [rows, 1].
        i, j: column and row numbers in the grid, [1, columns] and [rows, 1].
        origin: position (x0, y0) of the centre of cell (0, 0), m.
        length_x, length_y, dx, dy: sizes of the domain, and of the cells, m.
        find_lon_lat: function that returns `lon_lat`; None: the points have no longitudes and latitudes.
        find_axis_angle: function that returns `axis_angle`; None: the x axis is eastward.
    """

    x: np.ndarray
    y: np.ndarray
    i: np.ndarray
    j: np.ndarray
    origin: tuple
    length_x: float | np.ndarray
    length_y: float
    dx: float | np.ndarray
    dy: float
    find_lon_lat: Callable[[], tuple[np.ndarray, np.ndarray]] | None = None
    find_axis_angle: Callable[[], tuple[np.ndarray, np.ndarray]] | None = None

    @property
    def from_west(self) -> np.ndarray:
        """Distance from the western side of the domain along the x axis, m, of the shape of x."""
        return self.x - self.origin[0] + self.dx / 2

    @property
    def from_south(self) -> np.ndarray:
        """Distance from the southern side of the domain along the y axis, m, of the shape of y."""
        return self.y - self.origin[1] + self.dy / 2

    @cached_property
    def lon_lat(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Longitude [1, columns] and latitude [rows, 1], degrees; both [rows, columns] if axes are rotated; or None."""
        return self.find_lon_lat() if self.find_lon_lat else None

    @cached_property
    def axis_angle(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Cosine and sine [rows, columns] of the angle from eastward to the x axis; None: the axis is eastward."""
        return self.find_axis_angle() if self.find_axis_angle else None

    @property
    def lon(self) -> np.ndarray:
        """Longitudes, degrees."""
        return self._require_lon_lat("lon")[0]

    @property
    def lat(self) -> np.ndarray:
        """Latitudes, degrees."""
        return self._require_lon_lat("lat")[1]

    def _require_lon_lat(self, name: str):
        if self.lon_lat is None:
            raise AttributeError(
                f"at.{name}: a plane has no longitudes and latitudes; use grid.kind=latlon or grid.crs"
            )
        return self.lon_lat


def is_spherical(grid) -> bool:
    """Whether the axes of a grid are in degrees."""
    return grid.kind == "latlon"


def has_lon_lat(grid) -> bool:
    """Whether the points of a grid have longitudes and latitudes: on a sphere, and on a projected grid."""
    return is_spherical(grid) or bool(grid.crs)


def frame_of(grid) -> Frame:
    """The frame of a grid that has longitudes and latitudes."""
    return grid.crs or grid.pole


def has_rotated_axes(grid) -> bool:
    """Whether the axes are not eastward and northward although points have longitudes and latitudes."""
    return bool(grid.crs) or has_rotated_pole(grid)


def has_rotated_pole(grid) -> bool:
    """Whether the grid is a rotated-pole grid, so that its axes are not eastward and northward."""
    return grid.kind == "latlon" and grid.pole is not None


def axes(grid) -> Axes:
    """The axes of a grid. On a plane `grid.origin` sets the origin of x and y; with `grid.crs`, x is an easting."""
    if is_spherical(grid):
        lon, lat = ("rlon", "rlat") if has_rotated_pole(grid) else ("lon", "lat")
        return Axes(
            Axis(lon, "degrees", grid.west + 0.5 * grid.dlon, grid.dlon, grid.nx, grid.periodic_x, True),
            Axis(lat, "degrees", grid.south + 0.5 * grid.dlat, grid.dlat, grid.ny, False),
        )
    x0, y0 = {
        "edge": (0.5 * grid.dx, 0.5 * grid.dy),
        "centre": (0.0, 0.0),
        "middle": (-0.5 * (grid.nx - 1) * grid.dx, -0.5 * (grid.ny - 1) * grid.dy),
    }[grid.origin]
    if grid.crs:
        x0, y0 = grid.easting + 0.5 * grid.dx, grid.northing + 0.5 * grid.dy
    return Axes(
        Axis("x", "m", x0, grid.dx, grid.nx, grid.periodic_x), Axis("y", "m", y0, grid.dy, grid.ny, grid.periodic_y)
    )


def edges(grid) -> tuple[float, float, float, float]:
    """The western, eastern, southern and northern edges of the domain, in the units of its axes."""
    x_axis, y_axis = axes(grid)
    return *x_axis.edges, *y_axis.edges


def coordinate_names_and_unit(grid) -> tuple[tuple[str, str], str]:
    """The names of the coordinates of places, and their unit: x and y in m, or longitude and latitude in degrees."""
    return (("lon", "lat"), "degrees") if is_spherical(grid) else (("x", "y"), "m")


def to_grid_axes(grid, x, y) -> tuple:
    """Positions along the axes, from places: x and y in m, or geographic longitudes and latitudes."""
    if not has_rotated_pole(grid):
        return x, y
    rotated = from_earth(grid.pole, x, y)
    return axes(grid).x.wrap(rotated[0]), rotated[1]


def from_grid_axes(grid, x, y) -> tuple:
    """Places from positions along the axes: the inverse of `to_grid_axes`."""
    return to_earth(grid.pole, x, y) if has_rotated_pole(grid) else (x, y)


def cells_containing(grid, x, y) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the cells that contain positions, [n]; the domain's far edges belong to its last cells."""
    x_axis, y_axis = axes(grid)
    rows, columns = y_axis.fractional_index(np.asarray(y)), x_axis.fractional_index(x_axis.wrap(np.asarray(x)))
    numbers = (np.floor(index + 0.5).astype(np.int64) for index in (rows, columns))
    return tuple(np.clip(number, 0, n - 1) for number, n in zip(numbers, (grid.ny, grid.nx), strict=True))


def to_frame(frame: Frame, lon, lat) -> tuple:
    """Positions along the axes of a frame, degrees or m, from longitudes and latitudes."""
    if frame is None:
        return lon, lat
    return projection.eastings_northings(frame, lon, lat) if isinstance(frame, str) else from_earth(frame, lon, lat)


def from_frame(frame: Frame, x, y) -> tuple:
    """Longitudes and latitudes of positions along the axes of a frame: the inverse of `to_frame`."""
    if frame is None:
        return x, y
    return projection.lon_lat(frame, x, y) if isinstance(frame, str) else to_earth(frame, x, y)


def are_same_frames(frame: Frame, other: Frame) -> bool:
    """Whether a place has the same position in two frames."""
    return frame == other or (isinstance(frame, str) and isinstance(other, str) and projection.are_equal(frame, other))


def angle_in_frame(frame: str | tuple[float, float], lon, lat) -> tuple[np.ndarray, np.ndarray]:
    """Cosine and sine of the angle from eastward to the x axis of a frame, at longitudes and latitudes."""
    if isinstance(frame, str):
        return projection.axis_angle(frame, lon, lat)
    return axis_angle(frame, *from_earth(frame, lon, lat))


def axis_angle_along(grid, x, y) -> tuple[np.ndarray, np.ndarray] | None:
    """Cosine and sine of the angle from eastward to the x axis, at positions along the axes; None: it is zero."""
    if grid.crs:
        return projection.axis_angle(grid.crs, *projection.lon_lat(grid.crs, x, y))
    return axis_angle(grid.pole, x, y) if has_rotated_pole(grid) else None


def axis_angle_from(grid, frame: Frame, location: str, rows, columns) -> tuple[np.ndarray, np.ndarray]:
    """Cosine and sine, at points of the grid, of the angle from the x axis of another frame to that of the grid.

    A vector with the components (a, b) in the other frame has (c a + s b, -s a + c b) on this grid.
    """
    at = points(grid, location, rows, columns)
    cosine, sine = at.axis_angle or (np.ones((1, 1)), np.zeros((1, 1)))
    if not frame:
        return cosine, sine
    frame_cosine, frame_sine = angle_in_frame(frame, at.lon, at.lat)
    return cosine * frame_cosine + sine * frame_sine, sine * frame_cosine - cosine * frame_sine


def points(grid, location: str, rows, columns) -> Points:
    """The points of `location` in the given row and column numbers (which may lie beyond the grid)."""
    north, east = LOCATION_OFFSETS[location]
    j = np.asarray(rows, dtype=np.int64)[:, None]
    i = np.asarray(columns, dtype=np.int64)[None, :]
    x_axis, y_axis = axes(grid)
    x, y = x_axis.first + (i + east) * x_axis.spacing, y_axis.first + (j + north) * y_axis.spacing
    if is_spherical(grid):
        return points_on_sphere(grid, x, y, i, j)
    origin, sizes = (x_axis.first, y_axis.first), (grid.nx * grid.dx, grid.ny * grid.dy, grid.dx, grid.dy)
    if not grid.crs:
        return Points(x, y, i, j, origin, *sizes)
    find_lon_lat, find_axis_angle = (
        partial(function, grid.crs, x.tobytes(), y.tobytes())
        for function in (projection.lattice_lon_lat, projection.lattice_axis_angle)
    )
    return Points(x, y, i, j, origin, *sizes, find_lon_lat, find_axis_angle)


def sample_centres(grid) -> Points:
    """The centres of a sample of cells all over a grid, in at most MAX_SAMPLE_LINES rows and columns."""
    rows, columns = (np.unique(np.linspace(0, n - 1, min(n, MAX_SAMPLE_LINES)).astype(int)) for n in (grid.ny, grid.nx))
    return points(grid, "centre", rows, columns)


def points_on_sphere(grid, lon, lat, i, j) -> Points:
    """The Points at positions along the axes [1, columns] and [rows, 1], degrees."""
    origin = [
        axis.first + {"edge": -0.5, "centre": 0.0, "middle": 0.5 * (axis.n_cells - 1)}[grid.origin] * axis.spacing
        for axis in axes(grid)
    ]
    metres_per_lon = grid.radius * np.radians(1.0) * np.cos(np.radians(lat))  # m per degree of longitude
    metres_per_lat = grid.radius * radians(1.0)
    first_centre = [axis.first - zero for axis, zero in zip(axes(grid), origin, strict=True)]
    return Points(
        x=metres_per_lon * (lon - origin[0]),
        y=metres_per_lat * (lat - origin[1]),
        i=i,
        j=j,
        origin=(metres_per_lon * first_centre[0], metres_per_lat * first_centre[1]),
        length_x=metres_per_lon * (grid.nx * grid.dlon),
        length_y=metres_per_lat * (grid.ny * grid.dlat),
        dx=metres_per_lon * grid.dlon,
        dy=metres_per_lat * grid.dlat,
        find_lon_lat=partial(to_earth, grid.pole, lon, lat) if has_rotated_pole(grid) else lambda: (lon, lat),
        find_axis_angle=partial(axis_angle, grid.pole, lon, lat) if has_rotated_pole(grid) else None,
    )


def distances_from_sides(grid, at: Points) -> dict[str, np.ndarray]:
    """Distances of points from the sides of the domain, m along the surface: west, east, south, north."""
    if not is_spherical(grid):
        west, east, south, north = edges(grid)
        return {"west": at.x - west, "east": east - at.x, "south": at.y - south, "north": north - at.y}
    return {
        "west": at.from_west,
        "east": at.length_x - at.from_west,
        "south": at.from_south,
        "north": at.length_y - at.from_south,
    }


def metrics(grid, rows) -> dict[str, Metric]:
    """Lengths and areas in the given rows, by their names in a Grid: `ocean.grid.Metric`, float64."""
    if not is_spherical(grid):
        return plane_metrics(grid.dx, grid.dy)
    y_axis = axes(grid).y
    latitude = np.radians(y_axis.first + np.asarray(rows, dtype=np.int64)[:, None] * y_axis.spacing)
    return sphere_metrics(grid.radius, radians(grid.dlon), radians(grid.dlat), latitude)


def metres_per_unit(grid, axis: str, y=None):
    """Metres per unit of the axis x or y; for x at the position `y` along y."""
    if not is_spherical(grid):
        return 1.0
    return grid.radius * radians(1.0) * (np.cos(np.radians(y)) if axis == "x" else 1.0)


def max_cell_size(grid) -> float:
    """The largest length of a cell in x or in y, m."""
    lengths = metrics(grid, np.arange(grid.ny))
    return float(max(lengths["dx"].centre.max(), lengths["dy"].centre.max()))


def domain_size(grid) -> tuple[float, float]:
    """Size of the domain in x, on a sphere along its longest parallel, and in y, m."""
    lengths = metrics(grid, np.arange(grid.ny))
    return grid.nx * float(lengths["dx"].centre.max()), grid.ny * float(lengths["dy"].centre.max())


def distances_between(grid, start, end) -> np.ndarray:
    """Distances from positions `start` to `end`, both along the axes or both on the Earth, m along the surface."""
    if is_spherical(grid):
        chord = np.linalg.norm(unit_vectors(*end) - unit_vectors(*start), axis=-1)
        return 2 * grid.radius * np.arcsin(np.minimum(0.5 * chord, 1.0))
    return np.hypot(*(there - here for there, here in zip(end, start, strict=True)))


def distances_from(grid, position: tuple[float, float], at: Points) -> np.ndarray:
    """Distances of points from a place in m or degrees, m along the surface; on periodic axes, the shorter way."""
    if is_spherical(grid):
        return distances_between(grid, position, (at.lon, at.lat))
    gaps = [np.abs(coordinates - place) for coordinates, place in zip((at.x, at.y), position, strict=True)]
    periodic_lengths = (grid.periodic_x, at.length_x), (grid.periodic_y, at.length_y)
    return np.hypot(
        *(
            np.minimum(a, length - a) if is_periodic else a
            for a, (is_periodic, length) in zip(gaps, periodic_lengths, strict=True)
        )
    )


def azimuthal_projection(grid, centre: tuple[float, float], at: Points) -> tuple[np.ndarray, np.ndarray]:
    """Eastward and northward positions, m, of points in an azimuthal equidistant projection about lon, lat `centre`."""
    vectors = unit_vectors(at.lon, at.lat)
    lon, lat = np.radians(centre)
    east = vectors @ np.array([-np.sin(lon), np.cos(lon), 0.0])
    north = vectors @ np.array([-np.sin(lat) * np.cos(lon), -np.sin(lat) * np.sin(lon), np.cos(lat)])
    up = vectors @ np.array([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
    sine = np.hypot(east, north)
    metres_per_sine = grid.radius * np.where(sine > 0, np.arctan2(sine, up) / np.where(sine > 0, sine, 1.0), 1.0)
    return metres_per_sine * east, metres_per_sine * north
