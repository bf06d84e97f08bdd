"""Derived fields: what is computed from the state at each point."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from ..errors import UsageError
from .dynamics import potential_vorticity, relative_vorticity
from .face_thickness import centred
from .instant import Instant
from .operators import curl, divergence, mx_c, my_c
from .patch import Patch
from .records import present
from .state import State
from .terms.tracer import concentration_of


def elevation(state: State, grid, physics) -> Patch:
    """eta = h - H at centres, m: sea level, or with reduced gravity the displacement of the interface."""
    return state.h - grid.depth


def sea_level(state: State, grid, physics) -> Patch:
    """eta, m; with reduced gravity eta g'/g: in the resting deep layer, sea level balances the interface."""
    eta = elevation(state, grid, physics)
    return (physics.gravity / physics.full_gravity) * eta if physics.reduced_gravity else eta


def vorticity(state: State, grid, physics) -> Patch:
    """zeta = s (d_x v - d_y u) at corners, s-1."""
    return relative_vorticity(grid.open_u * state.u, grid.open_v * state.v, grid)


def potential_vorticity_of_layer(state: State, grid, physics) -> Patch:
    """q = (f + zeta) / h_q at corners, m-1 s-1."""
    return potential_vorticity(state.h, grid.open_u * state.u, grid.open_v * state.v, grid)


def speed(state: State, grid, physics) -> Patch:
    """sqrt((u²)^x + (v²)^y) at centres, m s-1.

    Its bits must be the same on any layout. Compilers fuse one of two products with their sum, and not always the same
    one. So squares times areas pass through a maximum, which rounds them before they are added.
    """
    faces = (grid.area.u, grid.open_u * state.u), (grid.area.v, grid.open_v * state.v)
    through_x, through_y = (np.maximum(area * velocity * velocity, 0.0) for area, velocity in faces)
    return np.sqrt(grid.rarea.centre * (mx_c(through_x) + my_c(through_y)))


def transport_x(state: State, grid, physics) -> Patch:
    """h^x u on u faces, m2 s-1."""
    return centred(state.h)[0] * (grid.open_u * state.u)


def transport_y(state: State, grid, physics) -> Patch:
    """h^y v on v faces, m2 s-1."""
    return centred(state.h)[1] * (grid.open_v * state.v)


def rotation(state: State, grid, physics) -> Patch:
    """d_x v - d_y u at corners, s-1, without the boundary condition on walls."""
    return curl(grid.open_u * state.u, grid.open_v * state.v, grid)


def outflow(state: State, grid, physics) -> Patch:
    """d_x u + d_y v at centres, s-1."""
    return divergence(grid.dy.u * (grid.open_u * state.u), grid.dx.v * (grid.open_v * state.v), grid)


class Inverse(NamedTuple):
    """A field whose Laplacian is the source, in seas without land; it depends on the source in the whole sea."""

    source: Callable
    location: str


#: Functions of a padded State and a Grid, of Patches of NumPy or JAX, and `config.physics`, to a field's Patch; or the
#: Inverse of one. `derive` evaluates them.
DERIVED = {
    "h": lambda state, grid, physics: state.h,
    "u": lambda state, grid, physics: state.u,
    "v": lambda state, grid, physics: state.v,
    "eta": elevation,
    "sea_level": sea_level,
    "zeta": vorticity,
    "q": potential_vorticity_of_layer,
    "speed": speed,
    "transport_x": transport_x,
    "transport_y": transport_y,
    "streamfunction": Inverse(rotation, "corner"),
    "velocity_potential": Inverse(outflow, "centre"),
}


def derive(names, blocks, physics, invert) -> list[dict]:
    """The fields of DERIVED, or the tracers, called `names` on each block, arrays of its shape.

    Args:
        blocks: (State of Patches with a halo, Grid of Patches, shape) of each block, NumPy or JAX.
        invert: function of a location and the sources on each block to the fields whose Laplacian these are.
    """
    found = [{} for _ in blocks]
    for name in names:
        made = DERIVED.get(name) or partial(concentration_of, name)
        inverse = isinstance(made, Inverse)
        source = made.source if inverse else made
        values = [source(state, grid, physics).on(shape) for state, grid, shape in blocks]
        for fields, field in zip(found, invert(made.location, values) if inverse else values, strict=True):
            fields[name] = field
    return found


def derived(scheme) -> list[str]:
    """The names of the derived fields of a run with this Scheme."""
    return [*DERIVED, *(term.name for term in scheme.tracers)]


def forces(names, params, scheme, step: int, shape) -> dict[str, np.ndarray]:
    """The fields of FORCING called `names` after a number of steps, as used in the equations, on a block of this shape.

    Args:
        params: coefficients as for `tendency`, NumPy arrays.
    """
    dtype = params["density"].values.dtype
    now = present(params, Instant(np.full((1, 1), step, np.int32)), scheme.varying, dtype)
    return {name: np.broadcast_to(now[name].on(shape), shape) for name in names}


def known(names, scheme, more=()) -> list[str]:
    """The list of names, which may be a single name, if they are fields of a run with this Scheme.

    Args:
        more: further names that are known.

    Raises:
        UsageError: there are no such fields.
    """
    names = [names] if isinstance(names, str) else [str(name) for name in names]
    there = [*derived(scheme), *more]
    if unknown := [name for name in names if name not in there]:
        raise UsageError(f"no field {', '.join(unknown)}; there are {', '.join(there)}")
    return names
