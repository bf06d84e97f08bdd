"""The health of members: what is found, judged and said is that of single runs."""

from __future__ import annotations

import jax
import numpy as np

from ...parallel.transport.programs import jitted
from ..health import Health
from .settings import viscosity_factors


def of_each(make, *parts):
    """The function make(*parts) of State and static fields, for many members; the last part is their devices."""
    program = make(*parts[:-1])
    return lambda states, static: jax.vmap(lambda state: program(state, static))(states)


class HealthOfMembers(Health):
    """The Health of Members; see `health.verdict`."""

    remedy, remedy_at_start = ", more friction or smaller perturbations", "; take smaller perturbations"

    def __init__(self, members, directory=None):
        params = dict(members.domain.params)
        if "viscosity" in params:
            params["viscosity"] *= float(viscosity_factors(members.config).max())
        super().__init__(members, directory, members.domain, params)

    def measure(self) -> np.ndarray:
        """What is measured in each member of this process, [members here, 1, Measures]."""
        program = jitted(of_each, *self.measuring, self.model.devices)
        return self.model.get(program(self.model.carry.state, self.static))[:, None]
