"""The cell faces along the lines of the barriers, and the heights of the crests on them, which gates change in time."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import UsageError
from ..extras import missing_package_reason
from . import projection
from .coordinates import has_lon_lat, is_spherical
from .staircase import faces_between, stair_corners

if TYPE_CHECKING:
    from ..config.options.model import Config

#: The height that stands for the crest on faces without a barrier, m.
NO_CREST = 1e5


class BarrierFaces(NamedTuple):
    """The faces of a barrier; [n] means one value per face.

    Attributes:
        is_u: whether a face is a u face; otherwise it is a v face.
        rows, columns: indices of the faces: those of the cell to the west of a u face, or to the south of a v face.
        crest: height of the crest, m; that of a gate at the start.
    """

    is_u: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    crest: np.ndarray


@lru_cache(maxsize=4)
def faces_of_barriers(grid, barriers) -> tuple[BarrierFaces, ...]:
    """The BarrierFaces of each of the tables [[barrier]]. UsageError: see `faces_of_barrier`."""
    return tuple(faces_of_barrier(grid, each) for each in barriers)


def faces_of_barrier(grid, barrier) -> BarrierFaces:
    """The BarrierFaces of a table [[barrier]], with crests interpolated along its line.

    If several successive points of the line are nearest to the same corner of the grid, they are divided between the
    two faces of the line beside this corner: the crest of each is at most as high as the lowest of its points.

    UsageError: the line leaves the grid, begins and ends at the same corner, or its coordinate reference system is
    unknown or cannot be converted to that of the grid.
    """
    name = barrier_label(barrier)
    uniform_crest = barrier.gate[0][1] if barrier.gate else barrier.crest
    xs, ys = to_grid_system(grid, name, barrier.crs, *np.array([point[:2] for point in barrier.line]).T)
    points = [(x, y, *(point[2:] or (uniform_crest,))) for x, y, point in zip(xs, ys, barrier.line, strict=True)]
    parts, points_at_corner = [], [points[:1]]
    for start, end in pairwise(points):
        rows, columns = stair_corners(grid, name, start[:2], end[:2])
        if len(rows) == 1:
            points_at_corner[-1].append(end)
            continue
        along = (np.arange(len(rows) - 1) + 0.5) / (len(rows) - 1)
        parts.append((*faces_between(rows, columns), start[2] + (end[2] - start[2]) * along))
        points_at_corner.append([end])
    if not parts:
        raise UsageError(f"{name} begins and ends at the same corner of the grid; make it longer")
    for number, at_corner in enumerate(points_at_corner):
        if len(at_corner) == 1:
            continue
        x, y, crest = np.array(at_corner).T
        along = np.cumsum(np.hypot(np.diff(x, prepend=x[0]), np.diff(y, prepend=y[0])))
        is_on_face_before = (along <= along[-1] / 2) if 0 < number < len(parts) else np.full(len(x), number > 0)
        for face, points_on_face in ((number - 1, is_on_face_before), (number, ~is_on_face_before)):
            if points_on_face.any():
                crests, last_or_first = parts[face][-1], -1 if face < number else 0
                crests[last_or_first] = min(crests[last_or_first], crest[points_on_face].min())
    is_u, rows, columns, crest = (np.concatenate(each) for each in zip(*parts, strict=True))
    return BarrierFaces(is_u.astype(bool), rows % grid.ny, columns % grid.nx, crest)


def barrier_label(barrier) -> str:
    """The barrier in the words of messages: by its name, or else by its first point."""
    return f'the barrier "{barrier.name}"' if barrier.name else f"the barrier that begins at {barrier.line[0]}"


def to_grid_system(grid, name: str, crs: str, x, y) -> tuple:
    """Positions in the system of the grid, x and y or longitudes and latitudes, from those in the system `crs`.

    An empty `crs` is that of the grid. UsageError, with `name` in its message: the grid is a plane without grid.crs,
    pyproj is missing, or the system is unknown.
    """
    if not crs or crs == grid.crs or (is_spherical(grid) and crs == projection.GEOGRAPHIC_CRS):
        return x, y
    if not has_lon_lat(grid):
        raise UsageError(
            f"{name} is in {crs}, which has no place on a plane without grid.crs; give x and y in m, without a system"
        )
    if reason := missing_package_reason(f"{name} in {crs}", "pyproj"):
        raise UsageError(reason)
    try:
        if grid.crs and projection.are_equal(crs, grid.crs):
            return x, y
        lon, lat = projection.lon_lat(crs, x, y)
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from None
    return projection.eastings_northings(grid.crs, lon, lat) if grid.crs else (lon, lat)


def gate_times(barriers) -> np.ndarray:
    """The times between which the crests of gates move linearly, s; the last is infinite. Without a gate: 0 and inf."""
    times = {time for barrier in barriers for time, _ in barrier.gate}
    return np.array(sorted({min([0.0, *times]), *times, np.inf}))


def crest_heights(config: Config, axis: str, time: float, rows, columns) -> np.ndarray:
    """Heights of the crests on u faces (axis x) or v faces (axis y) at a time, m, [rows, columns].

    Where barriers share a face, the highest crest counts. Faces without a barrier have NO_CREST.
    """
    grid = config.grid
    rows_read, row_numbers = np.unique(np.asarray(rows) % grid.ny, return_inverse=True)
    highest = np.full((len(rows_read), grid.nx), -np.inf)
    barriers = config.barriers.lines
    for barrier, faces in zip(barriers, faces_of_barriers(grid, barriers), strict=True):
        crest = np.interp(time, *np.array(barrier.gate).T) if barrier.gate else faces.crest
        selected = (faces.is_u == (axis == "x")) & np.isin(faces.rows, rows_read)
        indices = np.searchsorted(rows_read, faces.rows[selected]), faces.columns[selected]
        np.maximum.at(highest, indices, np.broadcast_to(crest, selected.shape)[selected])
    heights = highest[np.ix_(row_numbers, np.asarray(columns) % grid.nx)]
    return np.where(np.isfinite(heights), heights, NO_CREST)


def barrier_mask(config: Config, axis: str, rows, columns) -> np.ndarray:
    """1 on u faces (axis x) or v faces (axis y) with a barrier, else 0; [1, 1] in a run without barriers."""
    if not config.barriers.lines:
        return np.zeros((1, 1))
    return (crest_heights(config, axis, 0.0, rows, columns) < NO_CREST).astype(np.float64)


def are_on_barriers(config: Config, is_u: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Whether each face has a barrier, bool [n]; `is_u` is true for u faces and false for v faces."""
    faces = faces_of_barriers(config.grid, config.barriers.lines)
    with_barrier = {face for each in faces for face in zip(each.is_u, each.rows, each.columns, strict=True)}
    return np.array([face in with_barrier for face in zip(is_u, rows, columns, strict=True)], dtype=bool)


def away_from_barriers(config: Config, rows, columns) -> np.ndarray:
    """0 at both ends of each face with a barrier, 1 at all other corners, [rows, columns]."""
    rows, columns = np.asarray(rows), np.asarray(columns)
    touching = barrier_mask(config, "x", rows, columns) + barrier_mask(config, "x", rows + 1, columns)
    touching = touching + barrier_mask(config, "y", rows, columns) + barrier_mask(config, "y", rows, columns + 1)
    return (touching == 0).astype(np.float64)
