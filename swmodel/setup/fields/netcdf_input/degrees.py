"""Bilinear interpolation of fields on longitudes and latitudes to the points of a grid on a sphere.

Positions of points refer to the pole of the field.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ....ocean.coordinates import CIRCLE, OFFSETS, axes, points
from ....ocean.rotated import directions, from_earth
from .dataset import CFDataset, in_degrees
from .errors import InputError

#: Distance within which a point counts as one of the file, in its steps.
SNAP = 1e-6

#: Largest distance of a value that replaces a missing one, in steps of the file or cells of the grid.
REACH = 2.0


class Between(NamedTuple):
    """For points of the grid, the numbers of the two positions around each, and its fraction of the way.

    Beyond the first and the last position the fraction is 0 or 1.
    """

    first: np.ndarray
    second: np.ndarray
    part: np.ndarray


class Line(NamedTuple):
    """Positions of a file along one axis: rising `values`, degrees, and their numbers in the file, `order`.

    `turns`: whether they are longitudes, which repeat after a full circle.
    """

    values: np.ndarray
    order: np.ndarray
    turns: bool
    place: str

    def located(self, wanted: np.ndarray) -> tuple[Between, np.ndarray]:
        """The Between of positions, and whether the values cover each, up to half a step beyond both ends.

        On a circle the last value is a neighbour of the first if they are at most a step and a half apart.
        """
        values, count, step = self.values, len(self.values), np.diff(self.values).max()
        if self.turns:
            wanted = values[0] + (wanted - values[0] + SNAP * step) % CIRCLE - SNAP * step
            closed = values[0] + CIRCLE - values[-1] <= 1.5 * step
            wanted = wanted if closed else np.where(wanted > values[-1] + 0.5 * step, wanted - CIRCLE, wanted)
            if closed:
                values = np.append(values, values[0] + CIRCLE)
        covered = (wanted >= values[0] - (0.5 + SNAP) * step) & (wanted <= values[-1] + (0.5 + SNAP) * step)
        first = np.clip(np.searchsorted(values, wanted, side="right") - 1, 0, len(values) - 2)
        part = np.clip((wanted - values[first]) / (values[first + 1] - values[first]), 0.0, 1.0)
        nearest = np.rint(part)
        part = np.where(np.abs(part - nearest) < SNAP, nearest, part)
        return Between(first % count, (first + 1) % count, part), covered

    def between(self, wanted: np.ndarray) -> Between:
        """The Between of positions, with the numbers in the file."""
        found, covered = self.located(wanted)
        if not covered.all():
            away, name = wanted[~covered].flat[0], "lon" if self.turns else "lat"
            raise InputError(
                f"{self.place} runs from {self.values.min():.10g} to {self.values.max():.10g} degrees and does not "
                f"cover the grid, which needs {name} = {away:.10g} degrees"
            )
        return Between(self.order[found.first], self.order[found.second], found.part)

    def has(self, wanted: np.ndarray) -> bool:
        """Whether all positions are among the values."""
        one = self.located(wanted)[0]
        nearest = self.values[np.where(one.part > 0.5, one.second, one.first)]
        away = np.abs((wanted - nearest + CIRCLE / 2) % CIRCLE - CIRCLE / 2)
        return bool(away.max() < SNAP * np.diff(self.values).mean())

    def around(self, wanted: np.ndarray, far: float) -> np.ndarray:
        """Numbers [near, positions] of the values within `far` on both sides of positions, and one more."""
        count, ways = len(self.values), int(np.ceil(far / np.diff(self.values).min())) + 1
        numbers = self.located(wanted)[0].first + np.arange(-ways, ways + 1)[: 2 * count + 1, None]
        return numbers % count if self.turns else np.clip(numbers, 0, count - 1)


class Places(NamedTuple):
    """The positions of a field's points in a file with coordinates y and x about `pole`; None: the Earth's.

    `nearest`: whether each point takes the value of the nearest one in the file.
    """

    y: Line
    x: Line
    grid: Any
    location: str
    pole: tuple[float, float] | None
    nearest: bool

    def positions(self, rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Longitudes and latitudes of points about the pole of the file, which broadcast to [rows, columns]."""
        if self.pole != self.grid.pole:
            x, y = points(self.grid, self.location, rows, columns).degrees
            return from_earth(self.pole, x, y) if self.pole else (x, y)
        along, (north, east) = axes(self.grid), OFFSETS[self.location]
        x = along.x.first + (columns[None, :] + east) * along.x.spacing
        return x, along.y.first + (rows[:, None] + north) * along.y.spacing

    def at(self, rows: np.ndarray, columns: np.ndarray) -> tuple[Between, Between]:
        """The Between along y and along x of points in rows and columns, which broadcast to [rows, columns]."""
        x, y = self.positions(rows, columns)
        made = self.y.between(y), self.x.between(x)
        return tuple(one._replace(part=np.rint(one.part)) if self.nearest else one for one in made)

    def words(self) -> list[str]:
        """Words about positions that are not points of the file."""
        own, found = self.pole == self.grid.pole, []
        wanted = self.positions(np.arange(self.grid.ny), np.arange(self.grid.nx)) if own else (None, None)
        how = "the nearest value is taken" if self.nearest else "values are interpolated"
        for line, positions in zip((self.y, self.x), reversed(wanted), strict=True):
            if not own or not line.has(positions):
                name, step = line.place.rpartition(" ")[2], np.diff(line.values).mean()
                found.append(f"{name} has steps of {step:.4g} degrees, {how}")
        return found


