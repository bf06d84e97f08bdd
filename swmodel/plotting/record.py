"""One record of one field, to be drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import netCDF4
import numpy as np

from ..ocean.rotated import from_earth, to_earth, turn
from .dataset import configuration, find_field, long_name_and_units, number_of, stored, values_of
from .earth import moved, places

#: Locations of SGRID: 1 where the points lie half a cell east, north of the centres.
STAGGER = {"face": (0, 0), "edge1": (1, 0), "edge2": (0, 1), "node": (1, 1)}

#: Grids with fewer rows or columns than this, or with a larger ratio of length to width, are drawn as a line.
FEWEST_ROWS, LONGEST = 5, 20


@dataclass(frozen=True)
class Map:
    """One record of one field, masked on land, [y, x].

    Attributes:
        long_name: as in the file, after "mean" for a mean over time; before the number of a member of an ensemble.
        x, y: positions of the points, m, or longitudes and latitudes.
        location: where the points lie: face, edge1, edge2 or node (SGRID).
        degrees: whether positions are longitudes and latitudes.
        outside: points [y, x] that lie beyond the grid; None: there are none.
        known: the known answer at the points of `values`; None: there is none, or it is not wanted.
        ground: heights of the ground at centres, m, masked where there is water; None: no ground floods.
    """

    name: str
    long_name: str
    units: str
    values: np.ma.MaskedArray
    x: np.ndarray
    y: np.ndarray
    location: str
    degrees: bool = False
    outside: np.ndarray | None = None
    known: np.ma.MaskedArray | None = None
    ground: Map | None = None

    @property
    def domain(self) -> tuple[float, float, float, float]:
        """West, east, south and north edge of the domain. East faces, north faces and corners end on its edge."""
        (dx, dy), (east, north) = self.spacing, STAGGER[self.location]
        x, y = self.x - east * dx / 2, self.y - north * dy / 2
        return x[0] - dx / 2, x[-1] + dx / 2, y[0] - dy / 2, y[-1] + dy / 2

    @property
    def spacing(self) -> tuple[float, float]:
        """Distance of the points in x and in y; an axis with one point takes the other's."""
        steps = [float(c[1] - c[0]) if c.size > 1 else None for c in (self.x, self.y)]
        return steps[0] or steps[1] or 1.0, steps[1] or steps[0] or 1.0

    @property
    def unit(self) -> tuple[float, str]:
        """The divisor of positions on the axes of a picture, and their unit then."""
        west, east, south, north = self.domain
        return (1.0, "degrees") if self.degrees else length_unit(max(east - west, north - south))

    @property
    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions of the points on the axes of a picture."""
        return self.x / self.unit[0], self.y / self.unit[0]

    @property
    def names(self) -> tuple[str, str]:
        """The names of the axes."""
        return ("longitude", "latitude") if self.degrees else ("x", "y")

    @property
    def aspect(self) -> float:
        """Ratio of height to width of the domain; in degrees that at its middle latitude."""
        west, east, south, north = self.domain
        return (north - south) / ((east - west) * (np.cos(np.radians((south + north) / 2)) if self.degrees else 1.0))

    @property
    def slim(self) -> bool:
        """Whether a map is drawn as a line."""
        return min(self.values.shape) < FEWEST_ROWS or max(self.aspect, 1 / self.aspect) > LONGEST


def length_unit(span: float) -> tuple[float, str]:
    """A suitable unit for an axis of this length: metres in it, and its name."""
    return (1e3, "km") if span >= 5e3 else (1.0, "m")


def degrees(angle: float, letters: str) -> str:
    """A longitude or latitude in words; `letters` stand for positive and negative ones."""
    angle = (angle + 180) % 360 - 180 if letters == "EW" else angle
    return f"{abs(angle):.6g}° {letters[int(angle < 0)]}" if angle % 180 else f"{abs(angle):g}°"


def along_axes(field: Map, x, y) -> tuple:
    """Positions along the axes of places in m, or at geographic longitudes and latitudes."""
    west = field.domain[0]
    return (west + (x - west) % 360.0 if field.degrees else x), y


def read_map(
    data: netCDF4.Dataset, name: str, record: int = -1, member: int | None = None, along: int = 0, dry=None
) -> Map:
    """One record of a field, or a field without time; of several members that with the number, else the first.

    `along`: the place on a first axis that is neither time nor members. `dry`: points [y, x] without a value.
    """
    variable, values = find_field(data, name), stored(data, name, record, member, along)
    values = values if dry is None else np.ma.masked_where(dry, values)
    mean = "mean " if "time: mean" in getattr(variable, "cell_methods", "") else ""
    of_member = number_of(data, member) if "member" in variable.dimensions else ""
    long_name, units = long_name_and_units(variable)
    place = getattr(variable, "location", "face"), variable.dimensions[-2:]
    return map_of(data, name, mean + long_name + of_member, units, values, *place)


def map_of(data: netCDF4.Dataset, name: str, long_name: str, units: str, values, location: str, dimensions) -> Map:
    """The Map of values [y, x] on the grid of a file, without the water outside open sides: a run has no values there.

    `dimensions`: the names of those of y and x.
    """
    sides = open_sides(data)
    rows, columns = (
        slice(1 if low in sides else 0, -1 if high in sides else None)
        for low, high in (("south", "north"), ("west", "east"))
    )
    y, x = (np.ma.filled(data[dimension][:], np.nan).astype(float) for dimension in dimensions)
    values, x, y = np.ma.masked_invalid(values)[rows, columns], x[columns], y[rows]
    if pole := pole_of(data):
        centres = data["x_c"][columns].astype(float), data["y_c"][rows].astype(float)
        to = places(pole, centres, values_of(data, "mask")[rows, columns] != 0, x, y)
        values = moved(values, to, circle=units.startswith("degree"))
        return Map(name, long_name, units, values, to.x, to.y, "face", True, to.outside)
    in_degrees = getattr(data[dimensions[1]], "units", "").startswith("degree")
    return Map(name, long_name, units, values, x, y, location, in_degrees)


def pole_of(data: netCDF4.Dataset) -> tuple[float, float] | None:
    """Longitude and latitude of the grid's north pole; None: that of the Earth."""
    for variable in data.variables.values():
        if getattr(variable, "grid_mapping_name", "") == "rotated_latitude_longitude":
            return float(variable.grid_north_pole_longitude), float(variable.grid_north_pole_latitude)
    return None


