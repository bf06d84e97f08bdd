"""Depth and coast of a grid from a relief of the Earth; the package contains a relief with a spacing of half a degree.

`source` reads a relief file, `mosaic` joins several reliefs, and `average` averages them over cells. `straits` connects
and separates seas as in the relief, `coast` closes cut-off seas and bays, `crests` keeps dikes and ridges, and
`grid_file` writes the file for `grid.file`. `make` calls them all, and warns if height and depth seem exchanged.
"""

from .make import GridRequest, make_grid
from .source import PACKAGE_RELIEF, ReliefError

__all__ = ["PACKAGE_RELIEF", "ReliefError", "GridRequest", "make_grid"]
