"""The static fields of a block: lengths and areas, Coriolis parameter, depth, masks with boundary conditions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .patch import Patch


class Places(NamedTuple):
    """A quantity at the four locations of the C-grid, each [1, 1], or a number a row [y, 1]."""

    centre: Any
    u: Any
    v: Any
    corner: Any


class Grid(NamedTuple):
    """Static fields on a block with `width + 1` rows of neighbours, [y, x]; an axis of length one broadcasts."""

    dx: Places  # m, distance in x between the neighbours of a point: length of a north face, of a cell, ...
    dy: Places  # m, the same in y
    area: Places  # m2, of the cell around a point
    rdx: Places  # 1/dx, m-1 (multiplying is faster than dividing)
    rdy: Places  # 1/dy, m-1
    rarea: Places  # 1/area, m-2
    f: Any  # s-1, corners
    depth: Any  # m, centres
    wet: Any  # centres: 1 water, 0 land and beyond walls
    open_u: Any  # east faces: 1 between two wet cells, else 0
    open_v: Any  # north faces
    slip: Any  # corners: 1 interior; boundary 0 (free slip) or 2 (no slip)
    share: Any  # corners: 4 / (number of wet cells), 0 where there is none
    dry: Any  # corners: 1 where no cell is wet, else 0


def plane(dx: float, dy: float) -> dict[str, Places]:
    """Lengths and areas of a uniform grid on a plane, [1, 1], by the names that they have in a Grid."""
    lengths = {"dx": dx, "dy": dy, "area": dx * dy, "rdx": 1 / dx, "rdy": 1 / dy, "rarea": 1 / (dx * dy)}
    return {name: Places(*[np.full((1, 1), value)] * 4) for name, value in lengths.items()}


def as_patches(fields, width: int):
    """Grid or Params with each field as a Patch that starts `width + 1` cells outside the block; vectors stay."""
    if isinstance(fields, dict):
        return {name: as_patches(field, width) for name, field in fields.items()}
    if isinstance(fields, tuple):
        return fields._make(as_patches(field, width) for field in fields)
    return fields if len(fields.shape) == 1 else Patch(fields, (-width - 1, -width - 1))
