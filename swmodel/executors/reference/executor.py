"""The executor `reference`: plain NumPy, on one process."""

from __future__ import annotations

import jax
import numpy as np

from ...ocean.state import Carry, State
from .model import Reference


class NumpyReference:
    """The reference in plain NumPy, on one process."""

    name = "reference"

    def __init__(self, setup, transport, grid, params):
        self.model = Reference(setup)
        self.dt = setup.dt

    def start(self, state: State) -> Carry:
        """The carry before the first step."""
        return self.model.start(jax.tree.map(np.asarray, state))

    def resume(self, carry: Carry) -> Carry:
        """The carry of a restart file."""
        return jax.tree.map(np.asarray, carry)._replace(step=int(carry.step))

    def exchange(self, params: dict, of) -> None:
        """Do nothing: the reference reads coefficients that vary in time by itself."""

    def advance(self, carry: Carry, n: int) -> Carry:
        """The carry n steps later. NumPy does not warn of a blow-up: the check of health reports it, once."""
        with np.errstate(all="ignore"):
            return self.model.advance(carry, n, self.dt)
