"""The water outside open boundaries: its cells, missing values, and the rate of waves that leave through it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ...ocean.coordinates import metrics, points
from ...ocean.table import location_of
from ...ocean.terms import TERMS, sponge
from ...ocean.terms.boundary_data import (
    ARRAYS,
    AXIS_OF_SIDE,
    LEVEL,
    TRANSPORTS,
    has_values,
    tide_names,
    uses_air_pressure,
)
from .. import fields
from ..fields import source_of, varies_in_time

#: Largest difference of air pressure from the standard one, Pa; a larger one has other units or another zero.
MAX_PRESSURE_DIFFERENCE_PA = 2e4


#: With `gfb`, waves of rate w that leave at a rate r are stable to dt (r + WAVE_RATE_WEIGHT w) = 0.64. From eigenvalues
#: of a linear basin: 0.41 in a corner of two open boundaries, 0.31 along one side, up to 0.35 for cells narrow along
#: the side.
WAVE_RATE_WEIGHT = 0.42


class BoundaryCells(NamedTuple):
    """The cells along an open boundary, [cells]: the outermost ones and those inside.

    Attributes:
        rows, columns: the numbers of both, [2] and [cells] or vice versa.
        in_rows: whether both are rows.
        lower_index: index of the cell in the west or the south, which has the number of the face between both.
        is_open: whether both cells are water.
    """

    name: str
    rows: np.ndarray
    columns: np.ndarray
    in_rows: bool
    lower_index: int
    is_open: np.ndarray

    def values_of_both(self, config, name: str) -> np.ndarray:
        """Values of a field, or its first record, in the outermost and the inner cells, NaN if missing, [2, cells]."""
        if varies_in_time(config, name):
            source = source_of(config, name)
            return self.to_two_rows(
                fields.evaluate_record(config, name, self.rows, self.columns, source.record_at(0)[0], source)
            )
        return self.to_two_rows(fields.evaluate(config, name, self.rows, self.columns))

    def to_two_rows(self, values) -> np.ndarray:
        """Values in the rows and columns as [2, cells]."""
        values = np.broadcast_to(values, (self.rows.size, self.columns.size))
        return values if self.in_rows else values.T

    def face_values(self, config, name: str) -> np.ndarray:
        """Values of a field on the faces between both cells, [cells], at centres their mean; see `values_of_both`."""
        both = self.values_of_both(config, name)
        return both.mean(axis=0) if location_of(name) == "centre" else both[self.lower_index]

    def describe_cells(self, where: np.ndarray) -> str:
        """The cells of a mask, in words: "rows 3 to 5 and 9 of the west side"."""
        numbers = np.flatnonzero(where)
        parts = np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)
        *others, last = (f"{part[0]}" if part.size == 1 else f"{part[0]} to {part[-1]}" for part in parts)
        words = f"{', '.join(others)} and {last}" if others else last
        return f"{'column' if self.in_rows else 'row'}{'s' * (numbers.size > 1)} {words} of the {self.name} side"


def boundary_cells(config, name: str) -> BoundaryCells:
    """The cells along a side."""
    grid, in_rows = config.grid, name in ("south", "north")
    along, last = np.arange(grid.nx if in_rows else grid.ny), (grid.ny if in_rows else grid.nx) - 1
    across = np.array([0, 1] if name in ("west", "south") else [last, last - 1])
    rows, columns = (across, along) if in_rows else (along, across)
    side = BoundaryCells(name, rows, columns, in_rows, int(across[0] > 0), along)
    inside = side.to_two_rows(fields.domain_mask(config, rows, columns, 1))[1] > 0
    return side._replace(is_open=(side.values_of_both(config, "mask") > 0).all(axis=0) & inside)


def problems(config) -> Iterator[str]:
    """Sides of land only, and fields without values where water enters."""
    for name, missing, cells in missing_in_sponge(config):
        if 2 * missing > cells:
            yield (
                f"input.{name}: has no value at {missing} of the {cells} cells of the sponge, which relaxes to it; "
                "give more of it, or a narrower sponge (sponge.width, sponge.sides)"
            )
    boundary_fields = boundary_data_names(config)
    for side in (boundary_cells(config, name) for name in config.open_boundaries.sides):
        if not side.is_open.any():
            yield f"open_boundaries.sides: there is no water along the {side.name} side; leave it out, or open another"
        depth = side.values_of_both(config, "depth")
        shallow = side.is_open & ~((depth[0] > 0) & (depth.mean(axis=0) > 0))
        if shallow.any():
            yield (
                f"depth: must be above 0 m in the water outside, and in the mean of it and the cell inside, but is not "
                f"at {side.describe_cells(shallow)}; give it, or make such cells land in input.mask"
            )
        yield from pressure_problems(config, side)
        for name in (name for name in boundary_fields if location_of(name) in ("centre", "v" if side.in_rows else "u")):
            missing = side.is_open & ~np.isfinite(side.face_values(config, name))
            if missing.any():
                max_distance = (
                    0.0
                    if varies_in_time(config, name)
                    else fields.replacement_distances(config, name, side.rows, side.columns)[1]
                )
                nearest = (
                    f"; the nearest value in the file is further than {max_distance:.3g} degrees"
                    if max_distance
                    else ""
                )
                yield (
                    f"input.{name}: has no value at {side.describe_cells(missing)}, where both outermost cells are "
                    f"water; give it there, or make such cells land in input.mask{nearest}"
                )


def pressure_problems(config, side: BoundaryCells) -> Iterator[str]:
    """Air pressure over a side whose zero is not that of `open_boundaries.pressure`."""
    if not uses_air_pressure(config):
        return
    standard, pressure = config.open_boundaries.pressure, side.face_values(config, "air_pressure")
    difference = np.where(side.is_open, np.abs(pressure - standard), 0.0)
    if difference.max() > MAX_PRESSURE_DIFFERENCE_PA:
        height = difference.max() / (config.physics.density * config.physics.gravity)
        yield (
            f"open_boundaries.pressure: is {standard:g} Pa, but air_pressure is {pressure[difference.argmax()]:g} Pa "
            f"at {side.describe_cells(np.arange(difference.size) == difference.argmax())}, {height:.3g} m of water "
            "off; give the pressure "
            'under which the level outside holds, or "none"'
        )


def remarks(config) -> Iterator[str]:
    """Remarks on the water outside."""
    yield from level_without_current(config)
    yield from incomplete_tides(config)
    for side in (boundary_cells(config, name) for name in config.open_boundaries.sides):
        yield from filled_from_nearest_water(config, side)


def filled_from_nearest_water(config, side: BoundaryCells) -> Iterator[str]:
    """Points of a side that take values from the nearest water of a file, as the file has land there."""
    constant_names = [name for name in boundary_data_names(config) if not varies_in_time(config, name)]
    distances = {
        name: fields.replacement_distances(config, name, side.rows, side.columns)[0] for name in constant_names
    }
    name = max(distances, key=lambda name: distances[name].size, default="")
    if name and distances[name].size:
        max_distance = max(part.max() for part in distances.values() if part.size)
        yield (
            f"input.{name}: its file has land at {distances[name].size} points of the {side.name} side, which take "
            f"values of the nearest water, up to {max_distance:.3g} degrees away"
        )


def level_without_current(config) -> Iterator[str]:
    """Tides, and sea level that varies in time, without a current outside, so that only half enters."""
    axes = sorted({AXIS_OF_SIDE[side] for side in config.open_boundaries.sides})
    flows = {axis: [f"boundary_{flow}_{axis}" for flow in ("transport", "current")] for axis in axes}
    axes = [axis for axis in axes if not any(varies_in_time(config, name) for name in flows[axis])]
    consequence = "a wave that nothing reflects enters with half of its level"
    arrays = [array for array in TRANSPORTS if array[-1] in axes]
    missing = {name: [array for array in arrays if not has_values(config, name, array)] for name in tide_names(config)}
    if without_transport := [name for name in missing if missing[name]]:
        keys = " and ".join(f"input.{array}" for array in missing[without_transport[0]])
        yield (
            f"open_boundaries: the tide outside has a level and no transport of {', '.join(without_transport)}: "
            f"{consequence}; give {keys}"
        )
    if axes and varies_in_time(config, "boundary_level"):
        keys = " and ".join(f"input.boundary_current_{axis} (or boundary_transport_{axis})" for axis in axes)
        yield f"input.boundary_level: varies in time, without a current: {consequence}; give {keys}"


def incomplete_tides(config) -> Iterator[str]:
    """Tides with transports only, with amplitudes that files replace, or with lags of files without a date."""
    options, files = config.open_boundaries, [array for array in ARRAYS if any(getattr(config.input, array))]
    without_level = [
        name for name in tide_names(config) if not any(options.amplitude) and not has_values(config, name, LEVEL)
    ]
    if without_level:
        yield (
            f"open_boundaries: {', '.join(without_level)} has a transport and no level: half of it enters; give "
            f"input.{LEVEL}"
        )
    if options.amplitude and LEVEL in files:
        replaced = [name for name in tide_names(config) if has_values(config, name, LEVEL)]
        yield f"open_boundaries.amplitude: has no effect for {', '.join(replaced)}, as input.{LEVEL} gives these tides"
    if files and not config.time.start:
        yield f"input.{files[0]}: its lags refer to the start of the run; give time.start for lags behind Greenwich"


def missing_in_sponge(config) -> Iterator[tuple[str, int, int]]:
    """Fields that do not cover their sponge: name, number of cells without a value, number of all its cells."""
    if not (config.open_boundaries.sides and sponge.is_active(config.sponge)):
        return
    grid, columns = config.grid, np.arange(config.grid.nx)
    for name in boundary_data_names(config):
        counts = np.zeros(2, np.int64)
        number = source_of(config, name).record_at(0)[0] if varies_in_time(config, name) else 0
        for rows in fields.row_bands(grid):
            in_sponge = sponge.relaxation_rates(config, points(grid, location_of(name), rows, columns)) > 0
            in_sponge = np.broadcast_to(
                in_sponge * fields.wet_mask(config, rows, columns) > 0, (len(rows), len(columns))
            )
            values = fields.evaluate_unfilled(config, name, rows, columns, number)
            counts += (in_sponge & ~np.isfinite(values)).sum(), in_sponge.sum()
        if counts[0]:
            yield name, *map(int, counts)


def boundary_data_names(config) -> list[str]:
    """The fields of the water outside that the run has."""
    return [row.name for row in TERMS["open_boundaries"].coefficients if fields.has_field_source(config, row.name)]


def radiation_rate(config, forward: bool) -> float:
    """The fastest rate at which a cell empties through its faces of open boundaries, s-1.

    A face gives sqrt(g H) (3/2 - min(1, H_2/H)/2) / d. Here H is its depth, H_2 that of the next face inside, 0 if it
    is closed, and d the length of the cell across the side. The level at the face is 3/2 of the cell minus 1/2 of the
    next one. The next one follows the cell if waves between them are as fast as through the face.

    The forward-backward stepper (`forward`) is less stable where waves arrive in such a cell: WAVE_RATE_WEIGHT of the
    rate of the shortest ones, 2 sqrt(g h (1/dx² + 1/dy²)), is added.
    """
    grid, rate_of_cell = config.grid, {}
    for side in (boundary_cells(config, name) for name in config.open_boundaries.sides):
        numbers_across, n_across = (side.rows, grid.ny) if side.in_rows else (side.columns, grid.nx)
        second_inner = np.clip(2 * numbers_across[1:] - numbers_across[:1], 0, n_across - 1)
        three_cells = side._replace(**{"rows" if side.in_rows else "columns": np.append(numbers_across, second_inner)})
        outer, inner, second_depth = three_cells.values_of_both(config, "depth")
        wet = three_cells.to_two_rows(fields.wet_mask(config, three_cells.rows, three_cells.columns))[2] > 0
        H, H_2 = (outer + inner) / 2, np.where(wet, inner + second_depth, 0.0) / 2
        dx, dy = (three_cells.to_two_rows(metrics(grid, three_cells.rows)[name].centre)[1] for name in ("dx", "dy"))
        d = dy if side.in_rows else dx
        with np.errstate(invalid="ignore", divide="ignore"):
            rates = np.sqrt(config.physics.gravity * H) * (1.5 - 0.5 * np.minimum(1, H_2 / H)) / d
            waves = 2 * np.sqrt(config.physics.gravity * inner * (1 / dx**2 + 1 / dy**2))
        cells = side.to_two_rows(side.rows[:, None] * grid.nx + side.columns[None, :])[1]
        wave_rates = np.broadcast_to(WAVE_RATE_WEIGHT * forward * waves, rates.shape)
        for cell, rate, wave_rate in zip(
            cells[side.is_open], rates[side.is_open], wave_rates[side.is_open], strict=True
        ):
            rate_of_cell[cell] = rate_of_cell.get(cell, wave_rate) + rate
    return float(max(rate_of_cell.values(), default=0.0))
