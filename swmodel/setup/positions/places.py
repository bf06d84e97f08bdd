"""Positions that a user names: within the domain, on water, each name once. NumPy only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from ...errors import UsageError
from ...ocean.coordinates import along_axes, axes, distances, places, points, positions
from .. import fields
from .stencils import cells_around, neighbourhoods

#: Positions on land of which a message names the nearest water, which is looked for on the whole grid.
NAMED = 10


def twice(config, key: str) -> Iterator[str]:
    """One line for each name that several tables of a key of `output` share."""
    for name, count in Counter(entry.name for entry in getattr(config.output, key)).items():
        if count > 1:
            yield f'output.{key}: "{name}" is there {count} times'


def inside(axis, what: str, position: float) -> float:
    """A position on an Axis; longitudes are brought into the domain where they are the same as one there."""
    (first, last), within = axis.edges, float(axis.within(position))
    if not first <= within <= last:
        raise UsageError(f"{what}: {axis.told(position, 6)} is outside the domain, {first:g} to {last:g} {axis.unit}")
    return within


def on_water(config, given: Sequence[tuple[float, float]], names: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    """Places in m, or longitudes and latitudes: those on water along the axes of the grid [n, 2]; what is wrong."""
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
    """That a place is on land, and where the nearest water is."""
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
