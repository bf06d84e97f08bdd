"""Depth and coast of a grid on the sphere from a relief of the Earth; the package ships one of half a degree.

`source.py` finds height and coast in a file, `average.py` takes them to the cells, `doubt.py` compares the sign with
that of the package's relief, `straits.py` connects and parts seas as the relief does, `coast.py` closes cut-off seas
and bays, `make.py` does all of it, `grid_file.py` writes what `[grid] file` reads.
"""

from .make import Wish, make_grid
from .source import SHIPPED, ReliefError

__all__ = ["SHIPPED", "ReliefError", "Wish", "make_grid"]
