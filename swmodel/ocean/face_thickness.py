"""The thickness of the layer on the faces of the cells, and the mask of open faces.

Each function of FACE_THICKNESS takes h at centres, m, and returns the thickness on u and on v faces, for transports and
stresses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .operators import mx_f, my_f
from .patch import Patch

if TYPE_CHECKING:
    from .grid import Grid


def centred(h: Patch) -> tuple[Patch, Patch]:
    """h^x and h^y: with the fluxes of `vorticity_flux`, pressure and transports exchange energy without loss."""
    return mx_f(h), my_f(h)


FACE_THICKNESS = {"centred": centred}


def open_faces(state: Any, grid: Grid) -> tuple[Patch, Patch]:
    """1 on the u and v faces between two cells that are water in the mask, else 0."""
    return grid.open_u, grid.open_v
