"""Sections: faces of the C-grid along a line, and their transport. NumPy only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...errors import UsageError
from ...ocean.coordinates import axes, from_grid_axes, metrics
from ...ocean.places import position_in_domain
from ...ocean.staircase import faces_between, stair_corners
from ...ocean.state import State
from .. import fields
from ..setup import Setup
from .gauges import StatePoints, duplicate_names

if TYPE_CHECKING:
    from ...config.options.model import Config


class SectionFaces(NamedTuple):
    """Faces between two wet cells along a line, [n] each.

    Attributes:
        axis: 0 for faces of v, through which water flows in y, 1 for faces of u.
        rows, columns: the cell to the south or the west, whose indices the face has.
        lengths: lengths of the faces, m; negative where flow to the north or the east goes to the left of the line.
    """

    axis: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    lengths: np.ndarray


class CrossSection(NamedTuple):
    """The SectionFaces of a line, and both its ends: x and y in m, or longitude and latitude, [2, 2]."""

    faces: SectionFaces
    ends: np.ndarray


class CrossSections(NamedTuple):
    """The sections of a run, `output.sections`, and the points of the state that they need.

    Attributes:
        ends: positions of the start and the end of each section, at corners of cells, in m or degrees, [n, 4].
        lengths: lengths of the faces of all sections, m, with the signs of SectionFaces.
        first_faces: index of the first face of each section except the first section, [n - 1].
        points: velocity at each face, then thickness in the cells on both its sides.
    """

    names: list[str]
    ends: np.ndarray
    lengths: np.ndarray
    first_faces: np.ndarray
    points: StatePoints

    def values(self, point_values: np.ndarray, steps: np.ndarray) -> dict[str, np.ndarray]:
        """{"transport": [k, n]}, m3 s-1, the sum over faces of length times velocity times mean thickness.

        `point_values`: values of the points after k numbers of steps, `steps`, [k, 3 times the number of faces].
        """
        velocity, thickness, thickness_across = np.split(point_values.astype(np.float64), 3, axis=1)
        flux = self.lengths * velocity * (0.5 * (thickness + thickness_across))
        return {"transport": np.stack([part.sum(axis=1) for part in np.split(flux, self.first_faces, axis=1)], axis=1)}


def make_cross_sections(setup: Setup) -> CrossSections | None:
    """The CrossSections of a checked Setup; None without sections."""
    config, grid, tables = setup.config, setup.config.grid, setup.config.output.sections
    if not tables:
        return None
    sections = [cross_section(config, line) for line in tables]
    axis, rows, columns, lengths = (np.concatenate(parts) for parts in zip(*(s.faces for s in sections), strict=True))
    index_of_u, index_of_v, index_of_h = (State._fields.index(name) for name in "uvh")
    thickness = np.full(len(axis), index_of_h)
    points = StatePoints(
        np.concatenate([np.where(axis == 1, index_of_u, index_of_v), thickness, thickness]),
        np.concatenate([rows, rows, (rows + (axis == 0)) % grid.ny]),
        np.concatenate([columns, columns, (columns + (axis == 1)) % grid.nx]),
    )
    ends = np.array([section.ends.ravel() for section in sections])
    first_faces = np.cumsum([len(section.faces.axis) for section in sections])[:-1]
    return CrossSections([line.name for line in tables], ends, lengths, first_faces, points)


def cross_section(config: Config, table) -> CrossSection:
    """The CrossSection of a table [[section]]: a staircase of faces between the cell corners nearest to its ends.

    UsageError: an end is outside the domain, both are at the same corner, or no water flows through the section.
    """
    label, (x_axis, y_axis) = f'the section "{table.name}"', axes(config.grid)
    rows, columns = stair_corners(config.grid, label, table.start, table.end)
    if len(rows) < 2:
        raise UsageError(f"{label} begins and ends at the same corner of the grid; make it longer")
    ends = []
    for j, i in ((rows[0], columns[0]), (rows[-1], columns[-1])):
        x, y = x_axis.first + (i + 0.5) * x_axis.spacing, y_axis.first + (j + 0.5) * y_axis.spacing
        ends.append(from_grid_axes(config.grid, x, y))
    return section_of_faces(open_faces(config, rows, columns), np.array(ends, dtype=np.float64), label)


def straight_section(
    config: Config, axis: str, position: float, start: float | None = None, end: float | None = None
) -> CrossSection:
    """The CrossSection along the faces nearest to `position` on `axis`, x or y, from `start` to `end` on the other.

    Positions are in m or degrees; None: the edge of the domain. Faces at both ends count with the fraction of their
    length that is inside. Flow in the direction of `axis` is positive. UsageError: a position is outside the domain,
    `start` is not below `end`, or no water flows through the section.
    """
    axis_across, axis_along = (getattr(axes(config.grid), name) for name in (axis, "y" if axis == "x" else "x"))
    label, domain_ends = f"the section {axis_across.describe_position(position, 6)}", axis_along.edges
    start, end = (
        edge if end_position is None else position_in_domain(axis_along, label, end_position)
        for end_position, edge in zip((start, end), domain_ends, strict=True)
    )
    if not start < end:
        raise UsageError(f"{label}: from={start:g} is not below to={end:g}")
    face = round((position_in_domain(axis_across, label, position) - axis_across.edges[0]) / axis_across.spacing) - 1
    corners = np.arange(-1, axis_along.n_cells)
    faces = open_faces(config, *((corners, 0 * corners + face) if axis == "x" else (0 * corners + face, corners[::-1])))
    numbers = faces.rows if axis == "x" else faces.columns
    edges = domain_ends[0] + axis_along.spacing * np.array([numbers, numbers + 1])
    fraction = np.clip(np.minimum(edges[1], end) - np.maximum(edges[0], start), 0, None) / axis_along.spacing
    faces = SectionFaces(*(each[fraction > 0] for each in faces._replace(lengths=faces.lengths * fraction)))
    position = axis_across.edges[0] + (face + 1) * axis_across.spacing
    ends = np.array([(position, along) if axis == "x" else (along, position) for along in (start, end)])
    return section_of_faces(faces, ends, f"{label} from {start:g} to {end:g} {axis_along.unit}")


def section_of_faces(faces: SectionFaces, ends: np.ndarray, label: str) -> CrossSection:
    """The CrossSection of SectionFaces. UsageError: there are no faces."""
    if not len(faces.axis):
        raise UsageError(f"{label}: no water flows through it, because it is all land or wall")
    return CrossSection(faces, ends)


def open_faces(config: Config, rows: np.ndarray, columns: np.ndarray) -> SectionFaces:
    """The SectionFaces between two wet cells along a path of corners, whose indices are rows[n] and columns[n]."""
    grid, d_row, d_column = config.grid, np.diff(rows), np.diff(columns)
    flows_in_x, row, column = faces_between(rows, columns)
    rows_read, columns_read = (np.arange(each.min(), each.max() + 2) for each in (row, column))
    wet = np.broadcast_to(fields.wet_mask(config, rows_read, columns_read) != 0, (len(rows_read), len(columns_read)))
    j, i = row - rows_read[0], column - columns_read[0]
    is_open = wet[j, i] & wet[j + ~flows_in_x, i + flows_in_x]
    lengths = metrics(grid, row)
    face_lengths = np.where(
        flows_in_x, *(np.broadcast_to(at[:, 0], row.shape) for at in (lengths["dy"].u, lengths["dx"].v))
    )
    # Eastward flow crosses a northward path to its right; northward flow crosses an eastward path to its left.
    faces = (
        flows_in_x.astype(int),
        row % grid.ny,
        column % grid.nx,
        np.where(flows_in_x, d_row, -d_column) * face_lengths,
    )
    return SectionFaces(*(each[is_open] for each in faces))


def problems(config: Config) -> Iterator[str]:
    yield from duplicate_names(config.output.sections, "output.sections")
    for line in config.output.sections:
        try:
            cross_section(config, line)
        except UsageError as error:
            yield f"output.sections: {error}"
