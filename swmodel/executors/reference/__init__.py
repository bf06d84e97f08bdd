"""The model in plain NumPy, for the whole domain in one process: tests compare every other executor with it.

It implements docs/numerics.md and shares no numerical code with the other executors. The others mask the faces of a
wall, whereas the reference adds a row or column of land beyond the wall, so that every domain is doubly periodic.
"""

from .model import ReferenceModel

__all__ = ["ReferenceModel"]
