"""The Accumulator and the list of those of a run; the state of a block with its halo, and its derived fields."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

import jax.numpy as jnp
import numpy as np

from ...executors.registry import COMPILED
from ...ocean.elliptic import Equation
from ...ocean.evaluation import derive, flow_through, seen
from ...ocean.grid import Grid, as_patches
from ...ocean.patch import Patch
from ...ocean.state import State
from ...parallel.transport.halo import make_pad
from ...parallel.transport.programs import jitted

#: Derived fields of single points, which need no halo; `with_current` velocities depend on neighbours.
OF_POINTS, VELOCITIES = ("h", "eta", "sea_level", "wet"), ("u", "v")


class Accumulator:
    """A summary of the states of a run, updated after each step within the compiled loop.

    Attributes:
        update: (make, *parts), hashable; make(*parts, transport) is the traceable function (kept, inputs, State, step)
            -> kept with one more state, of one block.
        kept: the present summary, a tree of arrays on the devices.
    """

    update: tuple
    kept: Any

    def __init__(self, simulation: Any):
        self.simulation = simulation

    def inputs(self) -> Any:
        """The second argument of `update` for the next steps from the present state on, a tree of arrays."""
        raise NotImplementedError

    def begin(self, stored: dict[str, Any]) -> None:
        """Begin at the present state, or continue from the contents of a restart file of this step; {} without one."""

    def until(self, last: int) -> int:
        """The step, at most `last`, at which `collect` must be called."""
        return last

    def collect(self) -> None:
        """Take the values that are due at the present step from the devices; all processes call it together."""

    def stored(self) -> dict[str, Any]:
        """The fields and numbers for a restart file, by name."""
        return {}

    def record(self) -> dict[str, np.ndarray]:
        """The fields of this process for a record of output.nc, by name."""
        return {}

    def next_record(self) -> None:
        """Begin the next record of output.nc after one was written."""

    def add(self, state: Any) -> None:
        """Add a state at the present step, outside the loop over steps."""
        program = jitted(*self.update, self.simulation.transport)
        self.kept = program(self.kept, self.inputs(), state, jnp.asarray(self.simulation.step, jnp.int32))


def make_updates(updates: tuple, transport):
    """The `update` of several Accumulators, with tuples of their `kept` and `inputs`."""
    functions = [make(*parts, transport) for make, *parts in updates]

    def update(kept, inputs, state, step):
        return tuple(each(*mine, state, step) for each, *mine in zip(functions, kept, inputs, strict=True))

    return update


class Accumulators(list):
    """The Accumulators of a run, for the loop over steps, restart files and output."""

    def until(self, last: int) -> int:
        """The step, at most `last`, of the next `collect`."""
        return min([last, *(each.until(last) for each in self)])

    def advance(self, executor, carry, steps: int):
        """The executor's carry `steps` later; each step was added."""
        if not self:
            return executor.advance(carry, steps)
        update = make_updates, tuple(each.update for each in self)
        inputs = tuple(each.inputs() for each in self)
        kept = tuple(each.kept for each in self)
        if executor.name in COMPILED:
            carry, kept = executor.watch(carry, steps, update, kept, inputs)
        else:
            program = jitted(*update, self[0].simulation.transport)
            for _ in range(steps):
                carry = executor.advance(carry, 1)
                kept = program(kept, inputs, carry.state, carry.step)
        for each, found in zip(self, kept, strict=True):
            each.kept = found
        return carry

    def collect(self) -> None:
        for each in self:
            each.collect()

    def stored(self) -> dict[str, Any]:
        return reduce(or_, (each.stored() for each in self), {})

    def record(self) -> dict[str, np.ndarray]:
        return reduce(or_, (each.record() for each in self), {})


#: The list of a run without accumulators.
NO_ACCUMULATORS = Accumulators()


def make_padded(scheme, transport):
    """The function (State, Grid, Params, step) -> State with a halo, and Grid, in Patches; of one block.

    Faces of open sides are open, and the state has the current through them, which depends on Params and step. With
    drying it has none through faces without water.
    """
    width, margin, with_halo = scheme.width, scheme.margin, make_pad(scheme.width, transport)

    def padded(state: State, grid: Grid, params, step) -> tuple[State, Grid]:
        patches = type(state)._make(Patch(field, (-width, -width)) for field in with_halo(state))
        found = patches, as_patches(grid, margin)
        return seen(flow_through(*found, as_patches(params, margin), scheme, step)) if scheme.with_current else found

    return padded


def make_fields(names, physics, sea, film, scheme, transport):
    """The function (State, Grid, Params, step) -> dict of the derived fields `names`, [y, x] of a block.

    Args:
        physics, sea: sections [physics] and [grid] of the configuration.
        film: thickness above which a cell counts as wet, m; None without drying.
    """
    padded, shape = make_padded(scheme, transport), transport.shape
    of_points = OF_POINTS if scheme.with_current else OF_POINTS + VELOCITIES
    near, others = ([name for name in names if (name in of_points) == here] for here in (True, False))

    def invert(location: str, sources: list) -> list:
        return [Equation(location, sea).solved(source, transport) for source in sources]

    def fields(state: State, grid, params, step) -> dict:
        bare = type(state)._make(Patch(field, (0, 0)) for field in state), as_patches(grid, scheme.margin)
        found = derive(near, [(*bare, shape)], physics, scheme.face_thickness, invert, film)[0]
        if others:
            around = [(*padded(state, grid, params, step), shape)]
            found |= derive(others, around, physics, scheme.face_thickness, invert, film)[0]
        return {name: found[name] for name in names}

    return fields
