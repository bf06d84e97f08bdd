"""Fields that follow from the land-sea mask: open faces, and boundary conditions at corners."""

from __future__ import annotations

import numpy as np

from .operators import mx_f, my_f
from .patch import Patch, east, north


def grid_masks(
    wet: Patch,
    slip: str,
    boundary_cells: tuple[Patch, Patch] | None = None,
    barriers: tuple[Patch, Patch] | None = None,
) -> dict[str, np.ndarray]:
    """The fields of a Grid that follow from the land-sea mask, by name; faces and corners cover one cell less.

    Args:
        wet: at centres, 1 on water; 0 on land, on boundary cells and beyond walls.
        slip: "free" or "no". Boundary cells always have free slip.
        boundary_cells: 1 on the water outside open boundaries in x, and in y; None: no boundary is open.
        barriers: 1 on u faces, and on v faces, that a barrier closes; None: there are none.
    """
    nowhere = Patch(np.zeros((1, 1)), (0, 0))
    boundary_x, boundary_y = boundary_cells or (nowhere, nowhere)
    barrier_u, barrier_v = barriers or (nowhere, nowhere)
    wet_cells = 4 * wet_fractions(wet)["corner"].values
    interior = (wet_cells == 4).astype(float)
    away_from_boundary = wet_fractions(boundary_x + boundary_y)["corner"].values == 0
    return {
        "wet": wet.values,
        "open_u": (wet * east(wet) * (1 - barrier_u)).values,
        "open_v": (wet * north(wet) * (1 - barrier_v)).values,
        "open_boundary_u": (wet * east(boundary_x) + boundary_x * east(wet)).values,
        "open_boundary_v": (wet * north(boundary_y) + boundary_y * north(wet)).values,
        "slip": interior + {"free": 0.0, "no": 2.0}[slip] * (1 - interior) * away_from_boundary,
        "corner_weight": np.divide(4.0, wet_cells, out=np.zeros_like(wet_cells), where=wet_cells > 0),
        "dry_corner": (wet_cells == 0).astype(float),
    }


def wet_fractions(wet: Patch) -> dict[str, Patch]:
    """For each location, the fraction of the cells around a point that are water."""
    return {"centre": wet, "u": mx_f(wet), "v": my_f(wet), "corner": my_f(mx_f(wet))}
