"""Checks that positions from a user are within the domain and on water, and the gauges of a run. NumPy only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...errors import UsageError
from ...ocean.coordinates import (
    axes,
    axis_angle_along,
    cells_containing,
    coordinate_names_and_unit,
    distances_between,
    distances_from,
    from_grid_axes,
    points,
    to_grid_axes,
)
from ...ocean.places import position_in_domain, position_in_table
from ...ocean.terms.tracer import CONTENT_SUFFIX, tracers_in
from .. import fields
from ..fields.varying import read_record
from ..setup import Setup
from .stencils import OBSERVED_QUANTITIES, bilinear_stencils, neighbourhood_values

if TYPE_CHECKING:
    from ...config.options.model import Config

#: Largest number of positions on land whose messages name the nearest water, because each search covers the whole grid.
MAX_WATER_SEARCHES = 10


class Station(NamedTuple):
    """A position along the axes of the grid, m or degrees, the four cells around it and their weights, [4] each."""

    x: float
    y: float
    rows: np.ndarray
    columns: np.ndarray
    weights: np.ndarray


def station(config: Config, position: tuple[float, float]) -> Station:
    """The Station for sea level at a position in m, or at a longitude and latitude. UsageError: it is not on water."""
    along, problems = positions_on_water(config, [position], ["the station"])
    if problems:
        raise UsageError(problems[0])
    (x, y), *_ = along
    return Station(x, y, *(part[0] for part in bilinear_stencils(config, [OBSERVED_QUANTITIES.index("eta")], [x], [y])))


class StatePoints(NamedTuple):
    """Points of the C-grid, [m] each: the index of a prognostic field in the state, row and column in the grid.

    Attributes:
        at_open_boundary: whether any of the points is a face of an open boundary.
    """

    fields: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    at_open_boundary: bool = False


class Gauges(NamedTuple):
    """Positions, and the points around them from which their series are interpolated.

    Attributes:
        positions: x and y in m, or longitude and latitude, [2, n].
        depth: resting depth at the positions, m, interpolated like eta, [n].
        distance_to_water: distance to the nearest centre of a wet cell, m, [n].
        points: points to read from the state: for each field in `prognostic_names`, four around each gauge.
        prognostic_names: {name of a series: prognostic fields that it is computed from}, for a concentration the
            concentration itself, or content and thickness.
        weights: {name of a series: bilinear weights [n, 4]}.
        centre_depths: depths at the four centres, in the precision of the run, [n, 4].
        rotation: cosine and sine of the angle from eastward to the first axis of the grid, [n]; None if it is zero.
        wet_thickness: thickness above which a cell counts as wet, m; None without drying.
        remaining_uplift: function of steps [k] to the uplift of the sea floor that is still to come at the four
            centres, m, [k, n, 4]; None if the floor does not move in time.
    """

    names: list[str]
    positions: np.ndarray
    depth: np.ndarray
    distance_to_water: np.ndarray
    points: StatePoints
    prognostic_names: dict[str, tuple[str, ...]]
    weights: dict[str, np.ndarray]
    centre_depths: np.ndarray
    rotation: tuple[np.ndarray, np.ndarray] | None
    wet_thickness: float | None = None
    remaining_uplift: Callable[[np.ndarray], np.ndarray] | None = None

    def nearest_values(self, values: np.ndarray) -> np.ndarray:
        """The values at the centre nearest to each gauge, [..., n], from those at four centres, [..., n, 4]."""
        nearest_centre = np.argmax(self.weights["eta"], axis=-1)[:, None]
        return np.take_along_axis(values, np.broadcast_to(nearest_centre, (*values.shape[:-1], 1)), axis=-1)[..., 0]

    def values(self, point_values: np.ndarray, steps: np.ndarray) -> dict[str, np.ndarray]:
        """The series [k, n], float64, from the values [k, m] of the points after the numbers of steps `steps`, [k].

        Sums over the four points have a fixed order, so that bits do not depend on the layout. With drying, levels and
        concentrations are means over wet cells. While the cell nearest to a gauge is dry, its level and concentrations
        are NaN, and its h, u and v are 0.
        """
        parts = iter(np.split(point_values.astype(np.float64), sum(map(len, self.prognostic_names.values())), axis=1))
        series: dict[str, np.ndarray] = {}
        is_wet = is_dry = None
        depth_now = self.centre_depths + (self.remaining_uplift(steps) if self.remaining_uplift else 0.0)
        for name, prognostic in self.prognostic_names.items():
            values, *thickness = (next(parts).reshape(len(point_values), len(self.names), 4) for _ in prognostic)
            if self.wet_thickness is not None and is_dry is None:  # the first series is eta, from the thickness
                is_wet = values > self.wet_thickness
                is_dry = ~self.nearest_values(is_wet)
            if name == "eta":
                values = values - depth_now
            elif thickness:  # `values` are contents, and the series is the concentration
                with np.errstate(divide="ignore", invalid="ignore"):
                    values = values / thickness[0]
            needs_water = name not in ("h", "u", "v")
            weights = self.weights[name]
            if needs_water and is_wet is not None:
                weights = np.where(is_wet, weights, 0.0)
            series[name] = sum_of_four(np.where(weights != 0, values, 0.0) * weights)
            if is_dry is not None and needs_water:
                missing = np.full(is_dry.shape, np.nan)
                series[name] = np.divide(series[name], sum_of_four(weights), out=missing, where=~is_dry)
            elif is_dry is not None:
                series[name] = np.where(is_dry, 0.0, series[name])
        if self.rotation is not None:
            (cosine, sine), u, v = self.rotation, series["u"], series["v"]
            series |= {"u": cosine * u - sine * v, "v": sine * u + cosine * v}
        return series


def sum_of_four(values: np.ndarray) -> np.ndarray:
    return (values[..., 0] + values[..., 1]) + (values[..., 2] + values[..., 3])


def make_gauges(setup: Setup) -> Gauges | None:
    """The Gauges of a checked Setup; None without stations.

    eta, u, v, concentrations and (with drying) h are interpolated bilinearly between points with a value
    (`stencils.py`), including faces of open boundaries. Where points have longitudes, also with rotated axes, u and v
    are eastward and northward.
    """
    config = setup.config
    if not config.output.stations:
        return None
    grid, stations = config.grid, config.output.stations
    station_positions = np.array([position_in_table(grid, each, each.name) for each in stations]).T
    x, y = positions_on_water(config, station_positions.T, [each.name for each in stations])[0].T
    state = setup.scheme.state_type._fields
    names = ("eta", "h", "u", "v") if setup.scheme.drying else ("eta", "u", "v")
    prognostic_names: dict[str, tuple[str, ...]] = {name: ("h" if name == "eta" else name,) for name in names}
    prognostic_names |= {name: (name,) if name in state else (name + CONTENT_SUFFIX, "h") for name in tracers_in(state)}
    stencil_of, at_open_boundary = {}, False
    for name in prognostic_names:
        quantity = np.full(x.shape, OBSERVED_QUANTITIES.index(name if name in OBSERVED_QUANTITIES else "eta"))
        stencil_of[name] = bilinear_stencils(config, quantity, x, y, with_open_boundaries=True)
        at_open_boundary |= not np.array_equal(
            stencil_of[name].weights, bilinear_stencils(config, quantity, x, y).weights
        )
    field_indices = [(name, state.index(each)) for name in prognostic_names for each in prognostic_names[name]]
    field_numbers = np.concatenate([np.full(4 * x.size, number) for _, number in field_indices])
    rows, columns = (
        np.concatenate([getattr(stencil_of[name], part).ravel() for name, _ in field_indices])
        for part in ("rows", "columns")
    )
    stencil, depth_of = stencil_of["eta"], lambda config, *cells: fields.evaluate(config, "depth", *cells)
    depth = neighbourhood_values(config, stencil.rows[:, 0], stencil.columns[:, 0], depth_of)[:, :2, :2].reshape(-1, 4)
    return Gauges(
        [station.name for station in stations],
        station_positions,
        (stencil.weights * depth).sum(axis=1),
        distance_to_water(config, x, y),
        StatePoints(field_numbers, rows, columns, at_open_boundary),
        prognostic_names,
        {name: stencil_of[name].weights for name in prognostic_names},
        depth.astype(config.run.dtype).astype(np.float64),
        axis_angle_along(grid, x, y),
        config.drying.wet_thickness_in(config.run.dtype),
        make_remaining_uplift(config, stencil) if fields.varies_in_time(config, "uplift") else None,
    )


def make_remaining_uplift(config: Config, stencil) -> Callable[[np.ndarray], np.ndarray]:
    """`Gauges.remaining_uplift` for bilinear stencils."""
    source = fields.source_of(config, "uplift")

    @cache
    def record_values(number: int) -> np.ndarray:
        def values_of(config: Config, rows, columns):
            return read_record(config, "uplift", number, rows, columns, source)

        values = neighbourhood_values(config, stencil.rows[:, 0], stencil.columns[:, 0], values_of)
        return values[:, :2, :2].reshape(-1, 4)

    def remaining_uplift(steps: np.ndarray) -> np.ndarray:
        values = []
        for step in steps.tolist():
            number, interval = source.record_at(step)
            before, after = record_values(number), record_values(number + 1)
            values.append(before + (step - interval.before) / (interval.after - interval.before) * (after - before))
        return record_values(source.last_record) - np.reshape(values, (len(steps), *stencil.rows.shape))

    return remaining_uplift


def distance_to_water(config: Config, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Distances from positions on water (along the axes of the grid) to the nearest centres of wet cells, m, [n]."""
    rows, columns = cells_containing(config.grid, x, y)
    wet = neighbourhood_values(config, rows - 1, columns - 1)
    (x_axis, y_axis), distance = axes(config.grid), np.full(x.shape, np.inf)
    for j, i in np.ndindex(3, 3):
        centres = x_axis.first + (columns + i - 1) * x_axis.spacing, y_axis.first + (rows + j - 1) * y_axis.spacing
        distance = np.minimum(
            distance, np.where(wet[:, j, i] != 0, distances_between(config.grid, (x, y), centres), np.inf)
        )
    return distance


