"""The time loop of a run: steps, and between them records, restarts, health and progress, into a run folder.

One loop serves a run and an ensemble: both are a Model.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..config import Config
from ..errors import STOPPED, exit_code, file_errors
from ..files import run_folder
from ..files.restart.folder import path_of, set_aside
from ..files.restart.restarts import Restarts
from ..files.status import write_status
from ..ocean.state import Carry, State
from ..parallel.environment import peak_memory
from ..parallel.stop import Stop, stopped
from ..parallel.transport import Transport
from .accumulators import NO_ACCUMULATORS, Accumulators
from .calls import Calls
from .health import Health

#: Wall-clock seconds between two looks at the clock, the state's health and the signals, with a line of progress.
CHUNK_SECONDS = 0.5
#: Chunks that are made whatever the wall-clock limit: the first has one step, the second measures the speed.
LEAST_CHUNKS = 2
#: No functions to call on the way.
NONE = Calls()


class Results(Protocol):
    """What a model writes besides restarts. All methods are called by all processes together, and raise FilesError on
    all.

    Attributes:
        accumulators: what is kept of the states after each step.
        numbers: `cfl` and `energy` of the latest record, for the progress display.
    """

    accumulators: Accumulators
    numbers: dict[str, float]

    def write(self) -> None:
        """Write the records that are due at the model's present step; at its first step all are."""

    def next(self, step: int) -> int:
        """The first step after `step` at which a record is due."""

    def flush(self) -> None:
        """Make all records so far durable."""


class Model(Protocol):
    """What the time loop computes: a Simulation, or the Members of an ensemble. Made by all processes together.

    Attributes:
        config: that of the run.
        transport: the one between the processes.
        carry: that of the executor, on the devices; an ensemble has an axis of members first.
        state: its fields on this process, NumPy arrays [y, x], those of an ensemble [members, y, x].
        restart: the `files.restart.read.Loaded` that the model comes from; None: it comes from its initial state.
        step: steps taken; `first_step` of them before this object was made.
        dt, time: time step and model time, s.
        begun: when the construction began, on the clock time.perf_counter.
        compile_seconds, loop_seconds: time spent on compilation and on steps.
    """

    config: Config
    transport: Transport
    carry: Carry
    state: State
    restart: Any
    step: int
    first_step: int
    dt: float
    time: float
    begun: float
    compile_seconds: float
    loop_seconds: float

    def take_steps(self, steps: int, accumulators: Accumulators = NO_ACCUMULATORS) -> None:
        """Compute time steps, each of which the accumulators add."""

    def noted(self) -> str:
        """What a restart file notes of records in time (`setup.fields.noted`); called by all processes together."""

    def get(self, tree):
        """Arrays of a carry or of means, as NumPy arrays of this process."""

    def results(self, directory, command_line: str = "", resume: bool = False) -> AbstractContextManager[Results]:
        """A context with the Results that write into a run folder; its end closes the files.

        Args:
            command_line: recorded in the files' history.
            resume: go on with the files of the run that wrote the restart file.
        """

    def health(self, directory=None) -> Health:
        """The Health of the model; `directory` is where a blow-up leaves its state."""


def on_first(transport, function):
    """What function() returns on rank 0, broadcast to all processes; its error is raised on all."""
    result = problem = None
    if transport.rank == 0:
        try:
            result = function()
        except Exception as error:
            problem = error
    result, problem = transport.broadcast((result, problem))
    if problem is not None:
        raise problem
    return result


def run(
    model: Model,
    directory,
    progress: Callable | None = None,
    command_line: str = "",
    resume: bool = False,
    calls: Calls = NONE,
) -> None:
    """Run a model from its present step to the end of its configuration; called by all processes together.

    Leaves in `directory` (made if need be): config.toml, the model's results, restart/ and, written last whatever
    happens, status.json. Those of an earlier run are replaced: the caller holds the folder (`lock.held`). For errors
    see `Simulation.run`.

    Args:
        progress: called on rank 0 with a dict after each chunk of steps (see `event`).
        command_line: recorded in the files' history.
        resume: the model comes from a restart file of the run in `directory`, and goes on with the files there.
        calls: functions to call on the way.
    """
    directory = Path(directory)
    calls.agree(model)
    config = calls.recorded(model.config)
    on_first(model.transport, lambda: prepare(directory, model.step, config, resume))
    state, code, message, peak = "completed", 0, "", None
    try:
        with Stop(model.config.run.walltime, LEAST_CHUNKS) as stop:
            reason = _loop(model, config, directory, progress, (command_line, resume), stop, calls)
        peak = int(model.transport.reduce(np.asarray(peak_memory()), "max"))
        if reason:
            own = config.python.calls or config.python.terms
            in_python = f'Simulation.resume("{directory}"), with every(...) and terms as before, and run("{directory}")'
            raise stopped(reason, model, in_python if own else f"`swmodel resume {directory}`") from calls.error
    except BaseException as error:
        code, message = exit_code(error), str(error)
        state = "stopped" if code == STOPPED else "failed"
        raise
    finally:
        if model.transport.rank == 0:
            numbers = status(model, time.perf_counter() - model.begun)
            numbers["peak_memory_bytes"] = peak or peak_memory()  # of the largest rank; of this one if the run failed
            write_status(directory, state=state, exit_code=code, message=message, **numbers)


