"""Sums over a run, for harmonic constants: of fields times the basis functions, taken every few steps."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import UsageError
from ..ocean.harmonics import basis, constants, normal_matrix
from ..ocean.table import HARMONIC
from ..parallel.transport.programs import jitted
from ..setup.tidal_analysis import analysis
from .means import make_fields
from .padded import given_to_fields


def make_start(names, count: int, *parts):
    """The function (*given) -> sums, all zero, by their names in a restart file.

    Args:
        names: those of the fields.
        count: number of basis functions.
        parts: further arguments of `means.make_fields`.
    """
    fields = make_fields(names, *parts)

    def start(*given):
        found = jax.tree.map(jnp.zeros_like, fields(*given))
        return {f"{name}{HARMONIC}{k}": field for name, field in found.items() for k in range(count)}

    return start


def make_update(names, count: int, *parts):
    """The function (sums, values of the basis functions, *given) -> sums; arguments as of `make_start`."""
    fields = make_fields(names, *parts)

    def update(sums, values, *given):
        found = fields(*given)
        return {
            f"{name}{HARMONIC}{k}": sums[f"{name}{HARMONIC}{k}"] + values[k] * found[name]
            for name in names
            for k in range(count)
        }

    return update


class Harmonics:
    """The sums of a simulation's run so far.

    Attributes:
        seen: fields on the devices, by their names in a restart file.

    Raises:
        UsageError: the simulation comes from a restart file without the sums of the steps before.
    """

    def __init__(self, simulation):
        self.simulation, config = simulation, simulation.config
        self.analysis = analysis(config)
        names, self.count = tuple(self.analysis.fields), 2 * len(self.analysis.constituents) + 1
        parts = names, self.count, config.physics, config.grid, simulation.scheme, simulation.transport
        self._update = jitted(make_update, *parts)
        restart, before = simulation.restart, simulation.step >= self.analysis.steps.start
        if restart and restart.step == simulation.step and restart.harmonics:
            self.seen = restart.harmonics
        elif before:
            raise UsageError(
                f"output.harmonics: there are no sums of the steps up to {simulation.step} to go on with; "
                "start with a later output.harmonics_from"
            )
        else:
            self.seen = jitted(make_start, *parts)(*given_to_fields(simulation, simulation.carry.state))

    def next(self, step: int) -> int:
        """The first step after `step` whose state is added; one more than the last step if there is none."""
        steps = self.analysis.steps
        past = max(0, (step - steps.start) // steps.step + 1)
        return steps.start + past * steps.step

    def add(self) -> None:
        """Add the present state to the sums, if it is due."""
        simulation, steps = self.simulation, self.analysis.steps
        if simulation.step not in steps:
            return
        values = basis(self.analysis.constituents, simulation.dt, [simulation.step])[:, 0]
        values = values.astype(simulation.config.run.dtype)
        values = simulation.transport.make(lambda block: values)
        self.seen = self._update(self.seen, values, *given_to_fields(simulation, simulation.carry.state))

    def constants(self) -> dict[str, tuple]:
        """{field: its mean, and (amplitude, phase lag in degrees) of each constituent} on this process's block."""
        seen = self.simulation.transport.get(self.seen)
        matrix = normal_matrix(self.analysis.constituents, self.simulation.dt, self.analysis.steps)
        return {
            name: constants(matrix, np.stack([seen[f"{name}{HARMONIC}{k}"] for k in range(self.count)]))
            for name in self.analysis.fields
        }
