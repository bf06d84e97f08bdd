"""The faces along the lines of the barriers, and the height of their crests there in time."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..errors import UsageError
from . import projection
from .coordinates import has_lon_lat
from .staircase import faces_between, stair_corners

#: The crest on faces without a barrier, m.
NO_CREST = 1e5
#: Time after which a gate stays as it is, s.
FAR_FUTURE = np.inf


class BarrierFaces(NamedTuple):
    """The faces of a barrier, [n] each.

    Attributes:
        is_u: whether each is a u face, or else a v face.
        rows, columns: the cell to the south or the west, whose indices the face has.
        crest: height of the crest, m; that of a gate at the start.
    """

    is_u: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    crest: np.ndarray


@lru_cache(maxsize=32)
def barrier_faces(grid, barrier) -> BarrierFaces:
    """The BarrierFaces of a table [[barrier]], with crests interpolated along its line.

    UsageError: the line leaves the grid, or its coordinate reference system is unknown.
    """
    label, parts = f'the barrier "{barrier.name}"', []
    uniform = barrier.gate[0][1] if barrier.gate else barrier.crest
    try:
        xs, ys = in_system_of_grid(grid, barrier.crs, *np.array([point[:2] for point in barrier.line]).T)
    except ValueError as error:
        raise UsageError(f"{label}: {error}") from None
    points = [(x, y, *(point[2:] or (uniform,))) for x, y, point in zip(xs, ys, barrier.line, strict=True)]
    for (*start, first), (*end, last) in pairwise(points):
        rows, columns = stair_corners(grid, label, start, end)
        n_faces = len(rows) - 1
        along = (np.arange(n_faces) + 0.5) / max(n_faces, 1)
        parts.append((*faces_between(rows, columns), first + (last - first) * along))
    is_u, rows, columns, crest = (np.concatenate(each) for each in zip(*parts, strict=True))
    if not len(rows):
        raise UsageError(f"{label} begins and ends at the same corner of the grid; make it longer")
    return BarrierFaces(is_u.astype(bool), rows % grid.ny, columns % grid.nx, crest)


def in_system_of_grid(grid, crs: str, x, y) -> tuple:
    """Places in a coordinate reference system, as x and y in m, or as longitudes and latitudes, of the grid.

    On a plane without a system, and without a `crs`, they are those of the grid already.
    """
    if not crs or not has_lon_lat(grid) or (grid.crs and projection.are_equal(crs, grid.crs)):
        return x, y
    lon, lat = projection.lon_lat(crs, x, y)
    return projection.eastings_northings(grid.crs, lon, lat) if grid.crs else (lon, lat)


def gate_times(barriers) -> np.ndarray:
    """The times between which gates move linearly, s; two if there is no gate."""
    times = {time for barrier in barriers for time, _ in barrier.gate}
    return np.array(sorted({min([0.0, *times]), *times, FAR_FUTURE}))


def crest_heights(config, axis: str, time: float, rows, columns) -> np.ndarray:
    """Heights of the crests on u faces (axis x) or v faces (axis y) at a time, m; NO_CREST on other faces.

    The higher one counts where two barriers share a face.
    """
    grid = config.grid
    rows_read, row_numbers = np.unique(np.asarray(rows) % grid.ny, return_inverse=True)
    highest = np.full((len(rows_read), grid.nx), -np.inf)
    for barrier in config.barriers.lines:
        faces = barrier_faces(grid, barrier)
        crest = np.interp(time, *zip(*barrier.gate, strict=True)) if barrier.gate else faces.crest
        here = (faces.is_u == (axis == "x")) & np.isin(faces.rows, rows_read)
        at = np.searchsorted(rows_read, faces.rows[here]), faces.columns[here]
        np.maximum.at(highest, at, np.broadcast_to(crest, here.shape)[here])
    heights = highest[np.ix_(row_numbers, np.asarray(columns) % grid.nx)]
    return np.where(np.isfinite(heights), heights, NO_CREST)


def has_barrier(config, axis: str, rows, columns) -> np.ndarray:
    """1 on u faces (axis x) or v faces (axis y) with a barrier, else 0; [1, 1] if there are none."""
    if not config.barriers.lines:
        return np.zeros((1, 1))
    return (crest_heights(config, axis, 0.0, rows, columns) < NO_CREST).astype(np.float64)


def away_from_barriers(config, rows, columns) -> np.ndarray:
    """0 at the corners at which a barrier ends or turns or passes, else 1."""
    rows, columns = np.asarray(rows), np.asarray(columns)
    touching = has_barrier(config, "x", rows, columns) + has_barrier(config, "x", rows + 1, columns)
    touching = touching + has_barrier(config, "y", rows, columns) + has_barrier(config, "y", rows, columns + 1)
    return (touching == 0).astype(np.float64)
