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
    """The fields of a Grid that follow from the land-sea mask, by name.

    Arrays at locations that are staggered along an axis are one cell shorter along it.

    Args:
        wet: at centres, 1 on water; 0 on land, on boundary cells and beyond walls.
        slip: "free" or "no". Corners beside boundary cells always have free slip.
        boundary_cells: (x, y), 1 on the water beyond open boundaries in that direction; None: no boundary is open.
        barriers: (u, v), 1 on faces that a barrier closes; None: there are none.
    """
    no_cells = Patch(np.zeros((1, 1)), (0, 0))
    boundary_x, boundary_y = boundary_cells or (no_cells, no_cells)
    barrier_u, barrier_v = barriers or (no_cells, no_cells)
    n_wet_cells = 4 * fractions_around(wet)["corner"].values
    interior = (n_wet_cells == 4).astype(float)
    away_from_boundary = fractions_around(boundary_x + boundary_y)["corner"].values == 0
    return {
        "wet": wet.values,
        "open_u": (wet * east(wet) * (1 - barrier_u)).values,
        "open_v": (wet * north(wet) * (1 - barrier_v)).values,
        "open_boundary_u": (wet * east(boundary_x) + boundary_x * east(wet)).values,
        "open_boundary_v": (wet * north(boundary_y) + boundary_y * north(wet)).values,
        "slip": interior + {"free": 0.0, "no": 2.0}[slip] * (1 - interior) * away_from_boundary,
        "corner_weight": np.divide(4.0, n_wet_cells, out=np.zeros_like(n_wet_cells), where=n_wet_cells > 0),
        "dry_corner": (n_wet_cells == 0).astype(float),
    }


def fractions_around(mask: Patch) -> dict[str, Patch]:
    """For each location, the fraction of the cells around a point (1, 2 or 4) in which the mask is 1."""
    return {"centre": mask, "u": mx_f(mask), "v": my_f(mask), "corner": my_f(mx_f(mask))}