def problems(config: Config) -> Iterator[str]:
    yield from duplicate_names(config.output.stations, "output.stations")
    station_positions, names = [], []
    for station in config.output.stations:
        try:
            station_positions.append(position_in_table(config.grid, station, f'"{station.name}"'))
            names.append(f'the station "{station.name}"')
        except UsageError as error:
            yield f"output.stations: {error}"
    yield from (f"output.stations: {line}" for line in positions_on_water(config, station_positions, names)[1])


def duplicate_names(tables, key: str) -> Iterator[str]:
    """One message for each name that several tables of a key share."""
    for name, count in Counter(entry.name for entry in tables).items():
        if count > 1:
            yield f'{key}: {count} tables have the name "{name}"'


def positions_on_water(
    config: Config, positions: Iterable[tuple[float, float]], labels: Sequence[str]
) -> tuple[np.ndarray, list[str]]:
    """The positions on water, converted to the axes of the grid, [n, 2], and a message for each of the others.

    Args:
        positions: in m, or longitudes and latitudes.
        labels: names of the positions in messages.
    """
    within_domain, problems = [], []
    for position, label in zip(positions, labels, strict=True):
        pairs = zip(axes(config.grid), to_grid_axes(config.grid, *position), strict=True)
        try:
            within_domain.append(([position_in_domain(axis, label, float(at)) for axis, at in pairs], position, label))
        except UsageError as error:
            problems.append(str(error))
    along = np.array([at for at, _, _ in within_domain], dtype=np.float64).reshape(-1, 2)
    wet = neighbourhood_values(config, *cells_containing(config.grid, *along.T))[:, 0, 0] != 0
    for count, number in enumerate(np.flatnonzero(~wet)):
        _, position, label = within_domain[number]
        problems += [on_land_problem(config, position, label) if count < MAX_WATER_SEARCHES else f"{label} is on land"]
    return along[wet], problems


