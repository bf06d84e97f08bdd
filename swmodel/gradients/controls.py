"""What derivatives are taken with respect to: the initial state, fields of the ocean and its forcing, coefficients."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from ..config import fields
from ..config.build import scheme_of
from ..ocean.grid import Grid, Params
from ..ocean.scheme import Scheme
from ..ocean.state import VARIABLES, State
from ..parallel.transport.halo import surround_far, within


class Control(NamedTuple):
    """A quantity that a trajectory depends on.

    Attributes:
        location: of a field on the C-grid (centre, u, v); "" for a number.
        units: of it.
        terms: what must be switched on in the Scheme for the trajectory to depend on it.
    """

    location: str
    units: str
    terms: tuple[str, ...] = ()


def _field(name: str, *terms: str) -> Control:
    return Control(VARIABLES[name].location, VARIABLES[name].units, terms)


CONTROLS = {
    "eta": _field("eta"),
    "u": _field("u"),
    "v": _field("v"),
    "depth": _field("depth"),
    "wind_x": _field("wind_x", "wind"),
    "wind_y": _field("wind_y", "wind"),
    "linear_drag": _field("linear_drag", "linear_drag"),
    "quadratic_drag": Control("", "1", ("quadratic_drag",)),
    "viscosity": Control("", "m2 s-1", ("viscosity",)),
    "biharmonic_viscosity": Control("", "m4 s-1", ("biharmonic_viscosity",)),
    "gravity": Control("", "m s-2"),
}


def scheme_for(names) -> Callable[[Any], Scheme]:
    """The scheme of a configuration with every term that the controls act through, zero as it may be."""
    return lambda config: dataclasses.replace(
        scheme_of(config), **{term: True for name in names for term in CONTROLS[name].terms}
    )


def first_guess(config, names, block) -> dict:
    """The controls as the configuration has them, by name: a field [ny, nx] of the block, or a number."""
    dtype = np.dtype(config.run.dtype)
    rows, columns = np.arange(block.y.start, block.y.stop), np.arange(block.x.start, block.x.stop)

    def value(name):
        if not CONTROLS[name].location:
            return np.asarray(getattr(config.physics, name), dtype)
        return np.broadcast_to(fields.evaluate(config, name, rows, columns), block.shape).astype(dtype)

    return {name: value(name) for name in names}


def place(controls: dict, state: State, grid: Grid, params: Params, width: int, transport) -> tuple[State, dict]:
    """The initial state, and the static fields that depend on the controls, by name.

        h = depth + eta on water, u and v on open faces; zero velocity on closed ones

    Args:
        controls: by name: a field [ny, nx] of this block, or a number; for a field, the same one everywhere.
        state: initial State of the block where the controls say nothing.
        grid, params: where they say nothing, with a margin of width + 1 cells.

    Returns:
        State [ny, nx]; {name: field [ny + 2 width + 2, nx + 2 width + 2] or [1, 1]} of Grid and Params.
    """
    margin, shape, extent = width + 1, state.h.shape, transport.extent()
    inner = slice(margin, -margin)

    def block(field):
        rows, columns = (inner if length > 1 else slice(None) for length in field.shape)
        return jnp.broadcast_to(field[rows, columns], shape)

    active = {}
    for name in [name for name in controls if name not in ("eta", "u", "v")]:
        value = controls[name]
        number = value.ndim == 0
        active[name] = jnp.reshape(value, (1, 1)) if number else surround_far(value, margin, transport.shift, extent)
    h, u, v = state
    if "eta" in controls or "depth" in controls:
        eta = controls.get("eta", h - block(grid.depth))
        h = block(active.get("depth", grid.depth)) + block(grid.wet) * eta
    u, v = controls.get("u", u), controls.get("v", v)
    return State(*(within(x, extent) for x in (h, block(grid.open_u) * u, block(grid.open_v) * v))), active


def replace(grid: Grid, params: Params, active: dict) -> tuple[Grid, Params]:
    """Grid and Params with the active fields in place of their own."""
    ours = {name: field for name, field in active.items() if name in Grid._fields}
    return grid._replace(**ours), params._replace(**{name: active[name] for name in active.keys() - ours.keys()})
