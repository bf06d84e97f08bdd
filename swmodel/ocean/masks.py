"""Fields that follow from the mask of water: open faces, boundary conditions at corners."""

from __future__ import annotations

import numpy as np

from .operators import mx_f, my_f
from .patch import Patch, east, north


def masks(wet: Patch, slip: str, outside: tuple[Patch, Patch] | None = None) -> dict[str, np.ndarray]:
    """The fields of a Grid that follow from the mask of water, by name; faces and corners cover one cell less.

    Args:
        wet: at centres 1 on water; 0 on land, on water outside open sides and beyond walls.
        slip: "free" or "no". Water outside open sides always slips freely.
        outside: 1 on the water outside open sides in x, and in y; None: no side is open.
    """
    wet_cells = 4 * water_around(wet)["corner"].values
    interior = (wet_cells == 4).astype(float)
    outside = outside or (Patch(np.zeros((1, 1)), (0, 0)),) * 2
    coast = water_around(outside[0] + outside[1])["corner"].map(lambda part: part == 0).values
    beyond_x, beyond_y = outside
    return {
        "wet": wet.values,
        "open_u": (wet * east(wet)).values,
        "open_v": (wet * north(wet)).values,
        "side_u": (wet * east(beyond_x) + beyond_x * east(wet)).values,
        "side_v": (wet * north(beyond_y) + beyond_y * north(wet)).values,
        "slip": interior + {"free": 0.0, "no": 2.0}[slip] * (1 - interior) * coast,
        "share": np.divide(4.0, wet_cells, out=np.zeros_like(wet_cells), where=wet_cells > 0),
        "dry": (wet_cells == 0).astype(float),
    }


def water_around(wet: Patch) -> dict[str, Patch]:
    """For each location, the fraction of the cells around a point that are water; 0 is land."""
    return {"centre": wet, "u": mx_f(wet), "v": my_f(wet), "corner": my_f(mx_f(wet))}
