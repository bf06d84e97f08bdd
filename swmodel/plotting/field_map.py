"""One record of a field, with its positions, ready to be drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import netCDF4
import numpy as np

from ..ocean import projection
from ..ocean.rotated_pole import axis_angle, from_earth, to_earth
from .dataset import find_field, long_name_and_units, member_label, read_configuration, read_field, read_verified
from .rotated_pole import interpolate_to_map, make_map_points

#: {location: (its name in SGRID, dimensions of fields there)}.
LOCATIONS = {"centre": ("face", ("y_c", "x_c")), "u": ("edge1", ("y_c", "x_f"))}
LOCATIONS |= {"v": ("edge2", ("y_f", "x_c")), "corner": ("node", ("y_f", "x_f"))}
#: Position of the points relative to the centres, in half cells (east, north), for each location of SGRID.
STAGGER = {"face": (0, 0), "edge1": (1, 0), "edge2": (0, 1), "node": (1, 1)}

#: Grids with fewer rows or columns than this, or with a larger ratio of the longer side to the shorter one, are drawn
#: as a line.
MIN_MAP_POINTS, MAX_MAP_ASPECT = 5, 20


@dataclass(frozen=True)
class FieldMap:
    """One record of a field.

    Attributes:
        long_name: as in the file, after "mean" for a mean over time, and before the member of an ensemble.
        values: [y, x], masked on land.
        x, y: positions of the points, m, or longitudes and latitudes, degrees.
        location: where the points lie: face, edge1, edge2 or node (SGRID).
        is_geographic: whether positions are longitudes and latitudes.
        crs: the projected coordinate reference system of positions in m; "": there is none.
        outside_grid: true at points [y, x] beyond the grid; None: there are no such points.
        analytic: the analytic solution at the points of `values`; None: there is none, or it is not drawn.
        ground: the map of the heights of the ground at centres, m, masked where there is water; None: it is not drawn.
    """

    name: str
    long_name: str
    units: str
    values: np.ma.MaskedArray
    x: np.ndarray
    y: np.ndarray
    location: str
    is_geographic: bool = False
    outside_grid: np.ndarray | None = None
    analytic: np.ma.MaskedArray | None = None
    ground: FieldMap | None = None
    crs: str = ""

    @property
    def domain(self) -> tuple[float, float, float, float]:
        """Western, eastern, southern and northern edges of the domain, in the unit of x and y.

        The easternmost u points lie on the eastern edge, the northernmost v points on the northern edge, and corners on
        both.
        """
        (dx, dy), (east, north) = self.spacing, STAGGER[self.location]
        x, y = self.x - east * dx / 2, self.y - north * dy / 2
        return x[0] - dx / 2, x[-1] + dx / 2, y[0] - dy / 2, y[-1] + dy / 2

    @property
    def spacing(self) -> tuple[float, float]:
        """Distance between the points in x and in y; an axis with a single point has the spacing of the other."""
        spacings = [float(c[1] - c[0]) if c.size > 1 else None for c in (self.x, self.y)]
        return spacings[0] or spacings[1] or 1.0, spacings[1] or spacings[0] or 1.0

    @property
    def axis_unit(self) -> tuple[float, str]:
        """The number by which positions are divided for the axes of a picture, and the resulting unit."""
        west, east, south, north = self.domain
        return (1.0, "degrees") if self.is_geographic else length_unit(max(east - west, north - south))

    @property
    def axis_positions(self) -> tuple[np.ndarray, np.ndarray]:
        return self.x / self.axis_unit[0], self.y / self.axis_unit[0]

    @property
    def axis_names(self) -> tuple[str, str]:
        if self.is_geographic:
            return "longitude", "latitude"
        return ("easting", "northing") if self.crs else ("x", "y")

    @property
    def aspect(self) -> float:
        """Ratio of height to width of the domain; for positions in degrees, of its lengths at the middle latitude."""
        west, east, south, north = self.domain
        cos_lat = np.cos(np.radians((south + north) / 2)) if self.is_geographic else 1.0
        return (north - south) / ((east - west) * cos_lat)

    @property
    def is_drawn_as_line(self) -> bool:
        """Whether the domain is so narrow that a line is drawn instead of a map."""
        return min(self.values.shape) < MIN_MAP_POINTS or max(self.aspect, 1 / self.aspect) > MAX_MAP_ASPECT


def length_unit(span: float) -> tuple[float, str]:
    """A suitable unit for an axis of this length, m: the metres in it, and its name."""
    return (1e3, "km") if span >= 5e3 else (1.0, "m")


def format_degrees(angle: float, hemispheres: str) -> str:
    """A longitude or latitude as text; `hemispheres`: "EW" or "NS", for positive and negative angles."""
    angle = (angle + 180) % 360 - 180 if hemispheres == "EW" else angle
    return f"{abs(angle):.6g}° {hemispheres[int(angle < 0)]}" if angle % 180 else f"{abs(angle):g}°"


def wrap_to_domain(field: FieldMap, x, y) -> tuple:
    """Positions x, y in m unchanged; longitudes and latitudes with the longitudes shifted into the domain of a map."""
    west = field.domain[0]
    return (west + (x - west) % 360.0 if field.is_geographic else x), y


def positions_of_lon_lat(field: FieldMap, lon, lat) -> tuple:
    """The positions of longitudes and latitudes on the map: eastings and northings, m, or degrees in the domain."""
    return projection.eastings_northings(field.crs, lon, lat) if field.crs else wrap_to_domain(field, lon, lat)


def read_map(
    data: netCDF4.Dataset,
    name: str,
    record: int = -1,
    member: int | None = None,
    constituent_index: int = 0,
    dry_mask=None,
) -> FieldMap:
    """One record of a field, or a field without time.

    Args:
        member: the member of an ensemble; None: the first in the file.
        constituent_index: the index along a first axis that is neither time nor members.
        dry_mask: dry points [y, x], which are masked.
    """
    variable, values = find_field(data, name), read_field(data, name, record, member, constituent_index)
    values = values if dry_mask is None else np.ma.masked_where(dry_mask, values)
    mean_prefix = "mean " if "time: mean" in getattr(variable, "cell_methods", "") else ""
    member_suffix = member_label(data, member) if "member" in variable.dimensions else ""
    long_name, units = long_name_and_units(variable)
    location_and_dimensions = getattr(variable, "location", "face"), variable.dimensions[-2:]
    return make_map(data, name, mean_prefix + long_name + member_suffix, units, values, *location_and_dimensions)


def make_map(
    data: netCDF4.Dataset, name: str, long_name: str, units: str, values, location: str, dimensions
) -> FieldMap:
    """The FieldMap of values [y, x] whose positions are the coordinates `dimensions` (y, x) of a file.

    The outermost row or column at an open boundary is left out, because it holds boundary data. Values on a
    rotated-pole grid are interpolated to true longitudes and latitudes.
    """
    boundaries = open_boundary_sides(data)
    rows, columns = (
        slice(1 if first_side in boundaries else 0, -1 if last_side in boundaries else None)
        for first_side, last_side in (("south", "north"), ("west", "east"))
    )
    y, x = (np.ma.filled(data[dimension][:], np.nan).astype(float) for dimension in dimensions)
    values, x, y = np.ma.masked_invalid(values)[rows, columns], x[columns], y[rows]
    if pole := read_grid_north_pole(data):
        centres = data["x_c"][columns].astype(float), data["y_c"][rows].astype(float)
        points = make_map_points(pole, centres, read_verified(data, "mask")[rows, columns] != 0, x, y)
        values = interpolate_to_map(values, points, is_angle=units.startswith("degree"))
        return FieldMap(name, long_name, units, values, points.x, points.y, "face", True, points.outside_grid)
    is_geographic = getattr(data[dimensions[1]], "units", "").startswith("degree")
    crs = "" if is_geographic else read_crs(data)
    return FieldMap(name, long_name, units, values, x, y, location, is_geographic, crs=crs)


def read_crs(data: netCDF4.Dataset) -> str:
    """The projected coordinate reference system of the grid; "" for none."""
    crs_of_variables = (variable.crs_wkt for variable in data.variables.values() if hasattr(variable, "crs_wkt"))
    return next(crs_of_variables, "") or read_configuration(data).get("grid", {}).get("crs", "")


def read_grid_north_pole(data: netCDF4.Dataset) -> tuple[float, float] | None:
    """Longitude and latitude of the north pole of a rotated-pole grid, degrees; None for other grids."""
    for variable in data.variables.values():
        if getattr(variable, "grid_mapping_name", "") == "rotated_latitude_longitude":
            return float(variable.grid_north_pole_longitude), float(variable.grid_north_pole_latitude)
    return None


def to_picture_components(
    data: netCDF4.Dataset, x_component: FieldMap, y_component: FieldMap
) -> tuple[FieldMap, FieldMap]:
    """Components of vectors along the axes of the picture, from components along the axes of the grid.

    On a rotated-pole grid these are eastward and northward components; otherwise nothing changes.
    """
    if not (pole := read_grid_north_pole(data)):
        return x_component, y_component
    cos, sin = axis_angle(pole, *from_earth(pole, x_component.x, x_component.y[:, None]))
    u, v = x_component.values, y_component.values
    return replace(x_component, values=u * cos - v * sin), replace(y_component, values=u * sin + v * cos)


def to_picture_positions(data: netCDF4.Dataset, x, y) -> tuple:
    """Positions in the picture: true longitudes and latitudes for a rotated-pole grid, otherwise unchanged."""
    pole = read_grid_north_pole(data)
    return to_earth(pole, x, y) if pole else (x, y)


def open_boundary_sides(data: netCDF4.Dataset) -> Sequence[str]:
    return read_configuration(data).get("open_boundaries", {}).get("sides", ())


def add_halo(data: netCDF4.Dataset, values: np.ndarray, north_east_width: int) -> np.ndarray:
    """The values with a halo one cell wide in the south and west, and `north_east_width` cells in the north and east.

    Along periodic axes the halo holds copies of the values at the other end, along other axes zeros.
    """
    periodic_axes = [read_configuration(data)["grid"][f"periodic_{letter}"] for letter in "yx"]
    width = 1, north_east_width
    for is_periodic, widths in zip(periodic_axes, ((width, (0, 0)), ((0, 0), width)), strict=True):
        values = np.pad(values, widths, mode="wrap" if is_periodic else "constant")
    return values
