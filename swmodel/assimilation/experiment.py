"""The inputs of an assimilation: first guess, observations, and in a twin experiment the truth."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..config import to_toml
from ..config.loading.decisive import differences
from ..errors import UsageError
from ..files.block_file import read_blocks, write_blocks
from ..gradients import Problem, corrections
from ..gradients.sweeps import length_of
from ..model.simulation import Simulation
from ..ocean.grid import as_patches
from ..ocean.records import CORRECTION
from ..ocean.state import State
from ..ocean.table import CONTROLS, CORRECTIONS
from ..setup.fields.varying import value_at
from ..setup.setup import rows_and_columns
from .background import Background
from .checkpoint import essence_of_run, require_none
from .interpolation import operator
from .observations import read, write
from .settings import believed, errors_of, roots_of
from .synthetic import DAY, is_twin, network, observe_run, spins_up


class Twin(NamedTuple):
    """The states at the start of the window, NumPy arrays [ny, nx] of this process's block."""

    truth: State
    guess: State


def spin_up(config, tick: Callable[[], None] = lambda: None) -> Twin:
    """The truth, `spinup` days after the start of the case, and as first guess its state `lead` days earlier.

    All processes call it together, each with its block. It calls tick() about twice a second, which may raise.
    """
    simulation = Simulation(config)
    last = round(config.case.spinup * DAY / simulation.dt)
    lead = min(last, round(config.case.lead * DAY / simulation.dt))
    some = length_of(simulation.config)

    def state_at(step: int) -> State:
        while simulation.step < step:
            tick()
            simulation.take_steps(min(some, step - simulation.step))  # the assimilation checks the states
        return jax.tree.map(np.copy, simulation.state)  # later steps reuse the memory

    guess = state_at(last - lead)
    return Twin(state_at(last), guess)


STATE_FILE, OBSERVATION_FILE = "twin.h5", "twin_observations.nc"


class Experiment(NamedTuple):
    """The inputs of an assimilation.

    Attributes:
        problem: the run without knowledge of the truth, as a function of its controls.
        base: the first guess, all controls of the problem by name.
        background: errors of the estimated controls; None without derivatives.
        observations, operator: the Observations, and the operator for the model's values of them.
        truth: the true controls, by name, in a twin experiment; else None. Of corrections these are what the
            coefficients of the truth differ by from those of the first guess.
        true_config: the configuration of the truth in a twin experiment; else None.
    """

    problem: Problem
    base: dict
    background: Background | None
    observations: Any
    operator: Any
    truth: dict | None = None
    true_config: Any = None

    @property
    def controls(self) -> tuple[str, ...]:
        """The names of the estimated controls."""
        return tuple(self.problem.config.assimilation.controls)


def prepare(
    config,
    directory,
    memory: int | None,
    command_line: str = "",
    tick: Callable = lambda transport: None,
    derivatives: bool = True,
) -> Experiment:
    """The experiment of a configuration; all processes call it together.

    A twin experiment reads its states at the start of the window from the folder, or makes and writes them there. It
    does the same with observations, unless the configuration names a file. tick(transport) is called between pieces of
    computation, also in the sweeps of the problem, and may raise.
    """
    options, directory, testing = config.assimilation, Path(directory), is_twin(config)
    names = tuple(dict.fromkeys([*(("eta", "u", "v") if spins_up(config) else ()), *options.controls]))
    problem, observer = problem_of(believed(config) if testing else config, names, options.every_steps, tick, memory)
    base, truth = problem.first_guess(), None
    observations = read(options.observations, problem.config) if options.observations else network(problem.config)
    observer.operator = operator(observations, problem.config, problem.block, options.every_steps)
    if derivatives:
        problem.prepare(base)
    if testing:
        truth = Problem(config, names, observer).first_guess()
    if spins_up(config):
        states = twin_states(config, problem, directory, tick)
        base |= controls_of(states.guess, problem)
        truth |= controls_of(states.truth, problem)
    if not options.observations:
        observations = twin_observations(config, names, truth, observations, directory, command_line, tick)
    truth = truth and truth | true_corrections(config, problem)
    background = background_of(config, problem.domain, base.get("eta")) if derivatives else None
    return Experiment(problem, base, background, observations, observer.operator, truth, config if testing else None)


