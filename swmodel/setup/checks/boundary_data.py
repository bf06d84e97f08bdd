"""Checks of open boundaries: cells along them, boundary data without values, the rate at which waves leave."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...ocean.coordinates import metrics, points
from ...ocean.table import location_of
from ...ocean.terms import TERMS, sponge
from ...ocean.terms.boundary_data import (
    AXIS_OF_SIDE,
    TIDE_ARRAYS,
    TIDE_LEVEL,
    TIDE_TRANSPORTS,
    has_values,
    tide_names,
    uses_air_pressure,
)
from .. import fields
from ..fields import source_of, varies_in_time

if TYPE_CHECKING:
    from ...config.options.model import Config

#: Largest plausible difference between the air pressure and `open_boundaries.pressure`, Pa. If it is larger, one of
#: them has a wrong unit or a wrong reference.
MAX_PRESSURE_DIFFERENCE_PA = 2e4

#: With `gfb`, waves of rate w that leave at a rate r are stable up to dt (r + WAVE_RATE_WEIGHT w) = 0.64. The
#: eigenvalues of a linear basin require a weight of 0.41 in a corner of two open boundaries, 0.31 along one boundary,
#: and up to 0.35 where cells are narrow along it.
WAVE_RATE_WEIGHT = 0.42


class BoundaryCells(NamedTuple):
    """The outermost cells along an open boundary and their inner neighbours, [cells].

    Attributes:
        name: the name of the side of the domain.
        rows, columns: indices in the grid, [2] across the boundary (the outermost cells first) and [cells] along it.
        in_rows: whether the boundary runs along rows, in the south or north.
        lower_index: position (0 or 1) of the western or southern cell in each pair, whose row and column the face
            between the two cells has.
        is_open: whether both cells are water, and the inner one is not outermost along another open boundary.
    """

    name: str
    rows: np.ndarray
    columns: np.ndarray
    in_rows: bool
    lower_index: int
    is_open: np.ndarray

    def values_across(self, config: Config, name: str) -> np.ndarray:
        """Values of a field, or of its record at the start of the run, [2, cells]; NaN as in `fields.evaluate`."""
        if varies_in_time(config, name):
            source = source_of(config, name)
            values = fields.evaluate_record(config, name, self.rows, self.columns, source.record_at(0)[0], source)
        else:
            values = fields.evaluate(config, name, self.rows, self.columns)
        return self.across_first(values)

    def across_first(self, values) -> np.ndarray:
        """Values [rows, columns] as [2, cells]; as [3, cells] for `radiation_rate`, which needs three cells across."""
        values = np.broadcast_to(values, (self.rows.size, self.columns.size))
        return values if self.in_rows else values.T

    def face_values(self, config: Config, name: str) -> np.ndarray:
        """Values on the faces between the two cells, [cells]; the mean for fields at centres. See `values_across`."""
        both = self.values_across(config, name)
        return both.mean(axis=0) if location_of(name) == "centre" else both[self.lower_index]

    def describe_cells(self, where: np.ndarray) -> str:
        """The cells of a mask, in words: "rows 3 to 5 and 9 of the west side"."""
        numbers = np.flatnonzero(where)
        parts = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)
        *others, last = (f"{part[0]}" if part.size == 1 else f"{part[0]} to {part[-1]}" for part in parts)
        words = f"{', '.join(others)} and {last}" if others else last
        return f"{'column' if self.in_rows else 'row'}{'s' * (numbers.size > 1)} {words} of the {self.name} side"


def boundary_cells(config: Config, name: str) -> BoundaryCells:
    grid, in_rows = config.grid, name in ("south", "north")
    along, last = np.arange(grid.nx if in_rows else grid.ny), (grid.ny if in_rows else grid.nx) - 1
    across = np.array([0, 1] if name in ("west", "south") else [last, last - 1])
    rows, columns = (across, along) if in_rows else (along, across)
    side = BoundaryCells(name, rows, columns, in_rows, int(across[0] > 0), np.ones(along.size, bool))
    is_inside = side.across_first(fields.domain_mask(config, rows, columns, 1))[1] > 0
    return side._replace(is_open=(side.values_across(config, "mask") > 0).all(axis=0) & is_inside)


def problems(config: Config) -> Iterator[str]:
    """Messages about open boundaries that have no water or are too shallow, and about unusable boundary data."""
    for name, n_missing, n_cells in missing_in_sponge(config):
        if 2 * n_missing > n_cells:
            yield (
                f"input.{name}: has no value in {n_missing} of the {n_cells} cells of the sponge, which relaxes to "
                "this field; extend it, or use a narrower sponge (sponge.width, sponge.sides)"
            )
    boundary_fields = boundary_data_names(config)
    for side in (boundary_cells(config, name) for name in config.open_boundaries.sides):
        if not side.is_open.any():
            yield f"open_boundaries.sides: there is no water along the {side.name} side; leave it out, or open another"
        depth = side.values_across(config, "depth")
        shallow = side.is_open & ~((depth[0] > 0) & (depth.mean(axis=0) > 0))
        if shallow.any():
            yield (
                f"depth: must be above 0 m in the outermost cell, and on average over it and the next one inside, but "
                f"is not at {side.describe_cells(shallow)}; correct it, or make such cells land in input.mask"
            )
        yield from pressure_problems(config, side)
        for name in (name for name in boundary_fields if location_of(name) in ("centre", "v" if side.in_rows else "u")):
            missing = side.is_open & ~np.isfinite(side.face_values(config, name))
            if missing.any():
                distance_hint = ""
                if not varies_in_time(config, name) and (
                    max_distance := fields.replacement_distances(config, name, side.rows, side.columns)[1]
                ):
                    distance_hint = f"; the nearest value in the file is further than {max_distance:.3g} degrees"
                yield (
                    f"input.{name}: has no value at {side.describe_cells(missing)}, where the two outermost cells are "
                    f"water; give values there, or make such cells land in input.mask{distance_hint}"
                )


def pressure_problems(config: Config, side: BoundaryCells) -> Iterator[str]:
    """A message about air pressure along an open boundary that differs too much from `open_boundaries.pressure`."""
    if not uses_air_pressure(config):
        return
    standard, pressure = config.open_boundaries.pressure, side.face_values(config, "air_pressure")
    difference = np.where(side.is_open, np.abs(pressure - standard), 0.0)
    if difference.max() > MAX_PRESSURE_DIFFERENCE_PA:
        height = difference.max() / (config.physics.density * config.physics.gravity)
        yield (
            f"open_boundaries.pressure: is {standard:g} Pa, but air_pressure is {pressure[difference.argmax()]:g} Pa "
            f"at {side.describe_cells(np.arange(difference.size) == difference.argmax())}, a difference of "
            f'{height:.3g} m of water; give the air pressure to which the boundary level refers, or "none"'
        )


def remarks(config: Config) -> Iterator[str]:
    yield from level_without_current(config)
    yield from incomplete_tides(config)
    for side in (boundary_cells(config, name) for name in config.open_boundaries.sides):
        yield from filled_from_nearest_water(config, side)


def filled_from_nearest_water(config: Config, side: BoundaryCells) -> Iterator[str]:
    """A remark on points of an open boundary where a file has land, so that they take values of the nearest water."""
    constant_names = [name for name in boundary_data_names(config) if not varies_in_time(config, name)]
    distances = {
        name: fields.replacement_distances(config, name, side.rows, side.columns)[0] for name in constant_names
    }
    name = max(distances, key=lambda name: distances[name].size, default="")
    if name and distances[name].size:
        max_distance = distances[name].max()
        yield (
            f"input.{name}: its file has land at {distances[name].size} points of the {side.name} side, which take "
            f"the values of the nearest water, up to {max_distance:.3g} degrees away"
        )


def level_without_current(config: Config) -> Iterator[str]:
    """Remarks on tides and varying sea levels that enter with half their height, because no current is prescribed."""
    axes = sorted({AXIS_OF_SIDE[side] for side in config.open_boundaries.sides})
    flows = {axis: [f"boundary_{flow}_{axis}" for flow in ("transport", "current")] for axis in axes}
    axes = [axis for axis in axes if not any(varies_in_time(config, name) for name in flows[axis])]
    consequence = "waves that are not reflected enter with half of their height"
    arrays = [array for array in TIDE_TRANSPORTS if array[-1] in axes]
    missing = {name: [array for array in arrays if not has_values(config, name, array)] for name in tide_names(config)}
    if without_transport := [name for name in missing if missing[name]]:
        keys = " and ".join(f"input.{array}" for array in missing[without_transport[0]])
        yield (
            f"open_boundaries: the tide has a level but no transport for {', '.join(without_transport)}: "
            f"{consequence}; give {keys}"
        )
    if axes and varies_in_time(config, "boundary_level"):
        keys = " and ".join(f"input.boundary_current_{axis} (or boundary_transport_{axis})" for axis in axes)
        yield f"input.boundary_level: varies in time, but there is no boundary current: {consequence}; give {keys}"


def incomplete_tides(config: Config) -> Iterator[str]:
    """Remarks on tides with transports only, amplitudes that files replace, and phase lags without a start date."""
    options, files = config.open_boundaries, [array for array in TIDE_ARRAYS if any(getattr(config.input, array))]
    without_level = [
        name for name in tide_names(config) if not any(options.amplitude) and not has_values(config, name, TIDE_LEVEL)
    ]
    if without_level:
        yield (
            f"open_boundaries: the tide has a transport but no level for {', '.join(without_level)}, so that half "
            f"of it enters; give input.{TIDE_LEVEL}"
        )
    if options.amplitude and TIDE_LEVEL in files:
        replaced = [name for name in tide_names(config) if has_values(config, name, TIDE_LEVEL)]
        names = ", ".join(replaced)
        yield f"open_boundaries.amplitude: has no effect for {names}: input.{TIDE_LEVEL} gives these tides"
    if files and not config.time.start:
        yield f"input.{files[0]}: lags refer to the start of the run; give time.start for lags relative to Greenwich"


def missing_in_sponge(config: Config) -> Iterator[tuple[str, int, int]]:
    """Boundary data that do not cover the sponge: name, number of sponge cells without a value, and of all."""
    if not (config.open_boundaries.sides and sponge.is_active(config.sponge)):
        return
    grid, columns = config.grid, np.arange(config.grid.nx)
    for name in boundary_data_names(config):
        counts = np.zeros(2, np.int64)
        record = source_of(config, name).record_at(0)[0] if varies_in_time(config, name) else 0
        for rows in fields.row_bands(grid):
            in_sponge = sponge.relaxation_rates(config, points(grid, location_of(name), rows, columns)) > 0
            in_sponge = np.broadcast_to(
                in_sponge * fields.wet_mask(config, rows, columns) > 0, (len(rows), len(columns))
            )
            values = fields.evaluate_unfilled(config, name, rows, columns, record)
            counts += (in_sponge & ~np.isfinite(values)).sum(), in_sponge.sum()
        if counts[0]:
            yield name, int(counts[0]), int(counts[1])


def boundary_data_names(config: Config) -> list[str]:
    return [row.name for row in TERMS["open_boundaries"].coefficients if fields.has_field_source(config, row.name)]


def radiation_rate(config: Config, is_forward_backward: bool) -> float:
    """The fastest rate at which a cell empties through its faces on open boundaries, s-1.

    A face contributes sqrt(g H) (3/2 - min(1, H_2/H)/2) / d. H is the depth at the face, H_2 that at the next face
    inside (0 if this is closed), and d the length of the cell across the boundary. The reason is that the level at the
    face is extrapolated: 3/2 of the level in the cell minus 1/2 of the level in the next cell. The level in the next
    cell follows if waves between the two cells are as fast as those through the face.

    The stepper `gfb` (`is_forward_backward`) is less stable where waves arrive in such a cell. Therefore
    WAVE_RATE_WEIGHT times the rate of the shortest waves in the cell, 2 sqrt(g h (1/dx² + 1/dy²)) with its depth h, is
    added.
    """
    grid = config.grid
    rate_of_cell: dict[int, float] = {}
    for side in (boundary_cells(config, name) for name in config.open_boundaries.sides):
        indices_across, n_across = (side.rows, grid.ny) if side.in_rows else (side.columns, grid.nx)
        second_inner = np.clip(2 * indices_across[1:] - indices_across[:1], 0, n_across - 1)
        across = np.append(indices_across, second_inner)
        three_cells = side._replace(rows=across) if side.in_rows else side._replace(columns=across)
        outer, inner, second_depth = three_cells.values_across(config, "depth")
        wet = three_cells.across_first(fields.wet_mask(config, three_cells.rows, three_cells.columns))[2] > 0
        H, H_2 = (outer + inner) / 2, np.where(wet, inner + second_depth, 0.0) / 2
        dx, dy = (three_cells.across_first(metrics(grid, three_cells.rows)[name].centre)[1] for name in ("dx", "dy"))
        d = dy if side.in_rows else dx
        with np.errstate(invalid="ignore", divide="ignore"):
            rates = np.sqrt(config.physics.gravity * H) * (1.5 - 0.5 * np.minimum(1, H_2 / H)) / d
            waves = 2 * np.sqrt(config.physics.gravity * inner * (1 / dx**2 + 1 / dy**2))
        cells = side.across_first(side.rows[:, None] * grid.nx + side.columns[None, :])[1]
        wave_rates = np.broadcast_to(WAVE_RATE_WEIGHT * is_forward_backward * waves, rates.shape)
        for cell, rate, wave_rate in zip(
            cells[side.is_open], rates[side.is_open], wave_rates[side.is_open], strict=True
        ):
            rate_of_cell[cell] = rate_of_cell.get(cell, wave_rate) + rate
    return float(max(rate_of_cell.values(), default=0.0))
