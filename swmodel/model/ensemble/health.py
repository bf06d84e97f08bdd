"""The view that `swmodel.model.health` has of members: bound, verdict and messages are those of a single run."""

from __future__ import annotations

import jax
import numpy as np

from ...parallel.transport.programs import jitted
from ..health.energy import Forces, largest_acceleration
from .settings import viscosity_factors


def of_each(make, *parts):
    """The function make(*parts) of State and Static, for many members; the last part, the devices, is left out."""
    program = make(*parts[:-1])
    return lambda states, static: jax.vmap(lambda state: program(state, static))(states)


class Many:
    """The members that a process has; see `health.verdict.Runs`."""

    remedy = ", more friction or smaller perturbations"
    remedy_at_start = "; take smaller perturbations"

    def __init__(self, members):
        self.members, self.domain, self.config = members, members.domain, members.domain.config
        self.params = dict(self.domain.params)
        if "viscosity" in self.params:
            self.params["viscosity"] *= float(viscosity_factors(self.config).max())

    def forces(self) -> Forces:
        """See `health.verdict.SingleRun`; acceleration and power are those of all members."""
        members = self.members
        return Forces(
            members.stress, largest_acceleration(self.domain) + members.max_potential_slope, members.boundary_power
        )

    def compile(self, make, *parts):
        """The function make(*parts) of the members' States and of the Static that they share, jitted."""
        return jitted(of_each, make, *parts, self.members.devices)

    def measure(self, program, static) -> np.ndarray:
        """What the program measures in each member of this process, [members here, 1, Measures]."""
        return self.members.get(program(self.members.carry.state, static))[:, None]
