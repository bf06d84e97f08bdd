"""Depth and coast of a grid on the sphere from a relief of the Earth; the package ships one of half a degree.

`source` finds height and coast in a file, `mosaic` joins several reliefs, and `average` averages them over cells.
`straits` connects and separates seas as in the relief, `coast` closes cut-off seas and bays, `crests` keeps dikes, and
`grid_file` writes the file for `grid.file`. `make` calls them all, and compares the sign with that of the package's
relief.
"""

from .make import GridRequest, make_grid
from .source import PACKAGE_RELIEF, ReliefError

__all__ = ["PACKAGE_RELIEF", "ReliefError", "GridRequest", "make_grid"]
