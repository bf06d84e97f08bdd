"""The base class of accumulators, the list of the accumulators of a run, and functions that give them fields."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from ...executors.registry import JAX_EXECUTORS
from ...ocean.elliptic import HelmholtzEquation
from ...ocean.evaluation import evaluate_fields, flow_at_step, with_boundary_velocity
from ...ocean.grid import Grid, as_patches
from ...ocean.patch import Patch
from ...ocean.state import State
from ...ocean.terms.bed_motion import grid_at_step
from ...parallel.transport.halo import make_add_halo
from ...parallel.transport.programs import cached_jit

if TYPE_CHECKING:
    from ...ocean.scheme import Scheme
    from ...parallel.transport.transport import Transport

#: Derived fields that need no halo; velocities do need one if the scheme `has_diagnosed_velocity`.
POINTWISE_FIELDS, VELOCITIES = ("h", "eta", "sea_level", "wet"), ("u", "v")


class Accumulator:
    """A summary of the states of a run, updated after each step; JAX_EXECUTORS do this within their compiled loop.

    Attributes:
        update: (make, *parts), hashable. make(*parts, transport) returns the traceable function
            (summary, inputs, State, step) -> summary, which adds a state to the summary of one block.
        summary: the present summary, a tree of arrays on the devices.
    """

    update: tuple
    summary: Any

    def __init__(self, simulation: Any):
        self.simulation = simulation

    def inputs(self) -> Any:
        """The `inputs` of the function of `update` for the steps from the present state on, a tree of arrays."""
        raise NotImplementedError

    def start(self, restart_fields: dict[str, Any]) -> None:
        """Start at the present state, or continue from the fields of a restart file of this step; {}: no such file."""

    def next_collection(self, max_step: int) -> int:
        """The step, at most `max_step`, at which `collect` must be called."""
        return max_step

    def collect(self) -> None:
        """Copy the values that are due at the present step to the host; all processes call it together."""

    def restart_fields(self) -> dict[str, Any]:
        """The fields and numbers that a restart file must contain, by name."""
        return {}

    def output_fields(self) -> dict[str, np.ndarray]:
        """The fields of this process that a record of output.nc contains, by name."""
        return {}

    def start_next_record(self) -> None:
        """Start a new interval after a record of output.nc has been written."""

    def add_state(self, state: Any) -> None:
        """Add a state at the present step, outside the time loop."""
        program = cached_jit(*self.update, self.simulation.transport)
        self.summary = program(self.summary, self.inputs(), state, jnp.asarray(self.simulation.step, jnp.int32))


def make_updates(updates: tuple, transport: Transport):
    """The update function of several Accumulators; its `summary` and `inputs` are the tuples of theirs."""
    functions = [make(*parts, transport) for make, *parts in updates]

    def update(summary, inputs, state, step):
        return tuple(
            function(own_summary, own_inputs, state, step)
            for function, own_summary, own_inputs in zip(functions, summary, inputs, strict=True)
        )

    return update


class Accumulators(list):
    """The accumulators of a run; each method acts on all of them."""

    def next_collection(self, max_step: int) -> int:
        return min([max_step, *(each.next_collection(max_step) for each in self)])

    def advance(self, executor, carry, steps: int):
        """The executor's carry after `steps` more steps, each of which is added to the summaries."""
        if not self:
            return executor.advance(carry, steps)
        update = make_updates, tuple(each.update for each in self)
        inputs = tuple(each.inputs() for each in self)
        summary = tuple(each.summary for each in self)
        if executor.name in JAX_EXECUTORS:
            carry, summary = executor.accumulate(carry, steps, update, summary, inputs)
        else:
            program = cached_jit(*update, self[0].simulation.transport)
            for _ in range(steps):
                carry = executor.advance(carry, 1)
                summary = program(summary, inputs, carry.state, carry.step)
        for accumulator, new_summary in zip(self, summary, strict=True):
            accumulator.summary = new_summary
        return carry

    def collect(self) -> None:
        for each in self:
            each.collect()

    def restart_fields(self) -> dict[str, Any]:
        return reduce(or_, (each.restart_fields() for each in self), {})

    def output_fields(self) -> dict[str, np.ndarray]:
        return reduce(or_, (each.output_fields() for each in self), {})


NO_ACCUMULATORS = Accumulators()


def make_padded_state(scheme: Scheme, transport: Transport):
    """The function (State, Grid, Params, step) -> (State with a halo, Grid) of one block, in Patches.

    The velocity includes that through open boundaries, and is zero on closed faces.
    """
    halo_width, static_halo = scheme.halo_width, scheme.static_halo
    with_halo = make_add_halo(halo_width, transport)

    def padded_state(state: State, grid: Grid, params, step) -> tuple[State, Grid]:
        patches = type(state)._make(Patch(field, (-halo_width, -halo_width)) for field in with_halo(state))
        params = as_patches(params, static_halo)
        grid_now = grid_at_step(as_patches(grid, static_halo), params, scheme, step)
        if not scheme.has_diagnosed_velocity:
            return patches, grid_now
        return with_boundary_velocity(flow_at_step(patches, grid_now, params, scheme, step))

    return padded_state


def make_fields(names, physics, grid_options, wet_thickness, scheme: Scheme, transport: Transport):
    """The function (State, Grid, Params, step) -> {name: derived field [y, x]} of one block.

    Args:
        physics, grid_options: sections [physics] and [grid] of the configuration.
        wet_thickness: thickness above which a cell counts as wet, m; None without drying.
    """
    padded_state, shape = make_padded_state(scheme, transport), transport.shape
    pointwise_fields = POINTWISE_FIELDS if scheme.has_diagnosed_velocity else POINTWISE_FIELDS + VELOCITIES
    pointwise = [name for name in names if name in pointwise_fields]
    others = [name for name in names if name not in pointwise_fields]

    def invert(location: str, sources: list) -> list:
        return [HelmholtzEquation(location, grid_options).solve_block(source, transport) for source in sources]

    def evaluate(names, state: State, grid: Grid) -> dict:
        block = state, grid, shape
        return evaluate_fields(names, [block], physics, invert, wet_thickness)[0]

    def fields(state: State, grid, params, step) -> dict:
        grid_patches, param_patches = (as_patches(each, scheme.static_halo) for each in (grid, params))
        grid_now = grid_at_step(grid_patches, param_patches, scheme, step)
        derived = evaluate(pointwise, type(state)._make(Patch(field, (0, 0)) for field in state), grid_now)
        if others:
            derived |= evaluate(others, *padded_state(state, grid, params, step))
        return {name: derived[name] for name in names}

    return fields
