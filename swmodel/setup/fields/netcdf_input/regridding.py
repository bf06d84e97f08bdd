"""Bilinear interpolation of fields on longitudes and latitudes, or in a projection, to the points of a grid.

Positions are in the frame of the field (`ocean.coordinates`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ....ocean.coordinates import (
    FULL_CIRCLE_DEGREES,
    LOCATION_OFFSETS,
    Frame,
    axes,
    frame_of,
    is_spherical,
    points,
    to_frame,
)
from ....ocean.rotated_pole import unit_vectors
from .dataset import CFDataset, is_in_degrees
from .errors import InputError
from .units import conversion_factor

if TYPE_CHECKING:
    from ....config.options.grid import GridOptions

#: Distance within which a point counts as a point of the file, in steps of the file.
SNAP_STEPS = 1e-6

#: Largest distance of a value that replaces a missing one, in steps of the file or cells of the grid.
MAX_FILL_STEPS = 2.0


class Bracket(NamedTuple):
    """For points of the grid, the indices of the two file positions around each point, and how far it is between them.

    The fraction is 0 at the first position and 1 at the second; beyond the ends of the file it is 0 or 1.
    """

    first: np.ndarray
    second: np.ndarray
    fraction: np.ndarray


class SortedCoordinate(NamedTuple):
    """Positions in a file along one axis: ascending `values` in a unit, and their indices in the file, `order`.

    `name`: lon or lat (in degrees), or x or y (in m). Longitudes repeat after a full circle.
    """

    values: np.ndarray
    order: np.ndarray
    name: str
    context: str

    @property
    def is_longitude(self) -> bool:
        return self.name == "lon"

    @property
    def unit(self) -> str:
        return "m" if self.name in ("x", "y") else "degrees"

    def locate(self, positions: np.ndarray) -> tuple[Bracket, np.ndarray]:
        """The Bracket of positions among `values`, and whether these cover each, up to half a step beyond both ends.

        On a circle the last value is a neighbour of the first if they are at most a step and a half apart.
        """
        values, n_values, step = self.values, len(self.values), np.diff(self.values).max()
        if self.is_longitude:
            circles = np.floor((positions - values[0] + SNAP_STEPS * step) / FULL_CIRCLE_DEGREES)
            # This is exact for multiples of 2^-n degrees, whose bits are thus the same in all conventions of longitude.
            positions = positions - circles * FULL_CIRCLE_DEGREES
            is_full_circle = values[0] + FULL_CIRCLE_DEGREES - values[-1] <= 1.5 * step
            if is_full_circle:
                values = np.append(values, values[0] + FULL_CIRCLE_DEGREES)
            else:
                positions = np.where(positions > values[-1] + 0.5 * step, positions - FULL_CIRCLE_DEGREES, positions)
        is_covered = (positions >= values[0] - (0.5 + SNAP_STEPS) * step) & (
            positions <= values[-1] + (0.5 + SNAP_STEPS) * step
        )
        first = np.clip(np.searchsorted(values, positions, side="right") - 1, 0, len(values) - 2)
        fraction = np.clip((positions - values[first]) / (values[first + 1] - values[first]), 0.0, 1.0)
        nearest = np.rint(fraction)
        fraction = np.where(np.abs(fraction - nearest) < SNAP_STEPS, nearest, fraction)
        return Bracket(first % n_values, (first + 1) % n_values, fraction), is_covered

    def find_bracket(self, positions: np.ndarray) -> Bracket:
        """The Bracket of positions, with indices in the file. InputError: the file does not cover them."""
        bracket, is_covered = self.locate(positions)
        if not is_covered.all():
            first_outside = positions[~is_covered].flat[0]
            raise InputError(
                f"{self.context} runs from {self.values.min():.10g} to {self.values.max():.10g} {self.unit} and does "
                f"not cover the grid, which needs {self.name} = {first_outside:.10g} {self.unit}"
            )
        return Bracket(self.order[bracket.first], self.order[bracket.second], bracket.fraction)

    def contains_all(self, positions: np.ndarray) -> bool:
        """Whether all positions are positions in the file."""
        bracket = self.locate(positions)[0]
        nearest = self.values[np.where(bracket.fraction > 0.5, bracket.second, bracket.first)]
        distance = positions - nearest
        if self.is_longitude:
            distance = (distance + FULL_CIRCLE_DEGREES / 2) % FULL_CIRCLE_DEGREES - FULL_CIRCLE_DEGREES / 2
        return bool(np.abs(distance).max() < SNAP_STEPS * np.diff(self.values).mean())

    def indices_within(self, positions: np.ndarray, distance: float) -> np.ndarray:
        """Indices [neighbours, positions] of the values within `distance` of positions, and one more on each side."""
        n_values, n_neighbours = len(self.values), int(np.ceil(distance / np.diff(self.values).min())) + 1
        numbers = self.locate(positions)[0].first + np.arange(-n_neighbours, n_neighbours + 1)[: 2 * n_values + 1, None]
        return numbers % n_values if self.is_longitude else np.clip(numbers, 0, n_values - 1)


class Regridder(NamedTuple):
    """Locates the points of a field in a file with coordinates y and x in a frame.

    `takes_nearest`: whether each point takes the value of the nearest point in the file.
    """

    y: SortedCoordinate
    x: SortedCoordinate
    grid: GridOptions
    location: str
    frame: Frame
    takes_nearest: bool

    def positions(self, rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions of points along x and y in the file's frame, which broadcast to [rows, columns]."""
        if self.frame != frame_of(self.grid):
            at = points(self.grid, self.location, rows, columns)
            return to_frame(self.frame, at.lon, at.lat)
        along, (north, east) = axes(self.grid), LOCATION_OFFSETS[self.location]
        x = along.x.first + (columns[None, :] + east) * along.x.spacing
        return x, along.y.first + (rows[:, None] + north) * along.y.spacing

    def brackets_of(self, rows: np.ndarray, columns: np.ndarray) -> tuple[Bracket, Bracket]:
        """The Bracket along y and along x of points in rows and columns, which broadcast to [rows, columns]."""
        x, y = self.positions(rows, columns)
        brackets = self.y.find_bracket(y), self.x.find_bracket(x)
        if not self.takes_nearest:
            return brackets
        along_y, along_x = (one._replace(fraction=np.rint(one.fraction)) for one in brackets)
        return along_y, along_x

    def describe(self) -> list[str]:
        """Words for a message about the axes along which points of the grid are not points of the file."""
        has_same_frame, notes = self.frame == frame_of(self.grid), []
        grid_positions = (
            self.positions(np.arange(self.grid.ny), np.arange(self.grid.nx)) if has_same_frame else (None, None)
        )
        how = "the nearest value is taken" if self.takes_nearest else "values are interpolated"
        for coordinate, positions in zip((self.y, self.x), reversed(grid_positions), strict=True):
            if not has_same_frame or not coordinate.contains_all(positions):
                name, step = coordinate.context.rpartition(" ")[2], np.diff(coordinate.values).mean()
                notes.append(f"{name} has steps of {step:.4g} {coordinate.unit}, {how}")
        return notes


