"""Whether a relief may have been taken with the wrong sign: its sea is compared with that of the package's relief."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import numpy as np

from ...ocean.coordinates import points
from .average import at_places
from .source import Relief, open_relief

#: Along each axis no more places than these are compared.
MOST = 100


def doubts(relief: Relief, grid, sea: np.ndarray) -> Iterator[str]:
    """A line where sea and land [ny, nx] are more often those of the package exchanged than as they are there.

    Nothing is said of a relief that tells its sea by a share, where the sign of heights does not decide.
    """
    if relief.share is not None:
        return
    rows, columns = (np.arange(0, cells, -(-cells // MOST)) for cells in (grid.ny, grid.nx))
    lon, lat = np.broadcast_arrays(*points(grid, "centre", rows, columns).degrees)
    with ExitStack() as stack:
        _, share = at_places(open_relief(None, stack), lon, lat)
    other = np.mean((share >= 0.5) != sea[np.ix_(rows, columns)])
    if other > 0.5:
        yield (
            f"{100 * other:.0f} % of the region is sea where the relief of the package has land, or land where that "
            f"has sea, by {relief.path}{relief.taken_for()}"
        )
