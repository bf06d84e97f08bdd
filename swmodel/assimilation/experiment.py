"""The inputs of an assimilation: first guess, observations and, in a twin experiment, the truth."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..config import Config, to_toml
from ..config.loading.fixed_on_resume import differences
from ..config.options.assimilation import sigma_key
from ..errors import UsageError
from ..files.block_file import read_blocks, write_blocks
from ..gradients import Problem, corrections
from ..gradients.sweeps import steps_per_piece
from ..model.simulation import Simulation
from ..ocean.grid import as_patches
from ..ocean.records import CORRECTION_SUFFIX
from ..ocean.state import State
from ..ocean.table import CONTROLS, CORRECTIONS
from ..setup.fields.varying import value_at
from ..setup.setup import rows_and_columns, setup_of
from .background import BackgroundErrors, ControlErrors, make_background_errors
from .checkpoint import require_same_assimilation, run_values_fixed_on_resume
from .interpolation import ObservationOperator, make_operator
from .observations import Observations, read_observations, write_observations
from .settings import correlation_length, prior_config
from .synthetic import DAY, is_spun_up_twin, is_twin, make_network, observe_run


class TwinStates(NamedTuple):
    """The two states of a twin experiment at the start of the window, NumPy arrays [ny, nx] of this process's block."""

    truth: State
    guess: State


def spin_up(config: Config, tick: Callable[[], None] = lambda: None) -> TwinStates:
    """The truth, `spinup` days after the start of the case, and the first guess, `lead` days earlier or at the start.

    All processes call this together. tick(), which may raise, is called before each piece of `steps_per_piece` steps.
    NumericalError: the run blew up.
    """
    case = config.case
    simulation = Simulation(config)
    truth_step = round(case.spinup * DAY / simulation.dt)
    guess_step = truth_step - min(truth_step, round(case.lead * DAY / simulation.dt))
    max_steps = steps_per_piece(simulation.config)

    def advance_to(step: int) -> State:
        while simulation.step < step:
            tick()
            simulation.take_steps(min(max_steps, step - simulation.step))
        simulation.health()  # `take_steps` does not check the state
        return jax.tree.map(np.copy, simulation.state)  # later steps reuse the memory

    guess = advance_to(guess_step)
    return TwinStates(advance_to(truth_step), guess)


#: Files in the folder of a twin experiment: its states at the start of the window, and its observations.
STATE_FILE, OBSERVATION_FILE = "twin.h5", "twin_observations.nc"


class Experiment(NamedTuple):
    """The inputs of an assimilation.

    Attributes:
        problem: the run with the configuration of the first guess, as a function of its controls.
        first_guess: all controls of the problem, by name.
        background: the BackgroundErrors of the estimated controls; None without derivatives.
        observations, operator: the Observations, and the ObservationOperator that computes the model's values of them.
        truth: in a twin experiment the true controls, by name; else None. The true corrections are the coefficients of
            the truth minus those of the first guess.
        true_config: in a twin experiment the configuration of the truth; else None.
    """

    problem: Problem
    first_guess: dict
    background: BackgroundErrors | None
    observations: Observations
    operator: ObservationOperator
    truth: dict | None = None
    true_config: Config | None = None

    @property
    def controls(self) -> tuple[str, ...]:
        return tuple(self.problem.config.assimilation.controls)


def prepare_experiment(
    config: Config,
    directory,
    memory: int | None,
    command_line: str = "",
    tick: Callable = lambda transport: None,
    derivatives: bool = True,
) -> Experiment:
    """The experiment of a configuration; all processes call this together.

    A twin experiment whose states are spun up (`is_spun_up_twin`) reads them from the folder, or computes them and
    writes them there. Any twin experiment does the same with observations, unless the configuration names a file of
    them. UsageError: a file in the folder is from another assimilation.

    Args:
        memory: see `Problem`.
        tick: function of the transport that is called between pieces of computation, also in the sweeps of the problem;
            it may raise.
        derivatives: whether to compile the derivatives of the problem and to set `Experiment.background`.
    """
    options, directory, has_truth = config.assimilation, Path(directory), is_twin(config)
    control_names = tuple(dict.fromkeys([*(("eta", "u", "v") if is_spun_up_twin(config) else ()), *options.controls]))
    problem, observer = make_problem(
        prior_config(config) if has_truth else config, control_names, options.every_steps, tick, memory
    )
    first_guess, truth = problem.first_guess(), None
    if options.observations:
        observations = read_observations(options.observations, problem.config)
    else:
        observations = make_network(problem.config)
    observer.operator = make_operator(observations, problem.config, problem.block, options.every_steps)
    if derivatives:
        problem.prepare(first_guess)
    if has_truth:
        true_problem, true_observer = make_problem(config, control_names, options.every_steps, tick, memory)
        truth = true_problem.first_guess()
        if is_spun_up_twin(config):
            states = load_or_make_states(config, problem, directory, tick)
            first_guess |= initial_controls(states.guess, problem)
            truth |= initial_controls(states.truth, problem)
        if not options.observations:
            observations = load_or_make_observations(
                true_problem, true_observer, truth, observations, directory, command_line
            )
        truth |= true_corrections(config, problem)
    background = first_guess_errors(config, problem.domain, first_guess.get("eta")) if derivatives else None
    return Experiment(
        problem, first_guess, background, observations, observer.operator, truth, config if has_truth else None
    )


