"""Positions of the points of the C-grid, their distances, and the sizes of cells: on a plane or on a sphere.

Positions are in m on a plane, in degrees on a sphere (`axes`); lengths are in m along the surface on both.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import radians
from typing import NamedTuple

import numpy as np

from .grid import Places, plane, sphere
from .rotated import directions, from_earth, to_earth, turn

#: Distance of each location from its cell's centre, in cells (north, east).
OFFSETS = {"centre": (0.0, 0.0), "u": (0.0, 0.5), "v": (0.5, 0.0), "corner": (0.5, 0.5)}

#: Degrees of a full circle.
CIRCLE = 360.0


class Axis(NamedTuple):
    """Positions along x or y."""

    name: str  # x, y, lon or lat; rlon or rlat if the pole of the grid is not the Earth's
    unit: str  # m or degrees
    first: float  # position of the centres of the first cells
    spacing: float  # distance between centres
    cells: int
    ring: bool  # whether the last cells are neighbours of the first
    turns: bool = False  # whether positions a full circle apart are the same

    @property
    def edges(self) -> tuple[float, float]:
        """The positions of both ends of the domain."""
        low = self.first - 0.5 * self.spacing
        return low, low + self.cells * self.spacing

    def within(self, position):
        """A position; on a full circle shifted by whole turns to the begin of the domain or after it."""
        if not self.turns:
            return position
        low = self.edges[0]
        return np.where(position == low + CIRCLE, position, low + (position - low) % CIRCLE)

    def index(self, position):
        """The distance of a position in the domain from the first centre, in cells."""
        return (position - self.first) / self.spacing

    def in_words(self, position: float, digits: int = 10) -> str:
        """A position in words."""
        return f"{self.name} = {position:.{digits}g} {self.unit}"

    def span(self, digits: int = 10) -> str:
        """The domain in words."""
        low, high = self.edges
        return f"{self.name} {low:.{digits}g} to {high:.{digits}g} {self.unit}"


class Axes(NamedTuple):
    """Both axes of a grid."""

    x: Axis
    y: Axis


@dataclass(frozen=True)
class Points:
    """Points of one location in some rows and columns of the grid, float64.

    On a sphere x is the distance along the parallel from the meridian of `grid.origin`. y is the distance along the
    meridian from its parallel. Then x, its origin, dx and length_x depend on the row.

    Attributes:
        x, y: positions in m, [1, columns] (on a sphere [rows, columns]) and [rows, 1].
        i, j: column and row numbers in the grid, [1, columns] and [rows, 1].
        origin: position (x0, y0) of the centre of cell (0, 0), m.
        length_x, length_y, dx, dy: sizes of the domain, and of the cells, m.
        degrees: longitude [1, columns] and latitude [rows, 1]; both [rows, columns] on a turned grid.
        turn: cosine and sine [rows, columns] of the angle from eastward to the x axis; None: the axis is eastward.
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
    degrees: tuple[np.ndarray, np.ndarray] | None = None
    turn: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def lon(self) -> np.ndarray:
        """Longitudes, degrees."""
        return self._degrees("lon")[0]

    @property
    def lat(self) -> np.ndarray:
        """Latitudes, degrees."""
        return self._degrees("lat")[1]

    def _degrees(self, name: str):
        if self.degrees is None:
            raise AttributeError(f"at.{name}: a plane has no longitudes and latitudes; grid.kind=latlon has")
        return self.degrees


def on_sphere(grid) -> bool:
    """Whether the cells lie on a sphere."""
    return grid.kind == "latlon"


def turned(grid) -> bool:
    """Whether the grid has its own pole, so that its axes are not eastward and northward."""
    return grid.kind == "latlon" and grid.pole is not None