def sorted_coordinate(
    dataset: CFDataset, coordinate, axis: str, context: str, in_metres: bool = False
) -> SortedCoordinate:
    """The SortedCoordinate of longitudes or latitudes, or of x or y `in_metres` in a projection.

    InputError: it has no degrees, more than one axis, missing values, or no single direction.
    """
    context = f"{context}: {coordinate.name}"
    if not in_metres and not is_in_degrees(coordinate):
        units = coordinate.attrs.get("units")
        has = f'is in "{units}"' if units else "has no units"
        needed = {"x": "degrees_east", "y": "degrees_north"}[axis]
        raise InputError(f'{context} {has}; a grid with longitudes needs the attribute units = "{needed}"')
    if coordinate.ndim > 1:
        raise InputError(
            f"{context} varies along {' and '.join(coordinate.dims)}; a grid with longitudes needs fields whose "
            "longitudes vary along one axis and latitudes along the other"
        )
    values = dataset.values_along(coordinate, *coordinate.dims)
    if in_metres:
        values = values * (conversion_factor(coordinate.attrs.get("units", ""), "m") or 1.0)
    steps = np.diff(values)
    if not ((steps > 0).all() or (steps < 0).all()) or len(values) < 2:
        raise InputError(f"{context} has missing values, or does not run in one direction")
    order = np.argsort(values)
    return SortedCoordinate(values[order], order, axis if in_metres else {"x": "lon", "y": "lat"}[axis], context)


