"""Members as `swmodel.model.health` looks at runs: bound, verdict and messages are those of one run."""

from __future__ import annotations

import jax
import numpy as np

from ..ocean.state import State
from .settings import viscosity_factors


class Many:
    """The members that a process has; see `health.verdict.Runs`."""

    remedy = ", more friction or smaller perturbations"
    remedy_at_start = "; take smaller perturbations"

    def __init__(self, members):
        self.members, self.domain, config = members, members.domain, members.domain.config
        viscosity = config.physics.viscosity * viscosity_factors(config).max()
        self.config = config.model_copy(update={"physics": config.physics.model_copy(update={"viscosity": viscosity})})

    def stress(self) -> np.ndarray:
        """The largest wind stress on each member of this process, Pa."""
        return self.members.stress

    def compile(self, program):
        """A function of the State of the members and of Static, which they share, to be given to `measure`."""
        return self.members.jit(lambda states, static: jax.vmap(lambda state: program(state, static))(states))

    def measure(self, program, static) -> np.ndarray:
        """What the program finds in each member of this process, [members here, 1, Measures]."""
        return self.members.get(program(State(*self.members.carry.state), static))[:, None]
