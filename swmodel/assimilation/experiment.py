"""What an assimilation starts from: first guess, observations, and in a twin experiment the truth."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from ..errors import UsageError
from ..gradients import Problem
from ..grid import as_patches, build_grid
from ..scheme import scheme_of
from ..state import State
from . import twin
from .background import Background
from .block_file import read_blocks, write_blocks
from .interpolation import operator
from .network import is_twin, network
from .observations import read, write
from .settings import errors_of
from .synthetic import observe_run

STATE_FILE, OBSERVATION_FILE = "twin.h5", "twin_observations.nc"


class Experiment(NamedTuple):
    """An assimilation that is ready to begin.

    Attributes:
        problem: the run of one who does not know the truth, as a function of its controls.
        base: the first guess, all controls of the problem by name.
        background: errors of those that are sought.
        observations, operator: what was seen, and how the model would see it.
        truth: in a twin experiment the true controls, by name; and
        true_config: the configuration that they belong to. None otherwise.
    """

    problem: Problem
    base: dict
    background: Background
    observations: Any
    operator: Any
    truth: dict | None = None
    true_config: Any = None


def prepare(config, directory, memory: int | None, command_line: str = "") -> Experiment:
    """The experiment of a configuration; called by all processes together.

    In a twin experiment the states at the start of the window are taken from the folder, or made and written to it; so
    are the observations, unless the configuration names a file.

    Raises:
        ConfigError: observations that the run cannot be compared with.
        FilesError: a file in the folder cannot be read or written.
    """
    options, directory, testing = config.assimilation, Path(directory), is_twin(config)
    names = tuple(dict.fromkeys([*(("eta", "u", "v") if testing else ()), *options.controls]))
    problem, look = problem_of(twin.believed(config) if testing else config, names, options.every_steps, memory)
    base, truth = problem.first_guess(), None
    if testing:
        states = twin_states(config, problem, directory)
        base |= controls_of(states.guess, problem)
        truth = Problem(config, names, look).first_guess() | controls_of(states.truth, problem)
    if options.observations:
        observations = read(options.observations, problem.config)
    else:
        observations = twin_observations(config, names, truth, directory, command_line)
    look.operator = operator(observations, problem.config, problem.block, options.every_steps)
    grid = build_grid(problem.config, problem.block, np.dtype(config.run.dtype), scheme_of(problem.config).width + 1)
    background = Background(problem.config, problem.transport, grid, errors_of(config), options.balanced)
    return Experiment(problem, base, background, observations, look.operator, truth, config if testing else None)


class Look:
    """An observer whose operator is known later than the block that it is for."""

    operator: Any = None

    def __call__(self, view, k):
        return self.operator.observe(view, k)


def problem_of(config, names, every: int, memory: int | None = None) -> tuple[Problem, Look]:
    """A Problem, and its observer, still without operator."""
    look = Look()
    return Problem(config, names, look, every, memory), look


def controls_of(state: State, problem: Problem) -> dict:
    """eta, u and v of a State of this process's block."""
    return {"eta": jnp.asarray(state.h - depth_of(problem)), "u": jnp.asarray(state.u), "v": jnp.asarray(state.v)}


def depth_of(problem: Problem):
    """Resting depth of the block as the configuration has it, m, [ny, nx] or broadcast to it."""
    return as_patches(problem.domain.grid, problem.domain.scheme.width).depth.on(problem.block.shape)


def twin_states(config, problem: Problem, directory: Path) -> twin.Twin:
    """The states of truth and first guess at the start of the window, from the folder if they are there."""
    path, transport = directory / STATE_FILE, problem.transport
    if transport.broadcast(path.exists()):
        fields, _ = read_blocks(path, problem.block)
        return twin.Twin(*(State(*(fields[f"{who} {name}"] for name in State._fields)) for who in twin.Twin._fields))
    states = twin.spin_up(config)
    fields = {f"{who} {name}": x for who, s in states._asdict().items() for name, x in s._asdict().items()}
    write_blocks(path, fields, "", (problem.config.grid.ny, problem.config.grid.nx), transport)
    return states


def twin_observations(config, names, truth: dict, directory: Path, command_line: str):
    """What is seen of the truth, with errors; written to the folder and read from there, so all know the same."""
    path = directory / OBSERVATION_FILE
    seen = network(config)
    if not seen.size:
        raise UsageError("no observation in the window: no track crosses it, and there are no moorings")
    problem, look = problem_of(config, names, config.assimilation.every_steps)
    if not problem.transport.broadcast(path.exists()):
        look.operator = operator(seen, problem.config, problem.block, problem.every)
        total = problem.transport.reduce(np.asarray(problem.series(truth)), "sum")
        seen = observe_run(seen, np.asarray(look.operator.collect(total), np.float64), config, config.case.seed)
        if problem.transport.rank == 0:
            write(path, seen, config, command_line)
        problem.transport.barrier()
    return read(path, problem.config)
