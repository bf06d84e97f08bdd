"""Positions that a user names: within the domain, on water, each name once. NumPy only."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ...errors import UsageError
from ...ocean.coordinates import along_axes, axes, distances, places, points, positions
from .. import fields
from .stencils import cells_around

#: Most cells whose mask is looked at together.
CELLS = 2**20


def problems(config, key: str, check: Callable) -> Iterator[str]:
    """What is wrong with the tables of a key of `output`, one line each: a name given twice, or what `check` says.

    Args:
        check: function of the configuration and an entry; raises UsageError.

    Raises:
        InputError: the file of the mask cannot be read.
    """
    entries = getattr(config.output, key)
    for number, entry in enumerate(entries):
        if entry.name in [other.name for other in entries[:number]]:
            yield f'output.{key}: "{entry.name}" is there twice'
            continue
        try:
            check(config, entry)
        except UsageError as error:
            yield f"output.{key}: {error}"


def inside(axis, what: str, position: float) -> float:
    """A position on an Axis; longitudes are brought into the domain where they are the same as one there.

    Raises:
        UsageError: it is outside the domain.
    """
    (first, last), within = axis.edges, float(axis.within(position))
    if not first <= within <= last:
        raise UsageError(f"{what}: {axis.told(position, 6)} is outside the domain, {first:g} to {last:g} {axis.unit}")
    return within


def on_water(config, place: tuple[float, float], what: str) -> list[float]:
    """A place in m, or a longitude and latitude, along the axes of the grid.

    Raises:
        UsageError: it is outside, or in a cell of land; with the place of the nearest water.
        InputError: the file of the mask cannot be read.
    """
    along = zip(axes(config.grid), along_axes(config.grid, *place), strict=True)
    found = [inside(axis, what, float(at)) for axis, at in along]
    (row,), (column,) = cells_around(config, *([at] for at in found))
    if not np.broadcast_to(fields.wet(config, [row], [column]), (1, 1))[0, 0]:
        keys, unit = positions(config.grid)
        distance, water = nearest_water(config, place)
        here, there = (
            ", ".join(f"{key} = {at:.7g} {unit}" for key, at in zip(keys, p, strict=True)) for p in (place, water)
        )
        far = f"the nearest water is {distance / 1e3:.3g} km away, the cell at {there}"
        raise UsageError(f"{what} at {here} is on land; {far}")
    return found


def nearest_water(config, place: tuple[float, float]) -> tuple[float, tuple[float, float]]:
    """Distance in m, and place in m or degrees, of the centre of a wet cell that is nearest to a place.

    Raises:
        UsageError: there is no water.
        InputError: the file of the mask cannot be read.
    """
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
