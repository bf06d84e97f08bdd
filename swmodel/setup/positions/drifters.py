"""The drifters of a run: where they start, and their places from their cells. NumPy only."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...errors import UsageError
from ...ocean.coordinates import along_axes, axes, places, positions
from .gauges import on_water, place_of, position_of
from .stencils import cells_around, neighbourhoods

#: Most drifters of a run.
MOST = 100_000

#: The numbers of each drifter: its cell (the row is -1 after it left), and its distances from the centre, cells.
ROW, COLUMN, NORTH, EAST = NAMES = tuple(f"drifter_{name}" for name in ("row", "column", "north", "east"))


def drifters(config) -> dict[str, np.ndarray]:
    """The NAMES of all drifters at their start, [n], int32 and the precision of the run; the configuration is checked.

    A distance is at least -1/2 and below 1/2. In cells it is more exact than a position, which has lost digits.
    """
    (of_x, of_y), (x, y) = axes(config.grid), start(config)[0].T
    rows, columns = cells_around(config, x, y)
    dtype = np.dtype(config.run.dtype)
    north, east = (
        np.clip(at.astype(dtype), *edges_of(dtype))
        for at in (of_y.index(y) - rows, of_x.index(of_x.within(x)) - columns)
    )
    return {ROW: rows.astype(np.int32), COLUMN: columns.astype(np.int32), NORTH: north, EAST: east}


def edges_of(dtype) -> tuple:
    """The least and the largest distance from the centre of a cell: 1/2 more than the largest is below 1."""
    return dtype.type(-0.5), dtype.type(0.5 - np.finfo(dtype).eps)


def places_of(grid, found: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """x and y in m, or lon and lat in degrees, of the drifters with these NAMES; NaN for those that left."""
    pairs = zip(axes(grid), ((COLUMN, EAST), (ROW, NORTH)), strict=True)
    at = (axis.first + (found[cell] + found[away].astype(np.float64)) * axis.spacing for axis, (cell, away) in pairs)
    found_there = places(grid, *(np.where(found[ROW] < 0, np.nan, each) for each in at))
    return dict(zip(positions(grid)[0], found_there, strict=True))


def start(config) -> tuple[np.ndarray, list[str]]:
    """The positions of all drifters along the axes of the grid, [n, 2], in the order of the tables; and problems."""
    tables = {f"drifters, number {number}": table for number, table in enumerate(config.output.drifters, 1)}
    single, found, wrong = {}, {}, []
    for what, table in tables.items():
        try:
            if table.box is not None and (table.spacing is None or table.at or position_of(table)):
                raise UsageError(f"{what}: a box needs a spacing, and no other position")
            if table.box is None:
                single[what] = start_of(config, table, what)
            else:
                found[what] = lattice(config, table, what)
        except UsageError as error:
            wrong.append(str(error))
    along, problems = on_water(config, [*single.values()], [*single])
    found |= {what: [place] for what, place in zip(single, along, strict=False)}
    problems += wrong
    if not problems and (total := sum(map(len, found.values()))) > MOST:
        problems.append(f"{total} drifters are more than {MOST}")
    in_order = [found[what] for what in tables] if not problems else []
    return np.concatenate(in_order, dtype=np.float64) if in_order else np.empty((0, 2)), problems


def start_of(config, table, what: str) -> tuple[float, float]:
    """The start of a single drifter: x and y in m, or its longitude and latitude."""
    if table.spacing is not None or (table.at is None) == (position_of(table) == set()):
        raise UsageError(f"{what}: give at, or {' and '.join(positions(config.grid)[0])}, or box and spacing")
    return table.at or place_of(config, table, what)


def lattice(config, table, what: str) -> np.ndarray:
    """The positions on water of the lattice in a box, along the axes of the grid, [n, 2], row by row from its corner.

    UsageError: there are none, or far too many.
    """
    west, east, south, north = table.box
    counts = [int((high - low) / table.spacing + 1e-9) + 1 for low, high in ((west, east), (south, north))]
    if west > east or south > north:
        raise UsageError(f"{what}: the box is west, east, south, north, each pair in rising order")
    if max(counts) > MOST or counts[0] * counts[1] > 100 * MOST:
        raise UsageError(f"{what}: a lattice of {counts[0]} x {counts[1]} drifters is too large; give a larger spacing")
    y, x = (each.ravel() for each in np.mgrid[: counts[1], : counts[0]] * table.spacing)
    x, y = along_axes(config.grid, west + x, south + y)
    x = axes(config.grid).x.within(x)
    inside = np.logical_and.reduce(
        [
            (at >= low) & (at <= high)
            for at, (low, high) in zip((x, y), (a.edges for a in axes(config.grid)), strict=True)
        ]
    )
    found = np.stack([x, y], axis=1)[inside]
    found = found[neighbourhoods(config, *cells_around(config, *found.T))[:, 0, 0] != 0]
    if not len(found):
        raise UsageError(f"{what}: the box has no water")
    return found


def problems(config) -> Iterator[str]:
    """The problems of the drifters of a configuration, one line each."""
    yield from (f"output.drifters: {line}" for line in start(config)[1])
    for key in ("drifters_every", "drifters_every_steps"):
        if getattr(config.output, key) and not config.output.drifters:
            yield f"output.{key}: has no effect without drifters; give output.drifters, or leave it out"
