"""Positions from a user, within the domain and on water; the gauges of a run. NumPy only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ...errors import UsageError
from ...ocean.coordinates import along_axes, apart, axes, distances, places, points, positions, turned
from ...ocean.rotated import turn
from ...ocean.terms.tracer import CONTENT, tracers_in
from .. import fields
from ..setup import Setup
from .stencils import QUANTITIES, cells_around, neighbourhoods, stencils

#: Most positions on land for which a message names the nearest water, as the search covers the whole grid.
NAMED = 10


class Station(NamedTuple):
    """A position along the axes, the four cells around it, [4] each, and their bilinear weights, zero on land."""

    x: float
    y: float
    rows: np.ndarray
    columns: np.ndarray
    weights: np.ndarray


def station(config, place: tuple[float, float], what: str = "the station") -> Station:
    """The Station, for sea level, at a place in m, or at a longitude and latitude."""
    along, problems = on_water(config, [place], [what])
    if problems:
        raise UsageError(problems[0])
    (x, y), *_ = along
    return Station(x, y, *(part[0] for part in stencils(config, [QUANTITIES.index("eta")], [x], [y])))


class Points(NamedTuple):
    """Points of the C-grid, [m] each: the index of a prognostic field in the state, row and column in the grid.

    Attributes:
        at_sides: whether one of them is a face of an open side.
    """

    fields: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    at_sides: bool = False


class Gauges(NamedTuple):
    """Positions with the points around them.

    Attributes:
        places: x and y in m, or longitude and latitude, [2, n].
        depth: resting depth there, m, interpolated as eta, [n].
        distance: distance to the nearest centre of a wet cell, m, [n].
        points: points to read from the state: for each field of `of`, four for each gauge.
        of: {name of a series: its prognostic fields}; a concentration may have content and thickness.
        weights: {name of a series: bilinear weights [n, 4]}.
        resting: depths at the four centres, in the precision of the run, [n, 4].
        turn: cosine and sine of the angle from eastward to the first axis of the grid, [n]; None if it is zero.
        film: thickness above which a cell counts as wet, m; None without drying.
    """

    names: list[str]
    places: np.ndarray
    depth: np.ndarray
    distance: np.ndarray
    points: Points
    of: dict[str, tuple[str, ...]]
    weights: dict[str, np.ndarray]
    resting: np.ndarray
    turn: tuple[np.ndarray, np.ndarray] | None
    film: float | None = None

    def nearest(self, values: np.ndarray) -> np.ndarray:
        """Those of values [..., n, 4] at the four centres that are in the cell of each gauge, [..., n]."""
        own = np.argmax(self.weights["eta"], axis=-1)
        return np.take_along_axis(values, np.broadcast_to(own[..., None], (*values.shape[:-1], 1)), axis=-1)[..., 0]

    def values(self, raw: np.ndarray) -> dict[str, np.ndarray]:
        """The series [k, n], float64, from the values [k, m] of the points at k times.

        Sums over the four points have a fixed order, so bits do not depend on the layout. With drying, levels and
        concentrations are those of wet cells. While the nearest cell is dry they are NaN, and h, u and v are 0.
        """
        parts = iter(np.split(raw.astype(np.float64), sum(map(len, self.of.values())), axis=1))
        found, wet, dry = {}, None, None
        for name, prognostic in self.of.items():
            at = [next(parts).reshape(len(raw), len(self.names), 4) for _ in prognostic]
            if self.film is not None and dry is None:  # the first series is that of the level
                wet = at[0] > self.film
                dry = ~self.nearest(wet)
            with np.errstate(divide="ignore", invalid="ignore"):
                each = at[0] - self.resting if name == "eta" else at[0] / at[1] if len(at) > 1 else at[0]
            of_water = dry is not None and name not in ("h", "u", "v")
            weights = np.where(wet, self.weights[name], 0.0) if of_water else self.weights[name]
            found[name] = four(np.where(weights != 0, each, 0.0) * weights)
            if of_water:
                found[name] = np.divide(found[name], four(weights), out=np.full(dry.shape, np.nan), where=~dry)
            elif dry is not None:
                found[name] = np.where(dry, 0.0, found[name])
        if self.turn is not None:
            (cosine, sine), u, v = self.turn, found["u"], found["v"]
            found |= {"u": cosine * u - sine * v, "v": sine * u + cosine * v}
        return found


def four(values: np.ndarray) -> np.ndarray:
    """The sums over the four points of the last axis."""
    return (values[..., 0] + values[..., 1]) + (values[..., 2] + values[..., 3])


def gauges(setup: Setup) -> Gauges | None:
    """The Gauges of a checked Setup; None without stations.

    eta, u, v, concentrations and with drying h are interpolated bilinearly between the points with a value
    (`stencils`), faces of open sides among them. On a sphere u and v are eastward and northward, also on a turned grid.
    """
    config = setup.config
    if not config.output.stations:
        return None
    grid, stations = config.grid, config.output.stations
    given = np.array([place_of(config, at, at.name) for at in stations]).T
    x, y = on_water(config, given.T, [each.name for each in stations])[0].T
    state = setup.scheme.state._fields
    of = {"eta": ("h",), **({"h": ("h",)} if setup.scheme.drying else {}), "u": ("u",), "v": ("v",)}
    of |= {name: (name,) if name in state else (name + CONTENT, "h") for name in tracers_in(state)}
    found, at_sides = {}, False
    for name in of:
        number = np.full(x.shape, QUANTITIES.index(name if name in QUANTITIES else "eta"))
        found[name] = stencils(config, number, x, y, with_sides=True)
        at_sides |= not np.array_equal(found[name].weights, stencils(config, number, x, y).weights)
    numbers = [(name, state.index(each)) for name in of for each in of[name]]
    stacked = Points(
        np.concatenate([np.full(4 * x.size, number) for _, number in numbers]),
        *(np.concatenate([getattr(found[name], part).ravel() for name, _ in numbers]) for part in ("rows", "columns")),
        at_sides,
    )
    at, resting = found["eta"], lambda config, *cells: fields.evaluate(config, "depth", *cells)
    depth = neighbourhoods(config, at.rows[:, 0], at.columns[:, 0], resting)[:, :2, :2].reshape(-1, 4)
    return Gauges(
        [station.name for station in stations],
        given,
        (at.weights * depth).sum(axis=1),
        distance_of_water(config, x, y),
        stacked,
        of,
        {name: found[name].weights for name in of},
        depth.astype(config.run.dtype).astype(np.float64),
        turn(grid.pole, x, y) if turned(grid) else None,
        config.drying.film_in(config.run.dtype),
    )


def distance_of_water(config, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Distances of the nearest centres of wet cells from positions on water, along the axes, m, [n]."""
    rows, columns = cells_around(config, x, y)
    wet = neighbourhoods(config, rows - 1, columns - 1)
    (of_x, of_y), near = axes(config.grid), np.full(x.shape, np.inf)
    for j, i in np.ndindex(3, 3):
        there = of_x.first + (columns + i - 1) * of_x.spacing, of_y.first + (rows + j - 1) * of_y.spacing
        near = np.minimum(near, np.where(wet[:, j, i] != 0, apart(config.grid, (x, y), there), np.inf))
    return near


