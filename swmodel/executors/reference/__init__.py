"""The model in plain NumPy, for the whole domain in one process: tests compare every other executor with it.

It implements docs/numerics.md and shares no numerical code with the other executors. These mask the faces of a wall,
whereas the reference adds a row or column of land beyond it, so that every domain is doubly periodic, with coasts.
"""

from .model import ReferenceModel

__all__ = ["ReferenceModel"]
