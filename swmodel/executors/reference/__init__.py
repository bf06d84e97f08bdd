"""The model in plain NumPy, for the whole domain in one process: the judge of every other executor.

It is written only from docs/numerics.md, and shares no numerical code with the model that it judges. The model masks
the faces of a wall; the reference puts a row or column of land beyond it, so that every domain is a doubly periodic
ring with coasts.
"""

from .model import Reference

__all__ = ["Reference"]