def first_guess_errors(config: Config, domain, eta) -> BackgroundErrors:
    """The errors of a first guess with sea level `eta` (m, block); all processes of the Domain call this together."""
    errors = {name: errors_of_control(config, name) for name in config.assimilation.controls}
    if config.drying.active and "eta" in errors:  # an analysis adds no water to dry ground
        wet = np.asarray(eta) + resting_depth(domain) > 0
        errors["eta"] = errors["eta"]._replace(sigma=errors["eta"].sigma * wet)
    return make_background_errors(domain, errors, config.assimilation.balanced)


def errors_of_control(config: Config, name: str) -> ControlErrors:
    sigma = getattr(config.assimilation, sigma_key(name))
    if CONTROLS[name].control == "records":
        return ControlErrors(sigma * time_correlation_root(config, name))
    time_root = time_correlation_root(config, name) if name in CORRECTIONS else None
    return ControlErrors(sigma, correlation_length(config.assimilation, name), time_root)


def time_correlation_root(config: Config, name: str) -> np.ndarray:
    """The symmetric root of exp(-(t - s)²/(2 T²)) at the times t, s of a control's records; the identity if T is 0.

    T is `assimilation.correlation_time`.
    """
    times = corrections.record_times(setup_of(config), name)
    time_differences = (times - times[:, None]) / (config.assimilation.correlation_time or np.inf)
    C = np.exp(-0.5 * time_differences**2) if config.assimilation.correlation_time else np.eye(times.size)
    values, vectors = np.linalg.eigh(C)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T


class DeferredObserver:
    """An observer whose operator is set later, because the operator needs the block of the Problem."""

    operator: Any = None

    def __call__(self, view, k):
        return self.operator.observe(view, k)


def make_problem(
    config: Config, names, every: int, tick, memory: int | None = None
) -> tuple[Problem, DeferredObserver]:
    """A Problem that calls tick(transport) after each piece of a sweep, and its observer, still without operator.

    `every`: steps between samples; `memory`: see `Problem`, not needed without derivatives.
    """
    observer = DeferredObserver()
    problem = Problem(config, names, observer, every, memory)
    problem.split_into_pieces(steps_per_piece(problem.config), lambda *piece: tick(problem.transport))
    return problem, observer


def initial_controls(state: State, problem: Problem) -> dict:
    """eta, u and v of a State of this process's block, as controls."""
    fields = {"eta": state.h - resting_depth(problem.domain)} | state._asdict()
    return {name: jnp.asarray(fields[name]) for name in fields if name in CONTROLS}


def true_corrections(config: Config, problem: Problem) -> dict:
    """The true values of the corrections among the controls: coefficients of the truth minus those of the problem."""
    setup, (rows, columns) = problem.domain.setup, rows_and_columns(problem.block, 0)
    differences_by_name = {}
    for name in (name for name in problem.names if name in CORRECTIONS):
        coefficient = name.removesuffix(CORRECTION_SUFFIX)
        steps = np.minimum(corrections.record_times(setup, name) / config.time.dt, problem.steps)
        differences_by_name[name] = np.stack(
            [
                np.broadcast_to(value_at(config, coefficient, step, rows, columns), problem.block.shape)
                - value_at(problem.config, coefficient, step, rows, columns)
                for step in steps
            ]
        )
    return differences_by_name


def resting_depth(domain):
    """The resting depth of a Domain's block, m, [ny, nx] or broadcast to it."""
    depth = as_patches(domain.grid, domain.scheme.static_halo).depth
    return np.asarray(depth.block_values(domain.transport.block.shape))


def load_or_make_states(config: Config, problem: Problem, directory: Path, tick) -> TwinStates:
    """Truth and first guess at the start of the window, read from the folder if they are there."""
    path, transport = directory / STATE_FILE, problem.transport
    if transport.broadcast(path.exists()):
        fields, saved_config = read_blocks(path, problem.block)
        mismatches = differences(saved_config, to_toml(config), run_values_fixed_on_resume)
        require_same_assimilation(mismatches, path)
        state_type = problem.domain.scheme.state_type
        return TwinStates(
            *(state_type(*(fields[f"{role} {name}"] for name in state_type._fields)) for role in TwinStates._fields)
        )
    states = spin_up(config, lambda: tick(transport))
    fields = {
        f"{role} {name}": values for role, state in states._asdict().items() for name, values in state._asdict().items()
    }
    shape = problem.config.grid.ny, problem.config.grid.nx
    write_blocks(path, fields, to_toml(config), shape, transport)
    return states


def load_or_make_observations(
    problem: Problem, observer: DeferredObserver, truth: dict, network, directory: Path, command_line: str
):
    """Observations of the truth, with errors, read from a file in the folder so that all processes have the same ones.

    If the file does not exist, the observations are computed from a run of the truth and written first.

    Args:
        problem, observer: the Problem of the truth, and its observer, still without operator.
        network: Observations without values.
    """
    path, config = directory / OBSERVATION_FILE, problem.config
    case = config.case
    if not problem.transport.broadcast(path.exists()):
        observer.operator = make_operator(network, config, problem.block, problem.every)
        samples = problem.transport.reduce(np.asarray(problem.series(truth)), "sum")
        values = np.asarray(observer.operator.collect(samples), np.float64)
        observed = observe_run(network, values, config, case.seed)
        if problem.transport.rank == 0:
            write_observations(path, observed, config, command_line)
        problem.transport.barrier()
    stored = read_observations(path, config)
    if any(
        not np.array_equal(getattr(stored, name), getattr(network, name)) for name in ("quantity", "time", "x", "y")
    ):
        raise UsageError(f"{path} is from another assimilation: its quantities, positions or times differ")
    return stored
