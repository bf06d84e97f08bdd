"""One accumulator, and the list of those of a run."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

import jax.numpy as jnp
import numpy as np

from ...executors.registry import COMPILED
from ...parallel.transport.programs import jitted


class Accumulator:
    """What is kept of the states of a run after each step, updated within the compiled loop over steps.

    Args:
        simulation: the run.

    Attributes:
        update: (make, *parts), hashable; make(*parts, transport) is a function (kept, inputs, State, step) -> kept with
            one more state, of one block, to be traced.
        kept: what is kept so far, a tree of arrays on the devices.
        steps: the steps whose states are added, from outside the loop; None: all steps, within the loop.
    """

    update: tuple
    kept: Any
    steps: range | None = None

    def __init__(self, simulation: Any):
        self.simulation = simulation

    def inputs(self) -> Any:
        """The second argument of `update`, a tree of arrays that holds for the next steps."""
        raise NotImplementedError

    def begin(self, stored: dict[str, Any]) -> None:
        """Begin at the present state, or go on from what a restart file of this step has; {}: there is no file."""

    def until(self, last: int) -> int:
        """The step, at most `last`, to which the run may go before `collect` is called."""
        return last

    def collect(self) -> None:
        """Take from the devices what is due at the present step; called by all processes together."""

    def stored(self) -> dict[str, Any]:
        """The fields and numbers in a restart file, by their names there."""
        return {}

    def record(self) -> dict[str, np.ndarray]:
        """The fields of this process in a record of output.nc, by their names there."""
        return {}

    def next_record(self) -> None:
        """Begin with what belongs to the next record of output.nc, as one has been written."""

    def add(self, state: Any) -> None:
        """Add a state at the present step, outside the loop over steps."""
        program = jitted(*self.update, self.simulation.transport)
        self.kept = program(self.kept, self.inputs(), state, jnp.asarray(self.simulation.step, jnp.int32))


def make_updates(updates: tuple, transport):
    """The `update` of several Accumulators: of tuples of what is kept, and of `inputs`."""
    functions = [make(*parts, transport) for make, *parts in updates]

    def update(kept, inputs, state, step):
        return tuple(each(*mine, state, step) for each, *mine in zip(functions, kept, inputs, strict=True))

    return update


class Accumulators(list):
    """The Accumulators of a run, as the loop over steps, restart files and output see them."""

    def until(self, last: int) -> int:
        """The step, at most `last`, to which the run may go before the next `collect`."""
        return min([last, *(each.until(last) for each in self)])

    def advance(self, executor, carry, steps: int):
        """The executor's carry `steps` later, each of which was added."""
        in_loop = [each for each in self if each.steps is None]
        if not in_loop:
            return executor.advance(carry, steps)
        update = make_updates, tuple(each.update for each in in_loop)
        kept, inputs = tuple(each.kept for each in in_loop), tuple(each.inputs() for each in in_loop)
        if executor.name in COMPILED:
            carry, kept = executor.watch(carry, steps, update, kept, inputs)
        else:
            program = jitted(*update, in_loop[0].simulation.transport)
            for _ in range(steps):
                carry = executor.advance(carry, 1)
                kept = program(kept, inputs, carry.state, carry.step)
        for each, found in zip(in_loop, kept, strict=True):
            each.kept = found
        return carry

    def collect(self) -> None:
        for each in self:
            each.collect()

    def stored(self) -> dict[str, Any]:
        return reduce(or_, (each.stored() for each in self), {})

    def record(self) -> dict[str, np.ndarray]:
        return reduce(or_, (each.record() for each in self), {})


#: The list of a run that keeps nothing.
NO_ACCUMULATORS = Accumulators()
