"""The reference as an object, and as the executor `reference`, which runs in one process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import numpy as np

from ...ocean.state import Carry, State
from ...setup.fields import evaluate
from .periodic_domain import PeriodicDomain
from .steppers import STATES_IN_MEMORY, STEPPERS, TENDENCIES_IN_MEMORY
from .tendency import Tendency

if TYPE_CHECKING:
    from ...parallel.transport import Transport
    from ...setup.setup import Setup


class ReferenceModel:
    """The model on the whole domain of a configuration, in its dtype. Arguments and results are arrays [ny, nx]."""

    def __init__(self, setup: Setup):
        self.config = setup.config
        self.domain = PeriodicDomain(setup)
        self._tendency = Tendency(self.domain)

    def start(self, state: State | None = None) -> Carry:
        """The carry at step 0, from `state` or the initial state of the case, at rest on land and closed faces."""
        config, domain = self.config, self.domain
        if state is None:
            depth, eta, u, v = (self._domain_field(name) for name in ("depth", "eta", "u", "v"))
            h = np.maximum(depth + eta, 0) if config.drying.active else depth + eta
            fields = {"h": h, "u": u, "v": v}
            for tracer in config.physics.tracers:
                c = self._domain_field(tracer.name)
                fields |= {tracer.name: c + 0 * depth, f"{tracer.name}_content": h * c}
            fields |= {name: np.zeros(()) for name in domain.state._fields if name not in fields}
            state = domain.state(*np.broadcast_arrays(*(fields[name] for name in domain.state._fields)))
        state = domain.extract(domain.embed(state, domain.resting_values))
        zeros = type(state)._make(np.zeros_like(field) for field in state)
        tendencies = (zeros,) * TENDENCIES_IN_MEMORY.get(config.time.stepper, 0)
        return Carry(state, tendencies or (state,) * STATES_IN_MEMORY.get(config.time.stepper, 0), 0)

    def _domain_field(self, name):
        """A field of the case or of a file, on the domain without the land beyond walls, float64."""
        return evaluate(self.config, name, range(self.config.grid.ny), range(self.config.grid.nx))

    def advance(self, carry: Carry, n: int, dt: float) -> Carry:
        """The carry n steps of dt seconds later; `carry` itself is not changed."""
        domain, stepper = self.domain, self.config.time.stepper
        memory_at_closed = domain.resting_values if stepper in STATES_IN_MEMORY else 0
        x = domain.embed(carry.state, domain.resting_values)
        memory = [domain.embed(state, memory_at_closed) for state in carry.memory]
        steps = range(int(carry.step), int(carry.step) + n)
        x, memory = STEPPERS[stepper](self._tendency, x, memory, steps, dt, self.config.time)
        return Carry(domain.extract(x), tuple(domain.extract(state) for state in memory), steps.stop)

    def tendency(self, state: State, time: float = 0.0) -> State:
        """dh/dt (m s-1), du/dt and dv/dt (m s-2), and the tendencies of further fields, at `time`, s."""
        x = self.domain.embed(state, self.domain.resting_values)
        F = np.zeros_like(x)
        self._tendency(x, F, time)
        return self.domain.extract(F)


class ReferenceExecutor:
    """The executor `reference`; see `registry.Executor`."""

    name = "reference"

    def __init__(self, setup: Setup, transport: Transport, grid, params):
        self.model = ReferenceModel(setup)
        self.dt, self.substeps = setup.dt, 1

    def start(self, state: State) -> Carry:
        return self.model.start(jax.tree.map(np.asarray, state))

    def resume(self, carry: Carry) -> Carry:
        return jax.tree.map(np.asarray, carry)._replace(step=int(carry.step))

    def replace_params(self, params: dict, varying) -> None:
        """Discard stored records, because the reference reads varying coefficients itself."""
        self.model.domain.clear_records()

    def set_substeps(self, substeps: int) -> None:
        self.substeps = substeps

    def advance(self, carry: Carry, n: int) -> Carry:
        """The carry n steps later. NumPy's warnings are off, because the health check reports a blow-up."""
        with np.errstate(all="ignore"):
            substep_carry = carry._replace(step=carry.step * self.substeps)
            after = self.model.advance(substep_carry, n * self.substeps, self.dt / self.substeps)
        return after._replace(step=carry.step + n)
