"""The state of a block with its halo, and derived fields of it, in jitted programs."""

from __future__ import annotations

from ...ocean.elliptic import Equation
from ...ocean.evaluation import derive, flow_through, seen
from ...ocean.grid import Grid, as_patches
from ...ocean.patch import Patch
from ...ocean.state import State
from ...parallel.transport.halo import make_pad

#: Derived fields of single points, which need no halo; with open sides velocities depend on what is beside them.
OF_POINTS, VELOCITIES = ("h", "eta", "sea_level"), ("u", "v")


def make_padded(scheme, transport):
    """The function (State, Grid, Params, step) -> State with a halo, and Grid, in Patches; of one block.

    Faces of open sides are open, and the state has the current through them; Params and step matter for these only.
    """
    width, margin, with_halo = scheme.width, scheme.margin, make_pad(scheme.width, transport)

    def padded(state: State, grid: Grid, params, step) -> tuple[State, Grid]:
        patches = type(state)._make(Patch(field, (-width, -width)) for field in with_halo(state))
        found = patches, as_patches(grid, margin)
        return seen(flow_through(*found, as_patches(params, margin), scheme, step)) if scheme.with_sides else found

    return padded


def make_fields(names, physics, sea, scheme, transport):
    """The function (State, Grid, Params, step) -> dict of the derived fields called `names`, [y, x] of a block.

    Args:
        physics, sea: sections [physics] and [grid] of the configuration, on which the fields depend.
    """
    padded, shape = make_padded(scheme, transport), transport.shape
    of_points = OF_POINTS if scheme.with_sides else OF_POINTS + VELOCITIES
    near, others = ([name for name in names if (name in of_points) == here] for here in (True, False))

    def invert(location: str, sources: list) -> list:
        return [Equation(location, sea).solved(source, transport) for source in sources]

    def fields(state: State, grid, params, step) -> dict:
        bare = type(state)._make(Patch(field, (0, 0)) for field in state), as_patches(grid, scheme.margin)
        found = derive(near, [(*bare, shape)], physics, invert)[0]
        if others:
            around = [(*padded(state, grid, params, step), shape)]
            found |= derive(others, around, physics, invert)[0]
        return {name: found[name] for name in names}

    return fields


def params_of(simulation) -> dict:
    """The Params of a simulation that these functions need."""
    return simulation.params if simulation.scheme.with_sides else {}
