"""What a configuration becomes in the words of the dynamics: Scheme, Grid, Params and the initial State of a block."""

from __future__ import annotations

import numpy as np

from ..ocean.coordinates import points
from ..ocean.grid import Grid, Params
from ..ocean.masks import masks
from ..ocean.operators import Patch, east, north
from ..ocean.scheme import Scheme
from ..ocean.state import State
from . import fields


def scheme_of(config) -> Scheme:
    """Which terms the configuration switches on."""
    physics = config.physics
    return Scheme(
        vorticity_flux=config.scheme.vorticity_flux,
        viscosity=physics.viscosity > 0,
        biharmonic_viscosity=physics.biharmonic_viscosity > 0,
        linear_drag=physics.linear_drag > 0 or fields.given(config, "linear_drag"),
        quadratic_drag=physics.quadratic_drag > 0,
        wind=fields.given(config, "wind_x") or fields.given(config, "wind_y"),
        sponge=config.sponge.rate > 0 and config.sponge.width > 0,
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
