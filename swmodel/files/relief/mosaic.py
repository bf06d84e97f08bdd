"""Several reliefs as one: where the first has no value, the next ones are taken, in their order."""

from __future__ import annotations

import numpy as np

from ...ocean.coordinates import FULL_CIRCLE_DEGREES
from .average import full_circles_to, interpolate, raise_not_covered
from .source import Relief, ReliefAxis


class ReliefMosaic:
    """Reliefs, the finest ones first, on the points of the finest one, which are continued over the last one.

    Values of the other reliefs are interpolated bilinearly to these points. It serves as a `source.Relief`.

    Attributes:
        path, origin: of all reliefs.
        x, y: the positions along both axes.
        fraction_variable: the variable with the share of sea or land of the last relief, or None.
    """

    def __init__(self, reliefs: list[Relief]):
        *finer, self.last = reliefs
        self.reliefs = [*(relief._replace(may_lack_values=True) for relief in finer), self.last]
        self.path = ", ".join(relief.path for relief in reliefs)
        self.origin = ", ".join(filter(None, (relief.origin for relief in reliefs)))
        self.fraction_variable = self.last.fraction_variable
        finest = min(reliefs, key=lambda relief: relief.y.max_spacing)
        self.x, self.y = (
            continue_axis(fine, wide) for fine, wide in ((finest.x, self.last.x), (finest.y, self.last.y))
        )

    def sign_remedy(self) -> str:
        """See `Relief.sign_remedy`."""
        return self.last.sign_remedy()

    def window(self, rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See `Relief.window`."""
        lat, lon = self.y.points[rows], self.x.points[columns]
        fields = np.full((3, len(rows), len(columns)), np.nan)
        for relief in self.reliefs:
            is_missing = np.isnan(fields[0])
            j = np.flatnonzero(is_missing.any(axis=1) & covers(relief, "lat", lat))
            i = np.flatnonzero(is_missing.any(axis=0) & covers(relief, "lon", lon))
            if not (j.size and i.size):
                continue
            part = np.stack(interpolate(relief, *np.broadcast_arrays(lon[i], lat[j, None])))
            cells = np.ix_(range(3), j, i)
            fields[cells] = np.where(np.isnan(fields[cells]), part, fields[cells])
        for row, column in np.argwhere(np.isnan(fields[0]))[:1]:
            if covers(self.last, "lat", lat[row]):
                raise_not_covered(self.last, "lon", lon[column])
            raise_not_covered(self.last, "lat", lat[row])
        return tuple(fields)

    def is_sea(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """See `Relief.is_sea`."""
        return self.window(rows, columns)[1] >= 0.5


def continue_axis(fine: ReliefAxis, wide: ReliefAxis) -> ReliefAxis:
    """The points of `fine`, continued evenly from end to end of `wide`."""
    spacing = float(np.diff(fine.points).mean())
    if wide.is_full_circle:
        count = round(FULL_CIRCLE_DEGREES / spacing)
        return ReliefAxis(fine.points[0] + np.arange(count) * (FULL_CIRCLE_DEGREES / count), np.arange(count), True)
    start = fine.points[0] + FULL_CIRCLE_DEGREES * np.rint(
        (wide.points.mean() - fine.points.mean()) / FULL_CIRCLE_DEGREES
    )
    first, last = (round((end - start) / spacing) for end in wide.points[[0, -1]])
    return ReliefAxis(start + np.arange(first, last + 1) * spacing, np.arange(last + 1 - first))


def covers(relief: Relief, name: str, positions) -> np.ndarray:
    """Whether "lon" or "lat", degrees, lie within the edges of a relief; longitudes may differ by whole circles."""
    axis = relief.x if name == "lon" else relief.y
    if name == "lon":
        positions = positions - full_circles_to(positions, axis)
    return axis.is_full_circle | (positions >= axis.edges[0]) & (positions <= axis.edges[-1])