def place_of(config, table, what: str) -> tuple[float, float]:
    """x and y of a table [[station]] or [[drifters]] in m, or its longitude and latitude."""
    keys, unit = positions(config.grid)
    if position_of(table) != set(keys):
        raise UsageError(f"{what} needs {keys[0]} and {keys[1]}, in {unit}, and no other position")
    return tuple(getattr(table, key) for key in keys)


def position_of(table) -> set[str]:
    """The keys of a position that a table has."""
    return {key for key in ("lon", "lat", "x", "y") if getattr(table, key) is not None}


def problems(config) -> Iterator[str]:
    """The problems of the gauges of a configuration, one line each."""
    yield from twice(config, "stations")
    given, names = [], []
    for station in config.output.stations:
        try:
            given.append(place_of(config, station, f'"{station.name}"'))
            names.append(f'the station "{station.name}"')
        except UsageError as error:
            yield f"output.stations: {error}"
    yield from (f"output.stations: {line}" for line in on_water(config, given, names)[1])


def twice(config, key: str) -> Iterator[str]:
    """One line for each name that several tables of a key of `output` share."""
    for name, count in Counter(entry.name for entry in getattr(config.output, key)).items():
        if count > 1:
            yield f'output.{key}: {count} tables have the name "{name}"'


def inside(axis, what: str, position: float) -> float:
    """A position on an Axis; longitudes are shifted by full circles into the domain where possible."""
    (first, last), within = axis.edges, float(axis.within(position))
    if not first <= within <= last:
        raise UsageError(
            f"{what}: {axis.in_words(position, 6)} is outside the domain, {first:g} to {last:g} {axis.unit}"
        )
    return within


def on_water(config, given: Sequence[tuple[float, float]], names: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    """The places on water along the axes of the grid [n, 2], from m, or longitudes and latitudes; and problems."""
    found, problems = [], []
    for place, what in zip(given, names, strict=True):
        along = zip(axes(config.grid), along_axes(config.grid, *place), strict=True)
        try:
            found.append(([inside(axis, what, float(at)) for axis, at in along], place, what))
        except UsageError as error:
            problems.append(str(error))
    along = np.array([at for at, _, _ in found], dtype=np.float64).reshape(-1, 2)
    wet = neighbourhoods(config, *cells_around(config, *along.T))[:, 0, 0] != 0
    for count, number in enumerate(np.flatnonzero(~wet)):
        _, place, what = found[number]
        problems.append(on_land(config, place, what) if count < NAMED else f"{what} is on land")
    return along[wet], problems


def on_land(config, place: tuple[float, float], what: str) -> str:
    """The line about a place on land, with the nearest water."""
    keys, unit = positions(config.grid)
    distance, water = nearest_water(config, place)
    here, there = (
        ", ".join(f"{key} = {at:.7g} {unit}" for key, at in zip(keys, p, strict=True)) for p in (place, water)
    )
    return f"{what} at {here} is on land; the nearest water is {distance / 1e3:.3g} km away, the cell at {there}"


def nearest_water(config, place: tuple[float, float]) -> tuple[float, tuple[float, float]]:
    """Distance in m, and place in m or degrees, of the centre of a wet cell that is nearest to a place."""
    grid, columns, best = config.grid, np.arange(config.grid.nx), (np.inf, 0, 0)
    for rows in fields.bands(grid):
        away = distances(grid, place, points(grid, "centre", rows, columns))
        away = np.where(fields.wet(config, rows, columns) != 0, away, np.inf)
        j, i = np.unravel_index(np.argmin(away), away.shape)
        best = min(best, (float(away[j, i]), int(rows[j]), int(i)))
    (of_x, of_y), (distance, row, column) = axes(grid), best
    return distance, places(grid, of_x.first + column * of_x.spacing, of_y.first + row * of_y.spacing)
