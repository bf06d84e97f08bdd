"""The sections of a run, `output.sections`: lines along faces of the C-grid whose transport is written. NumPy only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..errors import UsageError
from ..ocean.coordinates import along_axes, axes, metrics
from . import fields
from .build import scheme_of
from .gauges import Points
from .places import inside


class Faces(NamedTuple):
    """Faces between two wet cells along a line, [n] each.

    Attributes:
        axis: 0 where water flows in y through a face (of v), 1 in x (of u).
        rows, columns: of the cell to the south or the west, which the face belongs to.
        lengths: of the faces, m; negative where the flow to the north or the east is to the left of the line's way.
    """

    axis: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    lengths: np.ndarray


class Crossings(NamedTuple):
    """The sections of a run, and what is read of the state for them.

    Attributes:
        names: [n].
        ends: both ends, at corners of cells: x and y in m, or longitude and latitude, [n, 4].
        lengths: of each of the faces, of all sections, m.
        cuts: where those of the next section begin, [n - 1].
        points: velocity at each face, then thickness on its near and on its far side.
    """

    names: list[str]
    ends: np.ndarray
    lengths: np.ndarray
    cuts: np.ndarray
    points: Points

    def values(self, raw: np.ndarray) -> dict[str, np.ndarray]:
        """{"transport": sum over faces of length times velocity times the mean thickness of both sides, m3 s-1}.

        Args:
            raw: what the points had at k times, [k, 3 faces]; the transports are [k, n], float64.
        """
        velocity, near, far = np.split(raw.astype(np.float64), 3, axis=1)
        through = self.lengths * velocity * (0.5 * (near + far))
        return {"transport": np.stack([part.sum(axis=1) for part in np.split(through, self.cuts, axis=1)], axis=1)}


def crossings(config) -> Crossings | None:
    """Those of a configuration that was checked; None where it has none.

    Raises:
        InputError: the file of the mask cannot be read.
    """
    if not config.output.sections:
        return None
    paths = [path_of(config, line) for line in config.output.sections]
    found = [open_faces(config, *path) for path in paths]
    axis, rows, columns, lengths = (np.concatenate(parts) for parts in zip(*found, strict=True))
    state, grid = scheme_of(config).state._fields, config.grid
    of_velocity = np.where(axis == 1, state.index("u"), state.index("v"))
    thickness = np.full(len(axis), state.index("h"))
    beyond = (rows + (axis == 0)) % grid.ny, (columns + (axis == 1)) % grid.nx
    points = Points(
        np.concatenate([of_velocity, thickness, thickness]),
        np.concatenate([rows, rows, beyond[0]]),
        np.concatenate([columns, columns, beyond[1]]),
    )
    along = axes(grid)
    ends = [
        [
            axis.first + (corners[end] + 0.5) * axis.spacing
            for end in (0, -1)
            for axis, corners in zip(along, path[::-1], strict=True)
        ]
        for path in paths
    ]
    names = [line.name for line in config.output.sections]
    return Crossings(names, np.array(ends), lengths, np.cumsum([len(faces.axis) for faces in found])[:-1], points)


def problems(config) -> Iterator[str]:
    """What is wrong with the sections, one line each.

    Raises:
        InputError: the file of the mask cannot be read.
    """
    for number, line in enumerate(config.output.sections):
        if line.name in [other.name for other in config.output.sections[:number]]:
            yield f'output.sections: "{line.name}" is there twice'
            continue
        try:
            path = path_of(config, line)
            if len(path[0]) < 2:
                yield f'output.sections: "{line.name}" begins and ends at the same corner of the grid; make it longer'
            elif not len(open_faces(config, *path).axis):
                yield f'output.sections: no water flows through "{line.name}", all of it is land or wall'
        except UsageError as error:
            yield f"output.sections: {error}"


def path_of(config, line) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the corners of a stair along a line: those nearest to its ends, and to it in between.

    Corner (j, i) is at the north and east of cell (j, i). Each stair goes one way in x and one in y.

    Raises:
        UsageError: an end is outside the domain.
    """
    what, along = f'the section "{line.name}"', axes(config.grid)
    ends = [along_axes(config.grid, *end) for end in (line.start, line.end)]
    ends = [[inside(axis, what, float(at)) for axis, at in zip(along, end, strict=True)] for end in ends]
    (i, j), (i1, j1) = (
        [round(float(axis.index(at)) - 0.5) for axis, at in zip(along, end, strict=True)] for end in ends
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


def edge(axis, number: int) -> float:
    """Where the last edge of a cell lies on an Axis."""
    return axis.first + (number + 0.5) * axis.spacing


def open_faces(config, rows: np.ndarray, columns: np.ndarray) -> Faces:
    """Those of the Faces between the corners of a path that lie between two wet cells."""
    grid, up, along = config.grid, np.diff(rows), np.diff(columns)
    in_x = up != 0
    row, column = np.maximum(rows[1:], rows[:-1]), np.maximum(columns[1:], columns[:-1])
    band, window = (np.arange(each.min(), each.max() + 2) for each in (row, column))
    wet = np.broadcast_to(fields.wet(config, band, window) != 0, (len(band), len(window)))
    j, i = row - band[0], column - window[0]
    is_open = wet[j, i] & wet[j + ~in_x, i + in_x]
    lengths = metrics(grid, row)
    size = np.where(in_x, *(np.broadcast_to(at[:, 0], row.shape) for at in (lengths["dy"].u, lengths["dx"].v)))
    # On the way north the flow to the east goes to the right; on the way east that to the north goes to the left.
    faces = in_x.astype(int), row % grid.ny, column % grid.nx, np.where(in_x, up, -along) * size
    return Faces(*(each[is_open] for each in faces))