def make_regridder(dataset: CFDataset, y, x, field, grid, model_variable, context: str, crs: str = "") -> Regridder:
    """The Regridder of a variable with coordinates y and x for a field of the model; masks take the nearest point.

    `crs`: the coordinate reference system of x and y in m; "" for longitudes and latitudes. InputError: a coordinate is
    unsuitable, the pole of a rotated grid is not given, or the file does not cover the grid.
    """
    along_y, along_x = (sorted_coordinate(dataset, one, axis, context, bool(crs)) for axis, one in (("y", y), ("x", x)))
    frame: Frame = crs or None
    if not crs and x.attrs.get("standard_name") == "grid_longitude":
        mapping = dataset.data.variables.get(field.attrs.get("grid_mapping", "").split(":")[0])
        names = ("grid_north_pole_longitude", "grid_north_pole_latitude")
        if mapping is None or not mapping.attrs.keys() >= {*names}:
            raise InputError(f"{context} has grid_longitude, but no grid_mapping that names the pole")
        pole_lon, pole_lat = (float(mapping.attrs[name]) for name in names)
        frame = pole_lon, pole_lat
    regridder = Regridder(along_y, along_x, grid, model_variable.location, frame, model_variable.name == "mask")
    if frame == frame_of(grid):  # check that the file covers the grid
        regridder.brackets_of(np.arange(grid.ny), np.arange(grid.nx))
    return regridder


def interpolate(read, regridder: Regridder, rows: np.ndarray, columns: np.ndarray, fill=None) -> np.ndarray:
    """Values interpolated to rows and columns of the grid; `read` returns those of the file, NaN where missing.

    Missing values have no weight. Where the others have less than half of the weight, the result is missing, or it is
    the nearest value where `fill` [rows, columns] is true.
    """
    y, x = regridder.brackets_of(rows, columns)
    needed = [np.unique(np.concatenate([one.first, one.second], axis=None)) for one in (y, x)]
    window = read(*needed)
    total = weight = np.zeros((len(rows), len(columns)))
    for row, row_weight in ((y.first, 1 - y.fraction), (y.second, y.fraction)):
        for column, column_weight in ((x.first, 1 - x.fraction), (x.second, x.fraction)):
            values = window[np.searchsorted(needed[0], row), np.searchsorted(needed[1], column)]
            weights = row_weight * column_weight
            is_used = np.isfinite(values) & (weights > 0)
            total = total + np.where(is_used, weights * values, 0.0)
            weight = weight + np.where(is_used, weights, 0.0)
    has_value = weight >= 0.5
    values_on_grid = np.where(has_value, total / np.where(has_value, weight, 1.0), np.nan)
    if fill is not None and (missing := fill & ~has_value).any():
        values_on_grid[missing] = nearest_values(read, regridder, rows, columns, missing)[0]
    return values_on_grid


def nearest_values(read, regridder: Regridder, rows: np.ndarray, columns: np.ndarray, is_wanted: np.ndarray):
    """The nearest values in the file for the points `is_wanted`, their distances, and the largest allowed, degrees.

    Returns two arrays [points], with NaN and infinity where no value is within the limit, and a number.
    """
    grid, shape, in_degrees = regridder.grid, (len(rows), len(columns)), regridder.y.unit == "degrees"
    metres_per_degree = grid.radius * np.radians(1.0)
    units_per_step = (metres_per_degree if is_spherical(grid) else 1.0) / (metres_per_degree if in_degrees else 1.0)
    max_distance = MAX_FILL_STEPS * max(
        *(np.diff(coordinate.values).max() for coordinate in (regridder.y, regridder.x)),
        *(axis.spacing * units_per_step for axis in axes(grid)),
    )
    x, y = (np.broadcast_to(each, shape)[is_wanted] for each in regridder.positions(rows, columns))
    # Degrees of longitude are shorter than those of latitude, so that more columns are within the distance.
    min_cosine = max(np.cos(np.radians(np.abs(y).max())), 0.1) if in_degrees else 1.0
    nearby_rows = regridder.y.indices_within(y, max_distance)
    nearby_columns = regridder.x.indices_within(x, max_distance / min_cosine)
    needed = np.unique(regridder.y.order[nearby_rows]), np.unique(regridder.x.order[nearby_columns])
    window = read(*needed)
    if not in_degrees:
        max_distance /= metres_per_degree
    min_distances, values = np.full(len(x), np.inf), np.full(len(x), np.nan)
    for row in nearby_rows:
        for column in nearby_columns:
            j = np.searchsorted(needed[0], regridder.y.order[row])
            i = np.searchsorted(needed[1], regridder.x.order[column])
            at = regridder.x.values[column], regridder.y.values[row]
            if in_degrees:
                chord = np.linalg.norm(unit_vectors(*at) - unit_vectors(x, y), axis=-1)
                distances = np.degrees(2 * np.arcsin(np.minimum(0.5 * chord, 1.0)))
            else:
                distances = np.hypot(at[0] - x, at[1] - y) / metres_per_degree
            is_closer = np.isfinite(window[j, i]) & (
                distances < np.minimum(min_distances, max_distance * (1 + SNAP_STEPS))
            )
            min_distances = np.where(is_closer, distances, min_distances)
            values = np.where(is_closer, window[j, i], values)
    return values, min_distances, max_distance
