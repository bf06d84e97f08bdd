"""Several reliefs as one: at each point, the first relief that has a value there counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...ocean.coordinates import FULL_CIRCLE_DEGREES, Frame, are_same_frames, edges, frame_of, from_frame, to_frame
from .average import at_nearest_points, full_circles_to, interpolate
from .source import Relief, ReliefAxis, ReliefError

#: Metres per degree of latitude, approximately, to compare the spacings of reliefs.
METRES_PER_DEGREE = 111e3

#: To find the extent of a grid in the frame of the finest relief, this number of points per side is transformed; the
#: margin, a fraction of the extent, is added on each side.
EXTENT_POINTS_PER_SIDE, EXTENT_MARGIN_FRACTION = 33, 0.02


class ReliefMosaic:
    """Reliefs in the order of precedence, interpolated bilinearly to one set of points, for use as a `source.Relief`.

    The points are those of the finest relief. They continue, with even spacing, over all reliefs in its frame and, if a
    relief is in another frame, over the `grid`.

    Attributes:
        path, origin: paths and origins of all reliefs, separated by commas.
        x, y: the positions of the points along both axes.
        crs, frame: coordinate reference system and frame of the finest relief.
        fraction_variable: the variable with the sea or land fraction of the last relief, or None.
        grid: the section [grid] of the configuration.
    """

    def __init__(self, reliefs: list[Relief], grid):
        *finer, self.last = reliefs
        self.reliefs = [*(replace(relief, may_lack_values=True) for relief in finer), self.last]
        self.path = ", ".join(relief.path for relief in reliefs)
        self.origin = ", ".join(filter(None, (relief.origin for relief in reliefs)))
        self.fraction_variable, self.grid = self.last.fraction_variable, grid
        finest = min(reliefs, key=spacing_in_metres)
        self.crs, self.frame = finest.crs, finest.frame
        axes_of_reliefs = [(relief.x, relief.y) for relief in reliefs if are_same_frames(finest.frame, relief.frame)]
        if len(axes_of_reliefs) < len(reliefs):
            axes_of_reliefs.append(extents_in_frame(finest.frame, grid))
        self.x, self.y = map(continue_axis, (finest.x, finest.y), zip(*axes_of_reliefs, strict=True))

    def sign_remedy(self) -> str:
        """See `Relief.sign_remedy`."""
        return self.last.sign_remedy()

    def window(self, rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See `Relief.window`."""
        return tuple(self.join(rows, columns)[0])

    def join(self, rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The fields of `window`, [3, rows, columns], and whether the values of each point are from the last relief.

        ReliefError: no relief has a value at one of the points.
        """
        y, x = self.y.points[rows], self.x.points[columns]
        fields = np.full((3, len(rows), len(columns)), np.nan)
        for relief in self.reliefs:
            is_missing = np.isnan(fields[0])
            if not are_same_frames(self.frame, relief.frame):
                is_covered = self.covers_positions(relief, x, y[:, None])
                if relief is self.last:
                    is_covered |= self.is_beyond_grid(x, y[:, None])  # values outside the grid are not used
                is_missing = is_missing & is_covered
                if is_missing.any():
                    positions = (coordinate[is_missing] for coordinate in self.positions_in(relief, x, y[:, None]))
                    fields[:, is_missing] = interpolate(relief, *move_to_edges(relief, *positions))
                continue
            j = np.flatnonzero(is_missing.any(axis=1) & covers(relief, "y", y))
            i = np.flatnonzero(is_missing.any(axis=0) & covers(relief, "x", x))
            if not (j.size and i.size):
                continue
            part = np.stack(interpolate(relief, *np.broadcast_arrays(x[i], y[j, None])))
            index = np.ix_(np.arange(3), j, i)
            fields[index] = np.where(np.isnan(fields[index]), part, fields[index])
        for row, column in np.argwhere(np.isnan(fields[0]))[:1]:
            place = f"{self.x.name} = {x[column]:.10g}, {self.y.name} = {y[row]:.10g} {self.x.unit}"
            remedy = "give another relief that does, with --relief FILE, after these"
            raise ReliefError(f"{self.path} do not cover the region, which needs {place}; {remedy}")
        return fields, is_missing

    def positions_in(self, relief: Relief, x, y) -> tuple[np.ndarray, np.ndarray]:
        """Positions x and y in the frame of `relief`."""
        if not are_same_frames(self.frame, relief.frame):
            x, y = to_frame(relief.frame, *from_frame(self.frame, x, y))
        x, y = np.broadcast_arrays(x, y)
        return x, y

    def covers_positions(self, relief: Relief, x, y) -> np.ndarray:
        """Whether positions x and y lie within the edges of `relief`."""
        x, y = self.positions_in(relief, x, y)
        return covers(relief, "x", x) & covers(relief, "y", y)

    def is_beyond_grid(self, x, y) -> np.ndarray:
        """Whether positions lie outside the grid, as some do if the points fill a rectangle in another frame."""
        x, y = to_frame(frame_of(self.grid), *from_frame(self.frame, *np.broadcast_arrays(x, y)))
        west, east, south, north = edges(self.grid)
        if not self.grid.crs:
            x = x - FULL_CIRCLE_DEGREES * np.floor((x - west) / FULL_CIRCLE_DEGREES)
        return (x < west) | (x > east) | (y < south) | (y > north)

    def is_sea(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """See `Relief.is_sea`; only straits of the last relief count, and only where the others have no value."""
        (_, sea_fraction, _), is_of_last = self.join(rows, columns)
        sea = sea_fraction >= 0.5
        if self.last.strait is not None and is_of_last.any():
            positions = self.positions_in(self.last, self.x.points[columns], self.y.points[rows, None])
            positions_of_last = (coordinate[is_of_last] for coordinate in positions)
            sea[is_of_last] |= at_nearest_points(self.last.is_strait, self.last, *positions_of_last)
        return sea


#: One relief, or several as one.
AnyRelief = Relief | ReliefMosaic


def spacing_in_metres(relief: Relief) -> float:
    """The largest distance, m, between neighbouring points of a relief along y, approximately."""
    return relief.y.max_spacing * (1.0 if relief.crs else METRES_PER_DEGREE)


def extents_in_frame(frame: Frame, grid) -> tuple[ReliefAxis, ReliefAxis]:
    """The extent of a grid along x and y of a frame, with a margin; each ReliefAxis has two points, its ends."""
    west, east, south, north = edges(grid)
    x, y = np.meshgrid(
        np.linspace(west, east, EXTENT_POINTS_PER_SIDE), np.linspace(south, north, EXTENT_POINTS_PER_SIDE)
    )
    ends = []
    for positions in to_frame(frame, *from_frame(frame_of(grid), x, y)):
        low, high = positions.min(), positions.max()
        margin = EXTENT_MARGIN_FRACTION * (high - low)
        ends.append(ReliefAxis(np.array([low - margin, high + margin]), np.arange(2)))
    return ends[0], ends[1]


def continue_axis(fine: ReliefAxis, all_axes: tuple[ReliefAxis, ...]) -> ReliefAxis:
    """The points of `fine`, continued with even spacing from the first to the last point of all axes."""
    spacing, start = float(np.diff(fine.points).mean()), fine.points[0]
    if any(axis.is_full_circle for axis in all_axes):
        n_points = round(FULL_CIRCLE_DEGREES / spacing)
        return ReliefAxis(start + np.arange(n_points) * (FULL_CIRCLE_DEGREES / n_points), np.arange(n_points), True)
    ends = np.array([axis.points[[0, -1]] for axis in all_axes])
    if fine.unit == "degrees":
        turns = (ends.mean(axis=1, keepdims=True) - fine.points.mean()) / FULL_CIRCLE_DEGREES
        ends = ends - FULL_CIRCLE_DEGREES * np.rint(turns)
    first, last = round((ends.min() - start) / spacing), round((ends.max() - start) / spacing)
    return ReliefAxis(start + np.arange(first, last + 1) * spacing, np.arange(last + 1 - first), name=fine.name)


def move_to_edges(relief: Relief, x, y) -> tuple[np.ndarray, np.ndarray]:
    """Positions x and y, moved to the nearest edge of the relief if they lie beyond it."""
    edges_x, edges_y = relief.x.edges, relief.y.edges
    if relief.x.name == "lon":
        x = x - FULL_CIRCLE_DEGREES * np.rint((x - edges_x.mean()) / FULL_CIRCLE_DEGREES)
    if not relief.x.is_full_circle:
        x = np.clip(x, edges_x[0], edges_x[-1])
    return x, np.clip(y, edges_y[0], edges_y[-1])


def covers(relief: Relief, direction: str, positions) -> np.ndarray:
    """Whether positions along "x" or "y" lie within the edges of a relief; longitudes may differ by whole circles."""
    axis = getattr(relief, direction)
    if axis.name == "lon":
        positions = positions - full_circles_to(positions, axis)
    return axis.is_full_circle | (positions >= axis.edges[0]) & (positions <= axis.edges[-1])
