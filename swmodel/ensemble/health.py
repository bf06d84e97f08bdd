"""Members as `swmodel.model.health` looks at runs: bound, verdict and messages are those of one run."""

from __future__ import annotations

import jax
import numpy as np

from ..model.health.one import largest_acceleration, largest_friction, write_state
from ..ocean.state import State
from ..parallel.transport.programs import jitted
from .settings import viscosity_factors


def of_each(make, *parts):
    """The function make(*parts), of the State of a member and of Static, of the states of many; without the devices."""
    program = make(*parts[:-1])
    return lambda states, static: jax.vmap(lambda state: program(state, static))(states)


class Many:
    """The members that a process has; see `health.one.One`."""

    remedy = ", more friction or smaller perturbations"
    remedy_at_start = "; take smaller perturbations"

    def __init__(self, members):
        self.members, self.domain, config = members, members.domain, members.domain.config
        self.here = slice(members.here.start, members.here.stop)
        self.config = config

    def stress(self) -> np.ndarray:
        """The largest wind stress on each member of this process, Pa."""
        return self.members.stress

    def acceleration(self) -> float:
        """See `health.one.One`; that of all members."""
        return largest_acceleration(self.domain)

    def friction(self) -> float:
        """See `health.one.One`; that of the most viscous member."""
        return largest_friction(self.domain, {"viscosity": viscosity_factors(self.config).max()})

    def compile(self, make, *parts):
        """The function make(*parts) of the State of each member and of Static, which they share, jitted."""
        return jitted(of_each, make, *parts, self.members.devices)

    def measure(self, program, static) -> np.ndarray:
        """What the program finds in each member of this process, [members here, 1, Measures]."""
        return self.members.get(program(self.members.carry.state, static))[:, None]

    def state(self, run: int) -> State:
        """The state of a member, [1, y, x]; [0, y, x] on processes that do not have it."""
        place = run - self.here.start
        mine = slice(place, place + 1) if 0 <= place < self.members.here.length else slice(0)
        return self.members.state._make(field[mine] for field in self.members.state)

    def save(self, path, run: int) -> None:
        """Write the state of a member as a file of output; called by all processes together.

        Raises:
            FilesError: it cannot be written, on rank 0.
        """
        members, shape = self.members, self.domain.transport.block.shape
        rows = [field.reshape(members.here.length, -1) for field in members.state]
        rows = [members.transport.gather_rows(field, run, run + 1) for field in rows]
        if members.transport.rank == 0:
            fields = members.state._make(field.reshape(shape) for field in rows)
            write_state(path, self.domain, members, fields._asdict())

    def among(self, marked) -> str:
        """The numbers of the members that are marked, [members], in words."""
        found = [str(number) for number in np.flatnonzero(marked)]
        return f" in member {found[0]}" if len(found) == 1 else f" in members {', '.join(found[:-1])} and {found[-1]}"

    def of(self, marked) -> str:
        """Of which member, the first of several that are marked, in words."""
        return f" of member {np.argmax(marked)}" if marked.sum() > 1 else ""
