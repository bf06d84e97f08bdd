"""A relief in a CF file or raster: find and read the variables with height or depth and with the sea fraction."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...ocean.coordinates import FULL_CIRCLE_DEGREES, Frame
from ...setup.fields.netcdf_input import InputError, conversion_factor
from ...setup.fields.netcdf_input.dataset import CFDataset, is_in_degrees, is_numeric, open_file, read_values
from ...setup.fields.netcdf_input.errors import log_once
from ...setup.fields.netcdf_input.input_entry import InputEntry, parse_entry
from ...setup.fields.netcdf_input.names import (
    COMMON_NAMES,
    GDAL_BAND_PATTERN,
    HEIGHT_STANDARD_NAMES,
    candidate_names,
)
from ...setup.fields.netcdf_input.regridding import sorted_coordinate

#: The relief of the package, which tools/relief.py makes.
PACKAGE_RELIEF = Path(__file__).with_name("relief.nc")

#: Standard names of depths, positive downward.
DEPTH_STANDARD_NAMES = (
    "sea_floor_depth_below_geoid", "sea_floor_depth_below_mean_sea_level", "sea_floor_depth_below_sea_surface",
    "sea_floor_depth_below_geopotential_datum", "sea_floor_depth", "model_sea_floor_depth_below_geoid", "depth",
)  # fmt: skip

#: {name in lower case: sign} of heights and depths without a standard name.
SIGN_BY_NAME = dict.fromkeys(("z", "elevation", "height", "topo", "altitude", "relief", "bedrock", "topobathy"), 1.0)
SIGN_BY_NAME |= dict.fromkeys(("depth", *COMMON_NAMES["depth"]), -1.0)

#: Standard names and variable names of the fraction of a cell that is sea, and of the fraction that is land.
SEA_FRACTION_NAMES = {"sea_area_fraction", "sea_binary_mask", "sea"}
LAND_FRACTION_NAMES = {"land_area_fraction", "land_binary_mask", "land"}

#: Name of the variable that marks points that connect seas (`Relief.strait`).
STRAIT_NAME = "strait"

#: {units of a fraction: divisor that gives a number from 0 to 1}.
FRACTION_DIVISORS = {"1": 1.0, "": 1.0, "percent": 100.0, "%": 100.0}

#: The range of heights that can occur on the Earth, m.
HEIGHT_RANGE_METRES = (-12000.0, 9000.0)

#: Numbers that often mark missing values in files, but could be heights or depths.
MISSING_VALUES = (-999.0, -9999.0, 9999.0, -9999.9, float(np.float32(-9999.9)))

#: One of MISSING_VALUES marks missing values if more values equal it than this fraction of the number of values near
#: it, which differ from it by at most NEARBY_RELATIVE_DISTANCE of its magnitude.
MIN_MISSING_FRACTION, NEARBY_RELATIVE_DISTANCE = 0.1, 0.05

#: The largest number of values of -999 that may be real depths.
MAX_REAL_VALUES = 3

#: Number of values read at a time from a file that is read completely.
VALUES_PER_STRIP = 4_000_000

#: Height given to land of unknown height, m, so that it never floods.
UNKNOWN_LAND_HEIGHT_METRES = 1e9


class ReliefError(InputError):
    """A relief is invalid, or lacks data that a grid needs."""


class ReliefAxis(NamedTuple):
    """Ascending positions along one axis of a relief.

    Attributes:
        points: positions of the values; on a full circle of longitudes, each position occurs once.
        order: the indices of the points in the file.
        is_full_circle: whether the points surround the sphere.
        name: "lon" or "lat" for degrees; "x" or "y" for m in a projection.
    """

    points: np.ndarray
    order: np.ndarray
    is_full_circle: bool = False
    name: str = "lon"

    @property
    def unit(self) -> str:
        return "degrees" if self.name in ("lon", "lat") else "m"

    @property
    def max_spacing(self) -> float:
        """The largest distance between neighbouring points, degrees or m."""
        return float(np.diff(self.points).max())

    @property
    def edges(self) -> np.ndarray:
        """The edges of the cells around the points; the first and last are half a spacing beyond the points."""
        before, after = 2.0 * self.points[:1] - self.points[1:2], 2.0 * self.points[-1:] - self.points[-2:-1]
        if self.is_full_circle:
            before, after = self.points[-1:] - FULL_CIRCLE_DEGREES, self.points[:1] + FULL_CIRCLE_DEGREES
        points = np.concatenate([before, self.points, after])
        return 0.5 * (points[1:] + points[:-1])


@dataclass(frozen=True, eq=False)
class Relief:
    """An open relief.

    Attributes:
        path, origin: the path of its file, and the origin that the file names, which may be empty.
        height: the variable with height or depth, a DataArray.
        metres_per_unit: metres upward per unit of the height; negative for depths.
        fraction_variable: the variable with the sea or land fraction; None: points below zero are sea.
        fraction_transform: factor and offset that turn this fraction into the sea fraction.
        strait: the variable that marks points that are mostly land, but connect seas in a finer relief; or None.
        x, y: the axes of the relief.
        is_transposed: whether the last dimension of the variables is y.
        crs: the projected coordinate reference system of x and y; "" for longitudes and latitudes.
        may_lack_values: whether another relief may have the values that are missing here.
    """

    path: str
    origin: str
    height: Any
    metres_per_unit: float
    fraction_variable: Any
    fraction_transform: tuple[float, float]
    strait: Any
    x: ReliefAxis
    y: ReliefAxis
    is_transposed: bool
    crs: str = ""
    may_lack_values: bool = False

    @property
    def frame(self) -> Frame:
        """The frame of its positions (`ocean.coordinates`)."""
        return self.crs or None

    def window(self, rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Depth, m, sea fraction, and height of land, m, of points [rows, columns]; depth and height are at least 0.

        With `may_lack_values`, missing values are NaN. Without it, they count as land: where the sea fraction is 0 and,
        with a message, if the relief holds depths or is a survey of the sea floor.

        ReliefError: any other value is missing, or a value is wrong.
        """
        values = self.read(self.height, rows, columns)
        self.raise_if_marks_missing(values, rows, columns)
        z = self.metres_per_unit * values
        is_missing = np.isnan(z)
        sea_fraction: np.ndarray = z < 0
        is_beyond = (z < HEIGHT_RANGE_METRES[0]) | (z > HEIGHT_RANGE_METRES[1])
        if is_beyond.any():
            self.raise_about_values(values, is_beyond, "which is not a height or depth on the Earth", rows, columns)
        is_wrong = is_missing
        if self.fraction_variable is not None:
            factor, offset = self.fraction_transform
            sea_fraction = offset + factor * self.read(self.fraction_variable, rows, columns)
            is_no_fraction = ~((sea_fraction >= 0) & (sea_fraction <= 1))
            problem = f"{self.fraction_variable.name} is not a fraction between 0 and 1"
            self.raise_about_first(problem, is_no_fraction, rows, columns)
            is_wrong = is_missing & (sea_fraction > 0)
        if self.may_lack_values:
            fields = np.maximum(-z, 0.0), sea_fraction, np.maximum(z, 0.0)
            depth, sea_fraction, height = (np.where(is_missing, np.nan, field) for field in fields)
            return depth, sea_fraction, height
        if is_wrong.any() and (self.metres_per_unit < 0 or self.is_survey_of_the_sea_floor):
            log_once(f"{self.path}: missing values of {self.height.name} count as land")
        else:
            remedy = "; give another relief that has values there, with --relief FILE, after this one"
            self.raise_about_first(f"{self.height.name} is missing", is_wrong, rows, columns, remedy)
        height = np.where(is_missing, UNKNOWN_LAND_HEIGHT_METRES, np.maximum(z, 0.0))
        return np.where(is_missing, 0.0, np.maximum(-z, 0.0)), np.where(is_missing, 0.0, sea_fraction), height

    @cached_property
    def is_survey_of_the_sea_floor(self) -> bool:
        """Whether this is a raster without any height above zero, inside or outside the region of the grid."""
        if not GDAL_BAND_PATTERN.fullmatch(self.height.name):
            return False
        n_rows, rest = self.height.shape[-2], (0,) * (self.height.ndim - 2)
        rows_per_strip = max(1, VALUES_PER_STRIP // self.height.shape[-1])
        strips = (slice(first, first + rows_per_strip) for first in range(0, n_rows, rows_per_strip))
        return not any((self.metres_per_unit * read_values(self.height, (*rest, rows)) > 0).any() for rows in strips)

    def raise_if_marks_missing(self, values: np.ndarray, rows, columns):
        """Raise ReliefError if values [rows, columns] contain one of MISSING_VALUES that marks missing values."""
        for missing_value in MISSING_VALUES:
            is_same = values == missing_value
            n_same = np.count_nonzero(is_same)
            if not n_same:
                continue
            is_nearby = np.abs(values - missing_value) <= NEARBY_RELATIVE_DISTANCE * abs(missing_value)
            n_nearby = np.count_nonzero(is_nearby) - n_same  # for example depths in whole metres
            if n_same > MIN_MISSING_FRACTION * n_nearby and (n_same > MAX_REAL_VALUES or abs(missing_value) > 999):
                self.raise_about_values(values, is_same, "which usually marks missing values", rows, columns)

    def raise_about_values(self, values: np.ndarray, is_wrong: np.ndarray, reason: str, rows, columns):
        """Raise ReliefError about the first wrong value and all values equal to it, with a remedy."""
        value = float(values[is_wrong][0])
        n_values = np.count_nonzero(values == value)
        remedy = f"give it the attribute _FillValue = {value:.7g}, or change the value if it is real"
        if GDAL_BAND_PATTERN.fullmatch(self.height.name):
            command = f"gdal_translate -a_nodata {value:.7g} {self.path} NEW.tif"
            remedy = f"convert it with `{command}`, or change the value if it is real"
        problem = f"{self.height.name} has {n_values} value{'s' if n_values > 1 else ''} of {value:.7g}, {reason},"
        self.raise_about_first(problem, is_wrong, rows, columns, f"; {remedy}")

    def sign_remedy(self) -> str:
        """What to do if the sign is wrong, as the end of a message; "" if a sea or land fraction defines the sea."""
        direction, name = "up" if self.metres_per_unit < 0 else "down", self.height.name
        instruction = f'give it the attribute positive = "{direction}"'
        if GDAL_BAND_PATTERN.fullmatch(name):
            instruction = f"name it as {self.path}:{'' if self.metres_per_unit < 0 else '-'}{name}"
        remedy = f"; if {name} is positive {direction}ward, {instruction}"
        return remedy if self.fraction_variable is None else ""

    def is_sea(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Whether points [rows, columns] are at least half sea, or straits."""
        sea = self.window(rows, columns)[1] >= 0.5
        return sea if self.strait is None else sea | self.is_strait(rows, columns)

    def is_strait(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Whether points [rows, columns] are marked in `strait`, which must not be None."""
        return self.read(self.strait, rows, columns) > 0

    def read(self, variable, rows, columns) -> np.ndarray:
        """Values of a variable at points [rows, columns], float64, NaN where missing."""
        y, x = self.y.order[rows], self.x.order[columns]
        window = tuple(slice(int(numbers.min()), int(numbers.max()) + 1) for numbers in (y, x))
        values = read_values(variable, (0,) * (variable.ndim - 2) + (window[::-1] if self.is_transposed else window))
        values = np.asarray(values.T if self.is_transposed else values, np.float64)
        return values[np.ix_(y - window[0].start, x - window[1].start)]

    def raise_about_first(self, problem: str, is_wrong: np.ndarray, rows, columns, remedy: str = ""):
        """Raise ReliefError if `is_wrong` [rows, columns] is true anywhere; the message names the first such point."""
        for j, i in np.argwhere(is_wrong)[:1]:
            x, y = self.x.points[columns[i]], self.y.points[rows[j]]
            position = f"{self.x.name} = {x:.10g}, {self.y.name} = {y:.10g} {self.x.unit}"
            raise ReliefError(f"{self.path}: {problem} at {position}{remedy}")


def open_relief(entry: str | os.PathLike | None, stack, default_crs: str | None = None) -> Relief:
    """Open "FILE", "FILE:NAME" or, with the sign reversed, "FILE:-NAME"; None: the package's relief. `stack` closes it.

    `default_crs`: the projection assumed for a file that has no longitudes and latitudes and names no projection.
    """
    source = parse_entry(str(entry or PACKAGE_RELIEF))
    return make_relief(stack.enter_context(open_file(source.path, "--relief: ", ReliefError)), source, default_crs)


def make_relief(dataset: CFDataset, source: InputEntry, default_crs: str | None = None) -> Relief:
    """The Relief in an open file; `default_crs`: see `open_relief`. InputError: its height or axes are unusable."""
    height = find_height(dataset, source)
    context, units = f"{source.path}: {height.name}", height.attrs.get("units", "")
    if source.record is not None:
        raise ReliefError(f"{context}: a relief has no records; leave out @{source.record}")
    if several := [name for name in height.dims[:-2] if height.sizes[name] > 1]:
        raise ReliefError(f"{context} has several records along {' and '.join(several)}; reduce the file to one record")
    sign = sign_of(height)
    if sign is None:
        raise ReliefError(f'{context} may be height or depth; give it the attribute positive, "up" or "down"')
    if not units:
        log_once(f'{context} has no units; "m" is assumed')
        units = "m"
    if (metres := conversion_factor(units, "m")) is None:
        remedy = "convert it to m, or correct its attribute units if it is in m"
        if GDAL_BAND_PATTERN.fullmatch(height.name):
            remedy = f'convert it, from feet with `gdal_calc.py -A {source.path} --outfile NEW.tif --calc "0.3048*A"`'
        raise ReliefError(f'{context} is in "{units}"; a relief must be in metric units: {remedy}')
    strait = dataset.data.get(STRAIT_NAME)
    crs = projection_of(dataset, height)
    if default_crs and not crs and not any(map(is_in_degrees, coordinates_along_axes(dataset, height))):
        log_once(f"{source.path} names no coordinate system: x and y are taken as those of {default_crs}")
        crs = default_crs
    last_axes = [dataset.axis_of(coordinate) for coordinate in dataset.coordinates_along(height.dims[-1])]
    is_transposed = last_axes[:1] == ["y"]
    fraction_variable, fraction_transform = find_fraction(dataset, height)
    x, y = (make_axis(dataset, height, axis, context, crs) for axis in "xy")
    return Relief(
        source.path,
        str(dataset.data.attrs.get("source", height.attrs.get("source", ""))),
        height,
        -sign * metres if source.name.startswith("-") else sign * metres,
        fraction_variable,
        fraction_transform,
        None if strait is None or strait.dims != height.dims else strait,
        x,
        y,
        is_transposed,
        crs,
    )


def projection_of(dataset: CFDataset, variable) -> str:
    """The projection of a field with coordinates in m; "" if they are in degrees, or the file names no projection."""
    along_axes = coordinates_along_axes(dataset, variable)
    return "" if any(map(is_in_degrees, along_axes)) else dataset.projection_of(variable)


def coordinates_along_axes(dataset: CFDataset, variable) -> list:
    return [coordinate for axis in "xy" for coordinate in horizontal_coordinates(dataset, variable, axis)]


def horizontal_coordinates(dataset: CFDataset, variable, axis: str) -> list:
    """The coordinates of x or y along one of the last two dimensions of a variable."""
    return [
        coordinate
        for name in variable.dims[-2:]
        for coordinate in dataset.coordinates_along(name)
        if dataset.axis_of(coordinate) == axis
    ]


def find_height(dataset: CFDataset, source: InputEntry):
    """The variable with height or depth. ReliefError: the file has no such variable, or several."""
    variables = dataset.data.variables.items()
    fields = {str(name): variable for name, variable in variables if variable.ndim >= 2 and is_numeric(variable)}
    if source.name:
        name = source.name if source.name in fields else source.name.removeprefix("-")
        if name not in fields:
            raise ReliefError(f'{source.path} has no field "{source.name}"; it has {", ".join(fields) or "none"}')
        return dataset.data[name]
    matches = [
        name
        for name in candidate_names(dataset, HEIGHT_STANDARD_NAMES + DEPTH_STANDARD_NAMES, SIGN_BY_NAME)
        if name in fields
    ]
    bands = [name for name in fields if name not in ("xc", "yc")]  # positions of a rotated raster
    matches = matches or [name for name in bands if len(bands) == 1 and GDAL_BAND_PATTERN.fullmatch(name)]
    if len(matches) == 1:
        return dataset.data[matches[0]]
    if not fields:
        raise ReliefError(f"{source.path} has no field of numbers along two or more axes")
    problem = "several fields that may be the relief" if matches else "no known field of height or depth"
    names = ", ".join(matches or fields)
    raise ReliefError(f"{source.path} has {problem} ({names}); name it as {source.path}:NAME")


def sign_of(variable) -> float | None:
    """1 for a height, -1 for a depth, from its attribute positive, standard name or name; None: unknown."""
    standard = dict.fromkeys(HEIGHT_STANDARD_NAMES, 1.0) | dict.fromkeys(DEPTH_STANDARD_NAMES, -1.0)
    by_attribute = {"up": 1.0, "down": -1.0}.get(variable.attrs.get("positive", "").lower())
    by_name = 1.0 if GDAL_BAND_PATTERN.fullmatch(variable.name) else SIGN_BY_NAME.get(variable.name.lower())
    return by_attribute or standard.get(variable.attrs.get("standard_name")) or by_name


def make_axis(dataset: CFDataset, variable, axis: str, context: str, crs: str = "") -> ReliefAxis:
    """The ReliefAxis of a field's points along an axis. InputError: positions are missing or not monotonic.

    `crs`: the projection of positions in m; "" for longitudes or latitudes.
    """
    coordinates = horizontal_coordinates(dataset, variable, axis)
    in_metres = [
        coordinate
        for coordinate in coordinates
        if conversion_factor(coordinate.attrs.get("units", "m"), "m") is not None
    ]
    if crs and in_metres:
        values, order, *_ = sorted_coordinate(dataset, in_metres[0], axis, context, in_metres=True)
        return ReliefAxis(values, order, name=axis)
    in_degrees = [coordinate for coordinate in coordinates if is_in_degrees(coordinate)]
    if not in_degrees:
        word = {"x": "longitudes", "y": "latitudes"}[axis]
        remedy = (
            f"; convert it with `gdalwarp -t_srs EPSG:4326 {dataset.context} NEW.tif`, and -s_srs if it names no system"
            if GDAL_BAND_PATTERN.fullmatch(variable.name)
            else ""
        )
        raise ReliefError(
            f"{context} has no {word} in degrees, and no {axis} in m in a projection that it names, along one of its "
            f"last two axes{remedy}"
        )
    values, order, *_ = sorted_coordinate(dataset, in_degrees[0], axis, context)
    if axis == "y":
        return ReliefAxis(values, order, name="lat")
    steps = np.diff(values)
    is_in_first_circle = values < values[0] + FULL_CIRCLE_DEGREES - 0.5 * steps.min()
    values, order = values[is_in_first_circle], order[is_in_first_circle]
    return ReliefAxis(values, order, bool(values[0] + FULL_CIRCLE_DEGREES - values[-1] <= 1.5 * steps.max()))


def find_fraction(dataset: CFDataset, height) -> tuple[Any, tuple[float, float]]:
    """The variable with the sea or land fraction, or None, and the factor and offset that give the sea fraction."""
    for name, variable in dataset.data.variables.items():
        units = variable.attrs.get("units", "")
        if variable.dims[-2:] != height.dims[-2:] or not is_numeric(variable) or units not in FRACTION_DIVISORS:
            continue
        names, divisor = {variable.attrs.get("standard_name"), str(name).lower()}, FRACTION_DIVISORS[units]
        if names & SEA_FRACTION_NAMES:
            return dataset.data[name], (1 / divisor, 0.0)
        if names & LAND_FRACTION_NAMES:
            return dataset.data[name], (-1 / divisor, 1.0)
    return None, (1.0, 0.0)