def prepare(directory: Path, step: int, config: Config, resume: bool) -> None:
    """Make the run folder, with config.toml and without files of an earlier run, or of this one behind the step."""
    with file_errors(directory, "written"):
        if resume:
            run_folder.reopen(directory)
            set_aside(directory, step)
        else:
            run_folder.prepare(directory)
        run_folder.write_config(directory, config)


def _loop(model: Model, config: Config, directory: Path, progress, options, stop: Stop, calls: Calls) -> str | None:
    """Run to the end, or until asked to stop, and return the reason.

    Args:
        config: as the run records it.
        options: command_line and resume.
    """
    command_line, resume = options
    transport, first, steps = model.transport, model.step, model.config.run.steps
    at_hand = resume and Path(model.restart.path).absolute() == path_of(directory, first).absolute()
    restarts = Restarts(model, config, directory, command_line, first if at_hand else -1)
    health = model.health(directory)
    chunk, overdue, begin = 1, False, time.perf_counter()
    with model.results(directory, command_line, resume) as results:
        while True:
            step = model.step
            fresh = step > first or not resume
            if fresh:
                results.write()
            if progress and transport.rank == 0:
                progress(event(model, results.numbers, time.perf_counter() - begin))
            reason = make_calls(calls, model, health) if step > first else ""  # those of the first step have been made
            reason = reason or (stop.reason(transport) if step < steps else None)
            if (fresh and restarts.due(step)) or overdue or reason:
                results.flush()
                stop.reserve = restarts.write(results.accumulators.stored())
            if step == steps or reason:
                return reason
            most = model.config.run.check_every_steps or chunk
            due = min(results.next(step), restarts.next(step), calls.next(step))
            advance(model, results, min(due, step + min(chunk, most)))
            health.check()
            each = model.loop_seconds / (model.step - model.first_step)
            chunk, overdue = transport.broadcast((max(1, int(CHUNK_SECONDS / each)), restarts.overdue()))


def make_calls(calls: Calls, model: Model, health: Health) -> str:
    """See `Calls.make`; what a function has set is no blow-up: health begins anew with it."""
    if not calls:
        return ""
    before = model.carry
    reason = calls.make(model)
    if model.transport.any(model.carry is not before):
        health.begin()
    return reason


def advance(model: Model, results: Results, last: int) -> None:
    """Have the model take steps up to `last`, and collect what is accumulated on the way."""
    while (step := model.step) < last:
        model.take_steps(results.accumulators.until(last) - step, results.accumulators)
        results.accumulators.collect()


def speed(model: Model) -> float:
    """Cell updates per second of the time loop so far, of all members together, without compilation and writing."""
    cells = model.config.grid.nx * model.config.grid.ny * members_of(model)
    steps = model.step - model.first_step
    return steps * cells / model.loop_seconds if model.loop_seconds else 0.0


def members_of(model: Model) -> int:
    """How many runs are computed together: 1, or the members of an ensemble."""
    return model.transport.block.members.size


def of_members(model: Model) -> dict:
    """The speed of an ensemble: members times steps per second."""
    return {"member_steps_per_second": speed(model) / (model.config.grid.nx * model.config.grid.ny)}


def event(model: Model, numbers: dict, wall_seconds: float) -> dict:
    """What a progress display shows: steps, times, speed, and the latest CFL number and energy."""
    step, steps = model.step, model.config.run.steps
    done = step - model.first_step
    known = {
        "step": step,
        "steps": steps,
        "model_seconds": model.time,
        "cell_updates_per_second": speed(model),
        "cfl": numbers.get("cfl"),
        "energy": numbers.get("energy"),
        "wall_seconds": wall_seconds,
        "remaining_seconds": wall_seconds * (steps - step) / done if done else None,
    }
    return known | (of_members(model) if members_of(model) > 1 else {})


def status(model: Model, wall_seconds: float) -> dict:
    """What status.json says, apart from how the run ended."""
    run = model.config.run
    known = {
        "steps": model.step,
        "model_seconds": model.time,
        "wall_seconds": wall_seconds,
        "compile_seconds": model.compile_seconds,
        "cell_updates_per_second": speed(model),
        "nproc": model.transport.size,
        "devices": run.devices,
        "layout": [int(parts) for parts in (run.layout or "1x1").split("x")],
        "executor": run.executor,
        "transport": model.transport.name,
        "dtype": run.dtype,
    }
    members = members_of(model)
    return known | ({"members": members} | of_members(model) if members > 1 else {})