def line_of(dataset: CFDataset, coordinate, axis: str, place: str) -> Line:
    """The Line of a coordinate along x or y."""
    place = f"{place}: {coordinate.name}"
    if not in_degrees(coordinate):
        units = coordinate.attrs.get("units")
        has = f'is in "{units}"' if units else "has no units"
        needed = {"x": "degrees_east", "y": "degrees_north"}[axis]
        raise InputError(f'{place} {has}; a grid on a sphere needs the attribute units = "{needed}"')
    if coordinate.ndim > 1:
        raise InputError(
            f"{place} varies along {' and '.join(coordinate.dims)}; a grid on a sphere needs fields whose "
            "longitudes vary along one axis and latitudes along the other"
        )
    values = dataset.values_along(coordinate, *coordinate.dims)
    steps = np.diff(values)
    if not ((steps > 0).all() or (steps < 0).all()) or len(values) < 2:
        raise InputError(f"{place} has missing values, or does not run in one direction")
    order = np.argsort(values)
    return Line(values[order], order, axis == "x", place)


def places(dataset: CFDataset, y, x, field, grid, row, place: str) -> Places:
    """The Places of a variable with coordinates y and x for the field `row`; masks take the nearest point."""
    lines, pole = (line_of(dataset, y, "y", place), line_of(dataset, x, "x", place)), None
    if x.attrs.get("standard_name") == "grid_longitude":
        mapping = dataset.data.variables.get(field.attrs.get("grid_mapping", "").split(":")[0])
        names = ("grid_north_pole_longitude", "grid_north_pole_latitude")
        if mapping is None or not mapping.attrs.keys() >= {*names}:
            raise InputError(f"{place} has grid_longitude, and no grid_mapping that names the pole")
        pole = tuple(float(mapping.attrs[name]) for name in names)
    made = Places(*lines, grid, row.location, pole, row.name == "mask")
    if pole == grid.pole:
        made.at(np.arange(grid.ny), np.arange(grid.nx))
    return made


def interpolated(read, places: Places, rows: np.ndarray, columns: np.ndarray, fill=None) -> np.ndarray:
    """Values in rows and columns of the grid; `read` gives those of the file, NaN where missing.

    Missing values have no weight. Where the others have less than half of the weight, the result is missing, or the
    `nearest` one where `fill` [rows, columns] holds.
    """
    y, x = places.at(rows, columns)
    needed = [np.unique(np.concatenate([one.first, one.second], axis=None)) for one in (y, x)]
    window = read(*needed)
    total = weight = np.zeros((len(rows), len(columns)))
    for row, of_row in ((y.first, 1 - y.part), (y.second, y.part)):
        for column, of_column in ((x.first, 1 - x.part), (x.second, x.part)):
            values = window[np.searchsorted(needed[0], row), np.searchsorted(needed[1], column)]
            weights = of_row * of_column
            there = np.isfinite(values) & (weights > 0)
            total = total + np.where(there, weights * values, 0.0)
            weight = weight + np.where(there, weights, 0.0)
    enough = weight >= 0.5
    found = np.where(enough, total / np.where(enough, weight, 1.0), np.nan)
    if fill is not None and (lacking := fill & ~enough).any():
        found[lacking] = nearest(read, places, rows, columns, lacking)[0]
    return found


def nearest(read, places: Places, rows: np.ndarray, columns: np.ndarray, wanted: np.ndarray):
    """The nearest values of the file for the points `wanted`, their distances, and the limit of these, degrees.

    Two arrays [points], NaN and infinity where no value is near enough, and a number.
    """
    grid, shape = places.grid, (len(rows), len(columns))
    most = REACH * max(*(np.diff(line.values).max() for line in (places.y, places.x)), grid.dlon, grid.dlat)
    x, y = (np.broadcast_to(each, shape)[wanted] for each in places.positions(rows, columns))
    narrow = max(np.cos(np.radians(np.abs(y).max())), 0.1)  # degrees of longitude are shorter there
    near = places.y.around(y, most), places.x.around(x, most / narrow)
    needed = [np.unique(line.order[numbers]) for line, numbers in zip((places.y, places.x), near, strict=True)]
    window, points_of = read(*needed), directions(x, y)
    best, values = np.full(len(x), np.inf), np.full(len(x), np.nan)
    for row in near[0]:
        for column in near[1]:
            j, i = np.searchsorted(needed[0], places.y.order[row]), np.searchsorted(needed[1], places.x.order[column])
            chord = np.linalg.norm(directions(places.x.values[column], places.y.values[row]) - points_of, axis=-1)
            away = np.degrees(2 * np.arcsin(np.minimum(0.5 * chord, 1.0)))
            closer = np.isfinite(window[j, i]) & (away < np.minimum(best, most * (1 + SNAP)))
            best, values = np.where(closer, away, best), np.where(closer, window[j, i], values)
    return values, best, most
