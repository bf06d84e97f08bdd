"""Relaxation along the sides to rest, or to the boundary data of open boundaries.

dh/dt = - s (h - H - eta_ext), du/dt = - s (u - U_ext / h), with the level eta_ext and the transport U_ext of boundary
data, zero without. The rate s falls to zero away from the side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from ..coordinates import distances_from_sides, points
from ..option import Section, option
from ..variable import Variable
from .boundary_data import missing_sides
from .open_boundaries import boundary_data_at
from .term import Term

if TYPE_CHECKING:
    from ...config.options.model import Config

LOCATIONS = {"sponge_c": "centre", "sponge_u": "u", "sponge_v": "v"}


class SpongeOptions(Section):
    """Relaxation along the sides of the domain to rest, or to the boundary data of [open_boundaries]."""

    rate: float = option(0.0, "s-1", "relaxation rate at the side; 0 switches the sponge off", ge=0)
    width: float = option(0.0, "m", "distance over which the rate falls to zero, as a parabola", ge=0)
    sides: tuple[Literal["west", "east", "south", "north"], ...] = option(
        ("west", "east", "south", "north"), "", "sides with a sponge"
    )


def is_active(options) -> bool:
    return options.rate > 0 and options.width > 0 and bool(options.sides)


def problems(config: Config):
    """Yield messages about a rate without a width, a width without a rate, and sides of a periodic axis."""
    rate, width = config.sponge.rate, config.sponge.width
    if rate > 0 and width == 0:
        yield f"sponge.width: must be above 0 m for a sponge of rate {rate:g} s-1"
    if width > 0 and rate == 0:
        yield f"sponge.rate: must be above 0 s-1 for a sponge {width:g} m wide"
    if is_active(config.sponge):
        yield from missing_sides("sponge.sides", config.sponge.sides, config.grid)


def build(config: Config, rows, columns):
    """The relaxation rate s at centres and on faces, s-1; rows and columns count modulo those of the grid."""
    indices = rows % config.grid.ny, columns % config.grid.nx
    return {
        name: relaxation_rates(config, points(config.grid, location, *indices)) for name, location in LOCATIONS.items()
    }


def relaxation_rates(config: Config, at) -> np.ndarray:
    """Sum over the sides of rate (1 - d/width)² within `width` of the side, s-1."""
    sponge, distance = config.sponge, distances_from_sides(config.grid, at)
    return sum(sponge.rate * np.clip(1 - distance[side] / sponge.width, 0, None) ** 2 for side in sponge.sides)


def tendency(flow, params, now):
    """dh/dt = - s (h - H), du/dt = - s u, dv/dt = - s v.

    With open boundaries dh/dt = - s (h - H - eta_ext), du/dt = - s (u - U_ext / h_u). The water that the sponge takes
    or adds has the concentrations of the cell. With drying h changes less where waves break, and not in thin layers.
    """
    level, u, v = flow.h - flow.grid.depth, flow.u, flow.v
    if flow.has_open_boundaries:
        boundary = boundary_data_at(flow, params, now)
        level, u, v = level - boundary.level, u - boundary.transport_x / flow.h_u, v - boundary.transport_y / flow.h_v
    outflow = params["sponge_c"] * ((1 - flow.breaking_fraction) * level)
    carried = {name: -(outflow * (getattr(flow.state, name) / flow.h)) for name in flow.content_names}
    return {"h": -outflow, "u": -(params["sponge_u"] * u), "v": -(params["sponge_v"] * v)} | carried


def rate(values, dx, dy):
    """The largest s of a cell and its faces, s-1."""
    centre, u, v = (values[name] for name in LOCATIONS)
    xp = centre.__array_namespace__()
    return xp.maximum(centre, xp.maximum(u, v))


FIELDS = tuple(
    Variable(name, location, "s-1", "", "rate of relaxation", dimension=(0, 0, -1, 0))
    for name, location in LOCATIONS.items()
)
SPONGE = Term(
    "sponge",
    tendency,
    options=SpongeOptions,
    is_active=is_active,
    problems=problems,
    fields=FIELDS,
    build=build,
    rate=rate,
)
