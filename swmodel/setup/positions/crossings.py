"""Sections: faces of the C-grid along a line, and their transport. NumPy only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ...errors import UsageError
from ...ocean.coordinates import along_axes, axes, metrics, places, turned
from ...ocean.state import State
from .. import fields
from ..setup import Setup
from .gauges import Points, inside, twice


class Faces(NamedTuple):
    """Faces between two wet cells along a line, [n] each.

    Attributes:
        axis: 0 for faces of v, through which water flows in y, 1 for faces of u.
        rows, columns: the cell to the south or the west, whose numbers the face has.
        lengths: lengths of the faces, m; negative where flow to the north or the east goes to the left of the line.
    """

    axis: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    lengths: np.ndarray


class Section(NamedTuple):
    """The Faces of a line, and both its ends: x and y in m, or longitude and latitude, [2, 2]."""

    faces: Faces
    ends: np.ndarray


class Crossings(NamedTuple):
    """The sections of a run, `output.sections`, and the points of the state that they need.

    Attributes:
        ends: both ends of each section, at corners of cells, [n, 4].
        lengths: lengths of the faces of all sections, m.
        cuts: index of the first face of the next section, [n - 1].
        points: velocity at each face, then thickness on both its sides.
    """

    names: list[str]
    ends: np.ndarray
    lengths: np.ndarray
    cuts: np.ndarray
    points: Points

    def values(self, raw: np.ndarray) -> dict[str, np.ndarray]:
        """{"transport": sum over faces of length times velocity times mean thickness, m3 s-1} [k, n].

        `raw`: values of the points at k times, [k, 3 faces].
        """
        velocity, near, far = np.split(raw.astype(np.float64), 3, axis=1)
        through = self.lengths * velocity * (0.5 * (near + far))
        return {"transport": np.stack([part.sum(axis=1) for part in np.split(through, self.cuts, axis=1)], axis=1)}


def crossings(setup: Setup) -> Crossings | None:
    """The Crossings of a checked Setup; None without sections."""
    config, grid, lines = setup.config, setup.config.grid, setup.config.output.sections
    if not lines:
        return None
    sections = [section(config, line) for line in lines]
    axis, rows, columns, lengths = (np.concatenate(parts) for parts in zip(*(s.faces for s in sections), strict=True))
    of_u, of_v, of_h = (State._fields.index(name) for name in "uvh")
    thickness = np.full(len(axis), of_h)
    points = Points(
        np.concatenate([np.where(axis == 1, of_u, of_v), thickness, thickness]),
        np.concatenate([rows, rows, (rows + (axis == 0)) % grid.ny]),
        np.concatenate([columns, columns, (columns + (axis == 1)) % grid.nx]),
    )
    ends, cuts = [each.ends.ravel() for each in sections], np.cumsum([len(each.faces.axis) for each in sections])[:-1]
    return Crossings([line.name for line in lines], np.array(ends), lengths, cuts, points)


def section(config, line) -> Section:
    """The Section of a table [[section]]: a stair between the corners of cells nearest to its ends."""
    what, (of_x, of_y) = f'the section "{line.name}"', axes(config.grid)
    rows, columns = path_of(config, line)
    if len(rows) < 2:
        raise UsageError(f"{what} begins and ends at the same corner of the grid; make it longer")
    ends = [
        places(config.grid, of_x.first + (i + 0.5) * of_x.spacing, of_y.first + (j + 0.5) * of_y.spacing)
        for j, i in ((rows[0], columns[0]), (rows[-1], columns[-1]))
    ]
    return with_water(open_faces(config, rows, columns), np.array(ends, dtype=np.float64), what)


def straight(config, axis: str, at: float, start: float | None = None, end: float | None = None) -> Section:
    """The Section along the faces nearest to `at` on an axis, from `start` to `end` on the other one.

    Positions are in m or degrees; None: the edge of the domain. Faces at both ends count in part. Flow along the axis
    is positive.
    """
    across, along_it = (getattr(axes(config.grid), name) for name in (axis, "y" if axis == "x" else "x"))
    what, coasts = f"the section {across.in_words(at, 6)}", along_it.edges
    start, end = (
        coast if given is None else inside(along_it, what, given)
        for given, coast in zip((start, end), coasts, strict=True)
    )
    if not start < end:
        raise UsageError(f"{what}: from={start:g} is not below to={end:g}")
    face = round((inside(across, what, at) - across.edges[0]) / across.spacing) - 1
    corners = np.arange(-1, along_it.cells)
    faces = open_faces(config, *((corners, 0 * corners + face) if axis == "x" else (0 * corners + face, corners[::-1])))
    numbers = faces.rows if axis == "x" else faces.columns
    edges = coasts[0] + along_it.spacing * np.array([numbers, numbers + 1])
    part = np.clip(np.minimum(edges[1], end) - np.maximum(edges[0], start), 0, None) / along_it.spacing
    faces = Faces(*(each[part > 0] for each in faces._replace(lengths=faces.lengths * part)))
    at = across.edges[0] + (face + 1) * across.spacing
    ends = np.array([(at, way) if axis == "x" else (way, at) for way in (start, end)])
    return with_water(faces, ends, f"{what} from {start:g} to {end:g} {along_it.unit}")


def with_water(faces: Faces, ends: np.ndarray, what: str) -> Section:
    """The Section of Faces. UsageError: no faces."""
    if not len(faces.axis):
        raise UsageError(f"{what}: no water flows through it, as it is all land or wall")
    return Section(faces, ends)


def path_of(config, line) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the corners of a stair along a line, from the corner nearest to its start to that of its end.

    Corner (j, i) is north-east of cell (j, i). A stair keeps its directions in x and y. Across the end of a ring it has
    numbers beyond the grid.
    """
    what = f'the section "{line.name}"'
    ends = zip(axes(config.grid), *(along_axes(config.grid, *place) for place in (line.start, line.end)), strict=True)
    (i, i1), (j, j1) = (
        [round(float(axis.index(at)) - 0.5) for at in way(config.grid, axis, what, float(start), float(end))]
        for axis, start, end in ends
    )
    across, up = abs(i1 - i), abs(j1 - j)
    step_x, step_y = int(np.sign(i1 - i)), int(np.sign(j1 - j))
    rows, columns, x, y = [j], [i], 0, 0
    while x < across or y < up:
        # The next corner is the one whose middle is nearer to the line.
        in_x = y == up or (x < across and (2 * x + 1) * up < (2 * y + 1) * across)
        x, y = x + in_x, y + (not in_x)
        rows.append(j + step_y * y)
        columns.append(i + step_x * x)
    return np.array(rows), np.array(columns)