def background_of(config, domain, eta) -> Background:
    """The errors of a first guess with the sea level `eta` on the block of a Domain; all its processes call it."""
    errors, block = errors_of(config), domain.transport.block
    if config.drying.active and "eta" in errors:  # no water is added to ground that is dry
        wet = np.asarray(eta) + resting_depth(domain) > 0
        errors["eta"] = errors["eta"][0] * wet, errors["eta"][1]
    grid, roots = domain.setup.grid(block), roots_of(config)
    return Background(domain.setup, domain.transport, grid, errors, config.assimilation.balanced, roots=roots)


class Observer:
    """An observer whose operator is set later: it depends on the block."""

    operator: Any = None

    def __call__(self, view, k):
        return self.operator.observe(view, k)


def problem_of(config, names, every: int, tick, memory: int | None = None) -> tuple[Problem, Observer]:
    """A Problem with sweeps in pieces, and its observer without an operator."""
    observer = Observer()
    problem = Problem(config, names, observer, every, memory)
    problem.in_pieces(length_of(problem.config), lambda *piece: tick(problem.transport))
    return problem, observer


def controls_of(state: State, problem: Problem) -> dict:
    """The initial controls in a State of this process's block: eta, u and v."""
    found = {"eta": state.h - resting_depth(problem.domain)} | state._asdict()
    return {name: jnp.asarray(found[name]) for name in found if name in CONTROLS}


def true_corrections(config, problem: Problem) -> dict:
    """The corrections among the controls that turn the problem's coefficients into those of the truth."""
    setup, (rows, columns) = problem.domain.setup, rows_and_columns(problem.block, 0)
    found = {}
    for name in (name for name in problem.names if name in CORRECTIONS):
        of = name.removesuffix(CORRECTION)
        steps = np.minimum(corrections.times(setup, name) / config.time.dt, problem.steps)
        found[name] = np.stack(
            [
                np.broadcast_to(value_at(config, of, step, rows, columns), problem.block.shape)
                - value_at(problem.config, of, step, rows, columns)
                for step in steps
            ]
        )
    return found


def resting_depth(domain):
    """The resting depth of a Domain's block, m, [ny, nx] or broadcast to it."""
    return np.asarray(as_patches(domain.grid, domain.scheme.margin).depth.on(domain.transport.block.shape))


def twin_states(config, problem: Problem, directory: Path, tick) -> Twin:
    """The states of truth and first guess at the start of the window, from the folder if possible."""
    path, transport = directory / STATE_FILE, problem.transport
    if transport.broadcast(path.exists()):
        fields, before = read_blocks(path, problem.block)
        found = differences(before, to_toml(config), essence_of_run)
        require_none(found, path)
        state = problem.domain.scheme.state
        return Twin(*(state(*(fields[f"{who} {name}"] for name in state._fields)) for who in Twin._fields))
    states = spin_up(config, lambda: tick(transport))
    fields = {f"{who} {name}": x for who, s in states._asdict().items() for name, x in s._asdict().items()}
    shape = problem.config.grid.ny, problem.config.grid.nx
    write_blocks(path, fields, to_toml(config), shape, transport)
    return states


def twin_observations(config, names, truth: dict, places, directory: Path, command_line: str, tick):
    """Observations of the truth, with errors; from a file in the folder, so that all processes have the same.

    Args:
        places: Observations without values.
    """
    path = directory / OBSERVATION_FILE
    problem, observer = problem_of(config, names, config.assimilation.every_steps, tick)
    if not problem.transport.broadcast(path.exists()):
        observer.operator = operator(places, problem.config, problem.block, problem.every)
        total = problem.transport.reduce(np.asarray(problem.series(truth)), "sum")
        places = observe_run(places, np.asarray(observer.operator.collect(total), np.float64), config, config.case.seed)
        if problem.transport.rank == 0:
            write(path, places, config, command_line)
        problem.transport.barrier()
    found = read(path, problem.config)
    if any(not np.array_equal(getattr(found, name), getattr(places, name)) for name in ("quantity", "time", "x", "y")):
        raise UsageError(f"{path} is from another assimilation, with other places or times")
    return found
