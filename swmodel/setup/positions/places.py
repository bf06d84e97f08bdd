"""Positions that a user names: within the domain, on water, each name once. NumPy only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from ...errors import UsageError
from ...ocean.coordinates import along_axes, axes, distances, places, points, positions
from .. import fields
from .stencils import cells_around, neighbourhoods

#: Most cells whose mask is looked at together.
CELLS = 2**20

#: Positions on land of which a message names the nearest water.
NAMED = 10


def twice(config, key: str) -> Iterator[str]:
    """One line for each name that several tables of a key of `output` share."""
    for name, count in Counter(entry.name for entry in getattr(config.output, key)).items():
        if count > 1:
            yield f'output.{key}: "{name}" is there {"twice" if count == 2 else f"{count} times"}'


def inside(axis, what: str, position: float) -> float:
    """A position on an Axis; longitudes are brought into the domain where they are the same as one there."""
    (first, last), within = axis.edges, float(axis.within(position))
    if not first <= within <= last:
        raise UsageError(f"{what}: {axis.told(position, 6)} is outside the domain, {first:g} to {last:g} {axis.unit}")
    return within


def on_water(config, place: tuple[float, float], what: str) -> list[float]:
    """A place in m, or a longitude and latitude, along the axes of the grid."""
    (found,) = all_on_water(config, [place], [what])
    if isinstance(found, UsageError):
        raise found
    return found


def all_on_water(config, given: Sequence[tuple[float, float]], names: Sequence[str]) -> list[list[float] | UsageError]:
    """Several places along the axes of the grid, or what `on_water` would raise; the mask is read once for all."""
    found: list[list[float] | UsageError] = []
    for place, what in zip(given, names, strict=True):
        along = zip(axes(config.grid), along_axes(config.grid, *place), strict=True)
        try:
            found.append([inside(axis, what, float(at)) for axis, at in along])
        except UsageError as error:
            found.append(error)
    within = [number for number, at in enumerate(found) if not isinstance(at, UsageError)]
    if not within:
        return found
    cells = cells_around(config, *np.array([found[number] for number in within], dtype=np.float64).T)
    dry = np.flatnonzero(neighbourhoods(config, *cells)[:, 0, 0] == 0)
    for count, number in enumerate(within[n] for n in dry):
        named = count < NAMED
        found[number] = (
            on_land(config, given[number], names[number]) if named else UsageError(f"{names[number]} is on land")
        )
    return found


def on_land(config, place: tuple[float, float], what: str) -> UsageError:
    """That a place is on land, and where the nearest water is."""
    keys, unit = positions(config.grid)
    distance, water = nearest_water(config, place)
    here, there = (
        ", ".join(f"{key} = {at:.7g} {unit}" for key, at in zip(keys, p, strict=True)) for p in (place, water)
    )
    far = f"the nearest water is {distance / 1e3:.3g} km away, the cell at {there}"
    return UsageError(f"{what} at {here} is on land; {far}")


def nearest_water(config, place: tuple[float, float]) -> tuple[float, tuple[float, float]]:
    """Distance in m, and place in m or degrees, of the centre of a wet cell that is nearest to a place."""
    grid, columns, best = config.grid, np.arange(config.grid.nx), (np.inf, (0, 0))
    height = max(1, CELLS // grid.nx)
    for first in range(0, grid.ny, height):
        rows = np.arange(first, min(first + height, grid.ny))
        wet = np.broadcast_to(fields.wet(config, rows, columns) != 0, (len(rows), len(columns)))
        away = np.where(wet, distances(grid, place, points(grid, "centre", rows, columns)), np.inf)
        j, i = np.unravel_index(np.argmin(away), away.shape)
        best = min(best, (float(away[j, i]), (first + int(j), int(i))))
    if np.isinf(best[0]):
        raise UsageError("there is no water in the domain")
    (of_x, of_y), (row, column) = axes(grid), best[1]
    return best[0], places(grid, of_x.first + column * of_x.spacing, of_y.first + row * of_y.spacing)