def axes(grid) -> Axes:
    """The axes of a grid; on a plane `grid.origin` sets the origin of x and y."""
    if on_sphere(grid):
        lon, lat = ("rlon", "rlat") if turned(grid) else ("lon", "lat")
        return Axes(
            Axis(lon, "degrees", grid.west + 0.5 * grid.dlon, grid.dlon, grid.nx, grid.periodic_x, True),
            Axis(lat, "degrees", grid.south + 0.5 * grid.dlat, grid.dlat, grid.ny, False),
        )
    x0, y0 = {
        "edge": (0.5 * grid.dx, 0.5 * grid.dy),
        "centre": (0.0, 0.0),
        "middle": (-0.5 * (grid.nx - 1) * grid.dx, -0.5 * (grid.ny - 1) * grid.dy),
    }[grid.origin]
    return Axes(
        Axis("x", "m", x0, grid.dx, grid.nx, grid.periodic_x), Axis("y", "m", y0, grid.dy, grid.ny, grid.periodic_y)
    )


def edges(grid) -> tuple[float, float, float, float]:
    """West, east, south and north edge of the domain, in the units of its axes."""
    of_x, of_y = axes(grid)
    return *of_x.edges, *of_y.edges


def positions(grid) -> tuple[tuple[str, str], str]:
    """The names of the coordinates of places, and their unit: x and y in m, or longitude and latitude in degrees."""
    return (("lon", "lat"), "degrees") if on_sphere(grid) else (("x", "y"), "m")


def along_axes(grid, x, y) -> tuple:
    """Positions along the axes, from places in m or longitudes and latitudes."""
    if not turned(grid):
        return x, y
    found = from_earth(grid.pole, x, y)
    return axes(grid).x.within(found[0]), found[1]


def places(grid, x, y) -> tuple:
    """Places in m or longitudes and latitudes, from positions along the axes: the inverse of `along_axes`."""
    return to_earth(grid.pole, x, y) if turned(grid) else (x, y)


def turn_from(grid, pole, location: str, rows, columns) -> tuple[np.ndarray, np.ndarray]:
    """Cosine and sine, at points of the grid, of the angle from the x axis about another pole to that of the grid.

    A vector with the components (a, b) about that pole has (c a + s b, -s a + c b) along the axes of the grid. The pole
    None is the Earth's.
    """
    at = points(grid, location, rows, columns)
    cosine, sine = at.turn or (np.ones((1, 1)), np.zeros((1, 1)))
    if not pole:
        return cosine, sine
    c, s = turn(pole, *from_earth(pole, at.lon, at.lat))
    return cosine * c + sine * s, sine * c - cosine * s


def points(grid, location: str, rows, columns) -> Points:
    """The points of `location` in the given row and column numbers (which may lie beyond the grid)."""
    north, east = OFFSETS[location]
    j = np.asarray(rows, dtype=np.int64)[:, None]
    i = np.asarray(columns, dtype=np.int64)[None, :]
    of_x, of_y = axes(grid)
    x, y = of_x.first + (i + east) * of_x.spacing, of_y.first + (j + north) * of_y.spacing
    if on_sphere(grid):
        return on_parallels(grid, x, y, i, j)
    return Points(x, y, i, j, (of_x.first, of_y.first), grid.nx * grid.dx, grid.ny * grid.dy, grid.dx, grid.dy)


def on_parallels(grid, lon, lat, i, j) -> Points:
    """The Points at positions along the axes [1, columns] and [rows, 1], degrees."""
    cells = {"edge": -0.5, "centre": 0.0, "middle": None}[grid.origin]
    start = [axis.first + (0.5 * (axis.cells - 1) if cells is None else cells) * axis.spacing for axis in axes(grid)]
    along = grid.radius * np.radians(1.0) * np.cos(np.radians(lat))  # m in a degree of longitude
    up = grid.radius * radians(1.0)
    first = [axis.first - begin for axis, begin in zip(axes(grid), start, strict=True)]
    return Points(
        x=along * (lon - start[0]),
        y=up * (lat - start[1]),
        i=i,
        j=j,
        origin=(along * first[0], up * first[1]),
        length_x=along * (grid.nx * grid.dlon),
        length_y=up * (grid.ny * grid.dlat),
        dx=along * grid.dlon,
        dy=up * grid.dlat,
        degrees=to_earth(grid.pole, lon, lat) if turned(grid) else (lon, lat),
        turn=turn(grid.pole, lon, lat) if turned(grid) else None,
    )


