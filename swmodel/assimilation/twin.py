"""Twin experiments: a run taken for the truth, a first guess from another time, and what is observed of the truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .. import cases
from ..grid import as_patches
from ..output import Output
from ..schedule import Schedule
from ..simulation import Simulation
from ..state import Carry, State
from ..timestep import method_of

DAY = 86400.0


class Twin(NamedTuple):
    """The states at the start of the window, NumPy arrays [ny, nx] of this process's block."""

    truth: State
    guess: State


class Seen(NamedTuple):
    """What an observer sees of a moment: the state of this process's block and its resting depth, [ny, nx]."""

    state: State
    depth: Any


def believed(config):
    """The configuration as one who does not know the truth has it: as the case's `believed` says, or the same."""
    case = cases.get(config.case.name)
    return case.believed(config) if hasattr(case, "believed") else config


def spin_up(config) -> Twin:
    """The truth, `spinup` days after the start of the case, and as first guess its state `lead` days before that.

    Called by all processes together; each holds its own block.

    Args:
        config: Config of a case with these two options.
    """
    simulation = Simulation(config)
    last = round(config.case.spinup * DAY / simulation.dt)
    lead = min(last, round(config.case.lead * DAY / simulation.dt))
    simulation.advance(last - lead)
    guess = jax.tree.map(np.copy, simulation.state)  # steps to come reuse the memory
    simulation.advance(lead)
    return Twin(jax.tree.map(np.copy, simulation.state), guess)


def start(simulation: Simulation, state: State) -> Simulation:
    """The simulation at step 0 from another state of its block, with nothing remembered of steps before."""
    time, state = simulation.config.time, jax.tree.map(jnp.array, state)
    method = method_of(time.stepper, time.ab2_epsilon, time.robert_asselin)
    simulation.carry = Carry(state, jax.tree.map(jnp.array, method.remember(state)), jnp.zeros((), jnp.int32))
    simulation.step = simulation.first_step = 0
    simulation.advance(0)
    return simulation


def follow(
    simulation: Simulation,
    steps: int,
    path=None,
    every: int | None = None,
    see: Callable[[Simulation, int], None] | None = None,
    command_line: str = "",
) -> None:
    """Advance from step 0 by `steps`, called by all processes together.

    Args:
        simulation: at its first step.
        steps: how far; it may be further than the end of the configured run.
        path: of a NetCDF file with a record at each time of `output.every`; None: none is written.
        every, see: see(simulation, k) is called at the steps k every.

    Raises:
        FilesError: the file could not be written, on all processes.
    """
    options = simulation.config.output
    records = Schedule(simulation.dt, steps, options.every_steps, options.every)
    samples = Schedule(simulation.dt, steps, every if see else None)

    def visit(output):
        while True:
            step = simulation.step
            if output and records.due(step):
                output.write(step, simulation.time, simulation.fields(output.names))
            if see and step % every == 0:
                see(simulation, step // every)
            if step == steps:
                return
            simulation.advance(min(records.next(step) if output else steps, samples.next(step)) - step)

    if path is None:
        return visit(None)
    with Output(path, simulation.config, simulation.transport, command_line) as output:
        visit(output)


def observed(simulation: Simulation, operator, steps: int, path=None, command_line: str = "") -> np.ndarray:
    """What `operator` sees of the run from step 0 to `run.steps` of the configuration, the same on all processes.

    Args:
        simulation: at its first step.
        operator: with `every`, observe(view, k) -> this process's share of sample k, and collect(sum of the shares of
            all samples, stacked) -> values [n], as `interpolation.Operator`.
        steps: how far the run goes on, for the file.
        path: see `follow`.
    """
    last, shares = simulation.config.run.steps // operator.every, []
    depth = as_patches(simulation.grid, simulation.scheme.width).depth.on(simulation.block.shape)
    look = jax.jit(lambda state, k: operator.observe(Seen(state, depth), k))

    def see(simulation, k):
        if k <= last:
            shares.append(np.asarray(look(simulation.carry.state, k)))

    follow(simulation, steps, path, operator.every, see, command_line)
    return np.asarray(operator.collect(simulation.transport.reduce(np.stack(shares), "sum")))


def window_and_forecast(config) -> int:
    """Steps from the start of the window to the end of the forecast; `config` is resolved."""
    return config.run.steps + round(config.case.forecast * DAY / config.time.dt)
