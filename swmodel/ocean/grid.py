"""The static fields of a block: metrics, Coriolis parameter, depth, masks and the boundary conditions they carry."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..config import fields
from .coordinates import points
from .grid import Params
from .operators import Patch, east, mx_f, my_f, north
from ..config.build import scheme_of
from .state import State


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


def build_grid(config, block, dtype, margin: int | None = None) -> Grid:
    """The static fields of `block` with `margin` (width + 1) cells around it, as NumPy arrays of `dtype`."""
    grid, scheme = config.grid, scheme_of(config)
    margin = scheme.width + 1 if margin is None else margin
    rows = np.arange(block.y.start - margin, block.y.stop + margin)
    columns = np.arange(block.x.start - margin, block.x.stop + margin)
    # One cell more than asked for on the north and east, so that faces and corners reach as far as centres.
    wet = Patch(fields.wet(config, [*rows, rows[-1] + 1], [*columns, columns[-1] + 1]), (0, 0))
    corner = points(grid, "corner", rows, columns)
    # Across a ring the sponge is that of the other side; f is not, for the corners along a wall, a cell beyond it.
    ring = rows % grid.ny, columns % grid.nx
    sponge = {name: sponge_rate(config, points(grid, where, *ring)) for name, where in SPONGE_LOCATIONS.items()}
    static = Grid(
        rdx=np.asarray(1 / grid.dx),
        rdy=np.asarray(1 / grid.dy),
        f=config.physics.f0 + config.physics.beta * corner.y,
        depth=fields.evaluate(config, "depth", rows, columns),
        **{name: trim(mask, rows, columns) for name, mask in masks(wet, config.physics.slip).items()},
        **{name: rate if scheme.sponge else None for name, rate in sponge.items()},
    )
    return Grid(*(None if field is None else field.astype(dtype) for field in static))


def masks(wet: Patch, slip: str) -> dict[str, np.ndarray]:
    """The fields of a Grid that follow from where water is, by name; faces and corners reach a cell less far.

    Args:
        wet: 1 on water, 0 on land and beyond walls, at centres.
        slip: "free" or "no".
    """
    wet_cells = 4 * water_around(wet)["corner"].values
    interior = (wet_cells == 4).astype(float)
    return {
        "wet": wet.values,
        "open_u": (wet * east(wet)).values,
        "open_v": (wet * north(wet)).values,
        "slip": interior + {"free": 0.0, "no": 2.0}[slip] * (1 - interior),
        "share": np.divide(4.0, wet_cells, out=np.zeros_like(wet_cells), where=wet_cells > 0),
        "dry": (wet_cells == 0).astype(float),
    }


def water_around(wet: Patch) -> dict[str, Patch]:
    """The part of the cells around the points of each location that are water; 0 is land."""
    return {"centre": wet, "u": mx_f(wet), "v": my_f(wet), "corner": my_f(mx_f(wet))}


SPONGE_LOCATIONS = {"sponge_c": "centre", "sponge_u": "u", "sponge_v": "v"}


def trim(values, rows, columns):
    """The values in the given rows and columns, without what lies beyond them; axes of length one stay."""
    return values[: len(rows), : len(columns)]


def sponge_rate(config, at) -> np.ndarray:
    """Sum over the sides of rate (1 - d/width)² within `width` of the side, s-1."""
    sponge = config.sponge
    if not sponge.rate or not sponge.width:
        return np.zeros((1, 1))
    west, south = at.origin[0] - config.grid.dx / 2, at.origin[1] - config.grid.dy / 2
    distance = {
        "west": at.x - west,
        "east": west + at.length_x - at.x,
        "south": at.y - south,
        "north": south + at.length_y - at.y,
    }
    return sum(sponge.rate * np.clip(1 - distance[side] / sponge.width, 0, None) ** 2 for side in sponge.sides)


def build_params(config, block, dtype, margin: int | None = None) -> Params:
    """The coefficients of `block` with `margin` (width + 1) cells around it, as NumPy arrays of `dtype`."""
    physics, scheme = config.physics, scheme_of(config)
    margin = scheme.width + 1 if margin is None else margin
    rows = np.arange(block.y.start - margin, block.y.stop + margin)
    columns = np.arange(block.x.start - margin, block.x.stop + margin)
    values = Params(
        gravity=physics.gravity,
        density=physics.density,
        viscosity=physics.viscosity,
        biharmonic_viscosity=physics.biharmonic_viscosity,
        quadratic_drag=physics.quadratic_drag,
        linear_drag=fields.evaluate(config, "linear_drag", rows, columns),
        wind_x=fields.evaluate(config, "wind_x", rows, columns),
        wind_y=fields.evaluate(config, "wind_y", rows, columns),
    )
    return Params(*(np.broadcast_to(value, np.shape(value) or (1, 1)).astype(dtype) for value in values))


def build_state(config, block, dtype) -> State:
    """The initial state of `block`, interior only: zero velocity on closed faces, h = depth on land."""
    rows, columns = np.arange(block.y.start, block.y.stop), np.arange(block.x.start, block.x.stop)
    wet = Patch(fields.wet(config, np.append(rows, rows[-1] + 1), np.append(columns, columns[-1] + 1)), (0, 0))
    values = {name: fields.evaluate(config, name, rows, columns) for name in ("depth", "eta", "u", "v")}
    h = values["depth"] + np.where(trim(wet.values, rows, columns) > 0, values["eta"], 0.0)
    u = np.where(trim((wet * east(wet)).values, rows, columns) > 0, values["u"], 0.0)
    v = np.where(trim((wet * north(wet)).values, rows, columns) > 0, values["v"], 0.0)
    return State(*(np.ascontiguousarray(np.broadcast_to(field, block.shape).astype(dtype)) for field in (h, u, v)))
