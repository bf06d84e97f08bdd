"""The drifters of a run: where they start, and their positions from their cells. NumPy only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ...errors import UsageError
from ...ocean.coordinates import axes, cells_containing, coordinate_names_and_unit, from_grid_axes, to_grid_axes
from ...ocean.places import position_in_table, position_keys
from .gauges import positions_on_water
from .stencils import neighbourhood_values

if TYPE_CHECKING:
    from ...config.options.model import Config

#: Largest number of drifters in a run.
MAX_DRIFTERS = 100_000

#: What locates a drifter: its cell (row -1 once it has left the domain), and its offsets from the cell's centre, cells.
ROW, COLUMN, NORTH, EAST = FIELD_NAMES = tuple(f"drifter_{name}" for name in ("row", "column", "north", "east"))


def initial_drifters(config: Config) -> dict[str, np.ndarray]:
    """{name in FIELD_NAMES: values [n]} of all drifters at their start; the configuration must have been checked.

    Rows and columns are int32. Offsets have the precision of the run; they are at least -1/2 and below 1/2, and keep
    digits that positions in this precision would lose.
    """
    (x_axis, y_axis), (x, y) = axes(config.grid), start_positions(config)[0].T
    rows, columns = cells_containing(config.grid, x, y)
    dtype = np.dtype(config.run.dtype)
    north, east = (
        np.clip(at.astype(dtype), *offset_limits(dtype))
        for at in (y_axis.fractional_index(y) - rows, x_axis.fractional_index(x_axis.wrap(x)) - columns)
    )
    return {ROW: rows.astype(np.int32), COLUMN: columns.astype(np.int32), NORTH: north, EAST: east}


def offset_limits(dtype) -> tuple:
    """The smallest and the largest offset from the centre of a cell; the largest plus 1/2 is still below 1."""
    return dtype.type(-0.5), dtype.type(0.5 - np.finfo(dtype).eps)


def drifter_positions(grid, drifters: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """x and y in m, or lon and lat in degrees, of the drifters with these FIELD_NAMES; NaN for those that have left."""
    pairs = zip(axes(grid), ((COLUMN, EAST), (ROW, NORTH)), strict=True)
    along = (
        axis.first + (drifters[index] + drifters[offset].astype(np.float64)) * axis.spacing
        for axis, (index, offset) in pairs
    )
    coordinates = from_grid_axes(grid, *(np.where(drifters[ROW] < 0, np.nan, each) for each in along))
    return dict(zip(coordinate_names_and_unit(grid)[0], coordinates, strict=True))


def start_positions(config: Config) -> tuple[np.ndarray, list[str]]:
    """The start positions of all drifters along the axes of the grid, [n, 2], in the order of the tables; and problems.

    If there are problems, no positions are returned.
    """
    tables = {f"drifters, number {number}": table for number, table in enumerate(config.output.drifters, 1)}
    single_starts: dict[str, tuple[float, float]] = {}
    positions_of: dict[str, np.ndarray] = {}
    errors: list[str] = []
    for label, table in tables.items():
        try:
            if table.box is not None and (table.spacing is None or table.at or position_keys(table)):
                raise UsageError(f"{label}: a box needs a spacing, and excludes other positions")
            if table.box is None:
                single_starts[label] = start_of_drifter(config, table, label)
            else:
                positions_of[label] = lattice_positions(config, table, label)
        except UsageError as error:
            errors.append(str(error))
    along, problems = positions_on_water(config, [*single_starts.values()], [*single_starts])
    positions_of |= {label: position[None] for label, position in zip(single_starts, along, strict=False)}
    problems += errors
    if not problems and (total := sum(map(len, positions_of.values()))) > MAX_DRIFTERS:
        problems.append(f"{total} drifters are more than {MAX_DRIFTERS}")
    in_order = [positions_of[label] for label in tables] if not problems else []
    return np.concatenate(in_order, dtype=np.float64) if in_order else np.empty((0, 2)), problems


def start_of_drifter(config: Config, table, label: str) -> tuple[float, float]:
    """The start of a single drifter: x and y in m, or its longitude and latitude.

    UsageError: its table has no position, more than one, or a spacing without a box.
    """
    if table.spacing is not None or (table.at is None) == (position_keys(table) == set()):
        raise UsageError(
            f"{label}: give at, or {' and '.join(coordinate_names_and_unit(config.grid)[0])}, or box and spacing"
        )
    return table.at or position_in_table(config.grid, table, label)


def lattice_positions(config: Config, table, label: str) -> np.ndarray:
    """The points on water of the lattice in a box, along the axes of the grid, [n, 2], row by row from the south-west.

    UsageError: the box has no such points, its sides are in the wrong order, or the lattice is far too large.
    """
    west, east, south, north = table.box
    counts = [int((high - low) / table.spacing + 1e-9) + 1 for low, high in ((west, east), (south, north))]
    if west > east or south > north:
        raise UsageError(f"{label}: write the box as west, east, south, north, with each pair in rising order")
    if max(counts) > MAX_DRIFTERS or counts[0] * counts[1] > 100 * MAX_DRIFTERS:
        raise UsageError(
            f"{label}: a lattice of {counts[0]} x {counts[1]} drifters is too large; give a larger spacing"
        )
    y, x = (each.ravel() for each in np.mgrid[: counts[1], : counts[0]] * table.spacing)
    x, y = to_grid_axes(config.grid, west + x, south + y)
    x = axes(config.grid).x.wrap(x)
    is_inside = np.logical_and.reduce(
        [
            (at >= low) & (at <= high)
            for at, (low, high) in zip((x, y), (a.edges for a in axes(config.grid)), strict=True)
        ]
    )
    positions = np.stack([x, y], axis=1)[is_inside]
    positions = positions[neighbourhood_values(config, *cells_containing(config.grid, *positions.T))[:, 0, 0] != 0]
    if not len(positions):
        raise UsageError(f"{label}: the box has no water")
    return positions


def problems(config: Config) -> Iterator[str]:
    yield from (f"output.drifters: {line}" for line in start_positions(config)[1])
    for key in ("drifters_every", "drifters_every_steps"):
        if getattr(config.output, key) and not config.output.drifters:
            yield f"output.{key}: has no effect without drifters; give output.drifters, or leave it out"