def eastward(data: netCDF4.Dataset, along: Map, across: Map) -> tuple[Map, Map]:
    """Components of vectors along the axes of pictures, from those along the axes of the grid at the same points."""
    if not (pole := pole_of(data)):
        return along, across
    cos, sin = turn(pole, *from_earth(pole, along.x, along.y[:, None]))
    east, north = along.values * cos - across.values * sin, along.values * sin + across.values * cos
    return replace(along, values=east), replace(across, values=north)


def true_places(data: netCDF4.Dataset, x, y) -> tuple:
    """Positions along the axes of the grid as pictures show them: on a grid with a pole of its own the true ones."""
    pole = pole_of(data)
    return to_earth(pole, x, y) if pole else (x, y)


def open_sides(data: netCDF4.Dataset) -> Sequence[str]:
    """The open sides of the run of a file."""
    return configuration(data).get("open_sides", {}).get("sides", ())


def surround(data: netCDF4.Dataset, values: np.ndarray, beyond: int) -> np.ndarray:
    """The values with one more cell in the south and west, `beyond` in the north and east: across a ring, or zero."""
    across = [configuration(data)["grid"][f"periodic_{letter}"] for letter in "yx"]
    for ring, widths in zip(across, (((1, beyond), (0, 0)), ((0, 0), (1, beyond))), strict=True):
        values = np.pad(values, widths, mode="wrap" if ring else "constant")
    return values