def on_land_problem(config: Config, position: tuple[float, float], label: str) -> str:
    """The message about a position on land, with the nearest water."""
    keys, unit = coordinate_names_and_unit(config.grid)
    distance, water = nearest_water(config, position)
    position_text, water_text = (
        ", ".join(f"{key} = {at:.7g} {unit}" for key, at in zip(keys, p, strict=True)) for p in (position, water)
    )
    return (
        f"{label} at {position_text} is on land; the nearest water is {distance / 1e3:.3g} km away, the cell at "
        f"{water_text}"
    )


def nearest_water(config: Config, position: tuple[float, float]) -> tuple[float, tuple[float, float]]:
    """The distance to the nearest centre of a wet cell, m, and its position, m or degrees."""
    grid, columns, nearest = config.grid, np.arange(config.grid.nx), (np.inf, 0, 0)
    for rows in fields.row_bands(grid):
        distances = distances_from(grid, position, points(grid, "centre", rows, columns))
        distances = np.where(fields.wet_mask(config, rows, columns) != 0, distances, np.inf)
        j, i = np.unravel_index(np.argmin(distances), distances.shape)
        nearest = min(nearest, (float(distances[j, i]), int(rows[j]), int(i)))
    (x_axis, y_axis), (distance, row, column) = axes(grid), nearest
    return distance, from_grid_axes(grid, x_axis.first + column * x_axis.spacing, y_axis.first + row * y_axis.spacing)
