"""The model in plain NumPy, for the whole domain in one process: tests compare every other executor with it.

It implements docs/numerics.md and shares no numerical code with the other executors. These mask the faces of a wall.
The reference has a row or column of land beyond it: every domain is a doubly periodic ring with coasts.
"""

from .model import ReferenceModel

__all__ = ["ReferenceModel"]