def from_sides(grid, at: Points) -> dict[str, np.ndarray]:
    """Distances of points from the sides of the domain, m along the surface: west, east, south, north."""
    if not on_sphere(grid):
        west, east, south, north = edges(grid)
        return {"west": at.x - west, "east": east - at.x, "south": at.y - south, "north": north - at.y}
    west, south = at.x - at.origin[0] + 0.5 * at.dx, at.y - at.origin[1] + 0.5 * at.dy
    return {"west": west, "east": at.length_x - west, "south": south, "north": at.length_y - south}


def metrics(grid, rows) -> dict[str, Places]:
    """Lengths and areas in the given rows, by their names in a Grid: `ocean.grid.Places`, float64."""
    if not on_sphere(grid):
        return plane(grid.dx, grid.dy)
    along = axes(grid).y
    latitude = np.radians(along.first + np.asarray(rows, dtype=np.int64)[:, None] * along.spacing)
    return sphere(grid.radius, radians(grid.dlon), radians(grid.dlat), latitude)


def metres(grid, axis: str, at=None):
    """Metres in a unit of the axis x or y; for x at the position `at` along y."""
    if not on_sphere(grid):
        return 1.0
    return grid.radius * radians(1.0) * (np.cos(np.radians(at)) if axis == "x" else 1.0)


def largest_cell(grid) -> float:
    """The longest side of a cell, m."""
    lengths = metrics(grid, np.arange(grid.ny))
    return float(max(lengths["dx"].centre.max(), lengths["dy"].centre.max()))


def sides(grid) -> tuple[float, float]:
    """Size of the domain in x, on a sphere along its longest parallel, and in y, m."""
    lengths = metrics(grid, np.arange(grid.ny))
    return grid.nx * float(lengths["dx"].centre.max()), grid.ny * float(lengths["dy"].centre.max())


def apart(grid, one, other) -> np.ndarray:
    """Distances of positions from others, both along the axes or both on the Earth, m along the surface."""
    if on_sphere(grid):
        chord = np.linalg.norm(directions(*other) - directions(*one), axis=-1)
        return 2 * grid.radius * np.arcsin(np.minimum(0.5 * chord, 1.0))
    return np.hypot(*(there - here for there, here in zip(other, one, strict=True)))


def distances(grid, place: tuple[float, float], at: Points) -> np.ndarray:
    """Distances of points from a place in m or degrees, m along the surface; on a ring the shorter one."""
    if on_sphere(grid):
        return apart(grid, place, (at.lon, at.lat))
    gaps = [np.abs(along - where) for along, where in zip((at.x, at.y), place, strict=True)]
    rings = (grid.periodic_x, at.length_x), (grid.periodic_y, at.length_y)
    return np.hypot(*(np.minimum(a, length - a) if ring else a for a, (ring, length) in zip(gaps, rings, strict=True)))


def azimuthal(grid, centre: tuple[float, float], at: Points) -> tuple[np.ndarray, np.ndarray]:
    """Points of a sphere in the azimuthal equidistant projection about a longitude and latitude: east, north, m."""
    way = directions(at.lon, at.lat)
    lon, lat = np.radians(centre)
    east = way @ np.array([-np.sin(lon), np.cos(lon), 0.0])
    north = way @ np.array([-np.sin(lat) * np.cos(lon), -np.sin(lat) * np.sin(lon), np.cos(lat)])
    up = way @ np.array([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
    sine = np.hypot(east, north)
    metres_per_sine = grid.radius * np.where(sine > 0, np.arctan2(sine, up) / np.where(sine > 0, sine, 1.0), 1.0)
    return metres_per_sine * east, metres_per_sine * north
