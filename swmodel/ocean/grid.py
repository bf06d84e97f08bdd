"""The static fields of a block: metrics, Coriolis parameter, depth, masks with boundary conditions, coefficients."""

from __future__ import annotations

from typing import Any, NamedTuple

from .operators import Patch


class Grid(NamedTuple):
    """Static fields on a block with `width + 1` rows of neighbours, [y, x]; an axis of length one broadcasts.

    A field that the scheme does not use is None.
    """

    rdx: Any  # 1/dx, m-1 (multiplying is faster than dividing)
    rdy: Any  # 1/dy, m-1
    f: Any  # s-1, corners
    depth: Any  # m, centres
    wet: Any  # centres: 1 water, 0 land and beyond walls
    open_u: Any  # east faces: 1 between two wet cells, else 0
    open_v: Any  # north faces
    slip: Any  # corners: 1 interior; boundary 0 (free slip) or 2 (no slip)
    share: Any  # corners: 4 / (number of wet cells), 0 where there is none
    dry: Any  # corners: 1 where no cell is wet, else 0
    sponge_c: Any  # s-1, centres
    sponge_u: Any  # s-1, east faces
    sponge_v: Any  # s-1, north faces


class Params(NamedTuple):
    """Coefficients, as scalars [1, 1] or as fields of centres [y, x] like those of the Grid; SI units."""

    gravity: Any  # m s-2
    density: Any  # kg m-3
    viscosity: Any  # m2 s-1
    biharmonic_viscosity: Any  # m4 s-1
    linear_drag: Any  # s-1
    quadratic_drag: Any  # 1
    wind_x: Any  # Pa
    wind_y: Any  # Pa


def as_patches(fields: NamedTuple, width: int) -> NamedTuple:
    """Grid or Params with each field as a Patch that starts `width + 1` cells outside the block."""
    start = (-width - 1, -width - 1)
    return fields._replace(
        **{
            name: Patch(value, start)
            for name, value in fields._asdict().items()
            if value is not None and name not in ("rdx", "rdy")
        }
    )
