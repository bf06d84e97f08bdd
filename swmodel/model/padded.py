"""The state of a block with its halo, for fields computed in jitted programs."""

from __future__ import annotations

import jax.numpy as jnp

from ..ocean.grid import Grid, as_patches
from ..ocean.inflow import flow_through, seen
from ..ocean.patch import Patch
from ..ocean.state import State
from ..parallel.transport.halo import make_pad


def make_padded(scheme, transport):
    """The function (State, Grid, Params, step) -> State with a halo, and Grid, in Patches; of one block.

    Faces of open sides are open, and the state has the current through them.

    Args:
        scheme: that of the run; Params and step matter only for water that comes in through open sides.
    """
    width, margin, with_halo = scheme.width, scheme.margin, make_pad(scheme.width, transport)

    def padded(state: State, grid: Grid, params, step) -> tuple[State, Grid]:
        patches = type(state)._make(Patch(field, (-width, -width)) for field in with_halo(state))
        found = patches, as_patches(grid, margin)
        return seen(flow_through(*found, as_patches(params, margin), scheme, step)) if scheme.with_sides else found

    return padded


def given_to_fields(run, state: State) -> tuple:
    """The arguments of that function for the present state of a simulation."""
    return state, run.grid, params_of(run), jnp.asarray(run.step, jnp.int32)


def params_of(run) -> dict:
    """The Params of a simulation that it needs."""
    return run.params if run.scheme.with_sides else {}
