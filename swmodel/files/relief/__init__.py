"""Depth and coast of a grid on the sphere from a relief of the Earth; the package ships one of half a degree.

`source.py` finds height and coast in a file, `average.py` takes them to the cells, `straits.py` connects and parts seas
as the relief does, `coast.py` closes cut-off seas and bays, `grid_file.py` writes what `[grid] file` reads, and
`make.py` does all of it, and compares the sign with that of the package's relief.
"""

from .make import Wish, make_grid
from .source import SHIPPED, ReliefError

__all__ = ["SHIPPED", "ReliefError", "Wish", "make_grid"]
