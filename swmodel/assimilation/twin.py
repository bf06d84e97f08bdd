"""Twin experiments: a run taken as the truth, and a first guess from another time."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np

from ..gradients.sweeps import length_of
from ..model.simulation import Simulation
from ..ocean.state import State

DAY = 86400.0


class Twin(NamedTuple):
    """The states at the start of the window, NumPy arrays [ny, nx] of this process's block."""

    truth: State
    guess: State


def believed(config):
    """The configuration without knowledge of the truth: from the case's `believed`, or the same."""
    return config.case.believed(config) if hasattr(config.case, "believed") else config


def spin_up(config, tick: Callable[[], None] = lambda: None) -> Twin:
    """The truth, `spinup` days after the start of the case; and, as first guess, its state `lead` days earlier.

    Called by all processes together; each holds its own block.

    Args:
        config: Config of a case with these two options.
        tick: called about twice a second. May raise.
    """
    simulation = Simulation(config)
    last = round(config.case.spinup * DAY / simulation.dt)
    lead = min(last, round(config.case.lead * DAY / simulation.dt))
    some = length_of(simulation.config)

    def state_at(step: int) -> State:
        while simulation.step < step:
            tick()
            simulation.take_steps(min(some, step - simulation.step))  # the assimilation judges the states
        return jax.tree.map(np.copy, simulation.state)  # later steps reuse the memory

    guess = state_at(last - lead)
    return Twin(state_at(last), guess)