def way(grid, axis, what: str, start: float, end: float) -> tuple[float, float]:
    """Both ends of a line along an Axis. A line within the domain does not cross the end of a ring.

    It goes the shorter way round if an end lies beyond the ring's end, or the grid has its own pole. Then its end may
    be beyond the domain.
    """
    low, high = axis.edges
    if not axis.ring or (low <= start <= high and low <= end <= high and not turned(grid)):
        return inside(axis, what, start), inside(axis, what, end)
    length = high - low
    start = low + (start - low) % length
    return start, start + (end - start + length / 2) % length - length / 2


def open_faces(config, rows: np.ndarray, columns: np.ndarray) -> Faces:
    """The Faces along the corners of a path, between two wet cells."""
    grid, up, across = config.grid, np.diff(rows), np.diff(columns)
    in_x = up != 0
    row, column = np.maximum(rows[1:], rows[:-1]), np.maximum(columns[1:], columns[:-1])
    band, window = (np.arange(each.min(), each.max() + 2) for each in (row, column))
    wet = np.broadcast_to(fields.wet(config, band, window) != 0, (len(band), len(window)))
    j, i = row - band[0], column - window[0]
    is_open = wet[j, i] & wet[j + ~in_x, i + in_x]
    lengths = metrics(grid, row)
    size = np.where(in_x, *(np.broadcast_to(at[:, 0], row.shape) for at in (lengths["dy"].u, lengths["dx"].v)))
    # On the way north the flow to the east goes to the right; on the way east that to the north goes to the left.
    faces = in_x.astype(int), row % grid.ny, column % grid.nx, np.where(in_x, up, -across) * size
    return Faces(*(each[is_open] for each in faces))


def problems(config) -> Iterator[str]:
    """The problems of the sections of a configuration, one line each."""
    yield from twice(config, "sections")
    for line in config.output.sections:
        try:
            section(config, line)
        except UsageError as error:
            yield f"output.sections: {error}"
