"""The time loop of a run: steps, and between them records, restarts, health and progress, into a run folder.

One loop serves a run and an ensemble: both are a Model.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ..config import Config
from ..errors import STOPPED, UsageError, exit_code, file_errors
from ..files import lock, run_folder
from ..files.restart.folder import choose, compare, path_of, set_aside
from ..files.restart.restarts import Restarts
from ..files.status import write_status
from ..parallel.environment import peak_memory
from ..parallel.stop import Stop, stopped
from .accumulators import NO_ACCUMULATORS, Accumulators
from .calls import Calls
from .forcing import Forcing
from .pace import FIXED
from .validate import require_length

log = logging.getLogger(__name__)

#: Wall-clock seconds between checks of the clock, the state's health and signals, with a line of progress.
CHUNK_SECONDS = 0.5
#: Chunks that ignore the wall-clock limit: the first has one step, the second measures the speed.
LEAST_CHUNKS = 2
#: No user-defined functions.
NONE = Calls()


class Model:
    """Base of models for the time loop, a Simulation or Members of an ensemble; all processes call it together.

    A subclass has `_exchange()`, which takes the coefficients of the present step, `_advance(steps, accumulators)`,
    `get`, which returns NumPy arrays of this process, `results` (`results.opened`) and `health`.

    Attributes:
        config: the configuration.
        transport: the transport between the processes.
        carry: the carry of the executor, on the devices; an ensemble has a leading axis of members.
        state: its fields on this process, NumPy arrays [y, x], those of an ensemble [members, y, x].
        restart: the `files.restart.read.Loaded` that the model started from; None: its initial state.
        first_step: number of steps before the construction of this object.
        dt: time step, s.
        begun: begin of the construction, by time.perf_counter.
        compile_seconds: time spent on compilation.
    """

    dt: float
    _forcing: Forcing
    _pace = FIXED
    _step = 0
    _loop_seconds = 0.0

    @property
    def step(self) -> int:
        """Steps taken."""
        return self._step

    @property
    def time(self) -> float:
        """Model time, s."""
        return self._step * self.dt

    @property
    def substeps(self) -> int:
        """The steps of the executor in the last step taken."""
        return self._pace.substeps

    @property
    def loop_seconds(self) -> float:
        """Time spent on steps, s."""
        return self._loop_seconds

    def take_steps(self, steps: int, accumulators: Accumulators = NO_ACCUMULATORS) -> None:
        """Compute time steps, each of which the accumulators add; the caller checks the state afterwards."""
        begin, last = time.perf_counter(), self._step + steps
        while self._step < last:
            if not (self._forcing.holds(self._step) and self._pace.holds(self._step)):
                self._exchange()
            some = self._pace.until(self._forcing.until(last)) - self._step
            with self._forcing.ahead():
                self._advance(some, accumulators)
            self._step += some
        self._loop_seconds += time.perf_counter() - begin

    def noted(self) -> str:
        """The notes of a restart file on records in time (`setup.fields.noted`); all processes call it together."""
        return self._forcing.noted(self._step)


def on_first(transport, function):
    """The result of function() on rank 0, broadcast to all processes, which also raise its error."""
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


def take_and_run(model, directory, progress=None, force: bool = False, calls: Calls = NONE) -> None:
    """Run a model into a folder that no other run holds; see `Simulation.run`."""
    require_length(model.config)
    if model.step > model.config.run.steps:
        raise UsageError(f"step {model.step} is beyond the {model.config.run.steps} steps of the run")
    with contextlib.ExitStack() as stack:
        resume = on_first(model.transport, lambda: take(stack, model, Path(directory), force))
        if resume:
            calls.wanted |= Counter(model.restart.config.python.calls)
        if not resume or model.step < model.config.run.steps:
            run(model, directory, progress, resume=resume, calls=calls)
        elif model.transport.rank == 0:
            log.warning("%s: the run is already at step %d; a larger run.steps extends it", directory, model.step)


def take(stack, model, directory: Path, force: bool) -> bool:
    """Lock the folder until the context `stack` ends; returns whether the model continues the run in it.

    It does if it started from a restart file of that run and has not been advanced. An error leaves the folder
    unchanged.
    """
    resume = model.restart is not None and model.step == model.restart.step
    resume = resume and Path(model.restart.path).resolve().parent == (directory / run_folder.RESTARTS).resolve()
    if resume and force:
        raise UsageError(
            f"{directory} has the run that this Simulation continues; leave out force=True, or give another folder"
        )
    run_folder.check_vacant(directory, force or resume, python=True)
    stack.enter_context(lock.held(directory))
    run_folder.check_vacant(directory, force or resume, python=True, held=True)  # another run may just have ended
    if resume:
        restart, _ = choose(directory, Path(model.restart.path).name)
        compare(model.config, restart)
    return resume


def run(
    model: Model,
    directory,
    progress: Callable | None = None,
    command_line: str = "",
    resume: bool = False,
    calls: Calls = NONE,
) -> None:
    """Run a model from its present step to the end of its configuration; all processes call it together.

    Writes into `directory`: config.toml, the model's results, restart/ and at last, also after errors, status.json. It
    replaces files of an earlier run: the caller has locked the folder (`lock.held`). For errors see `Simulation.run`.

    Args:
        progress: function that rank 0 calls with a dict after each chunk of steps (see `event`).
        command_line: text for the files' history.
        resume: whether the model started from a restart file of the run in `directory`, and continues its files.
    """
    directory = Path(directory)
    calls.agree(model)
    config = calls.recorded(model.config)
    on_first(model.transport, lambda: prepare(directory, model.step, config, resume))
    state, code, message, peak = "completed", 0, "", None
    try:
        with Stop(model.config.run.walltime, LEAST_CHUNKS) as stop:
            reason = _loop(model, config, directory, progress, command_line, resume, stop, calls)
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
            numbers["peak_memory_bytes"] = peak or peak_memory()  # the largest rank, or this one if the run failed
            write_status(directory, state=state, exit_code=code, message=message, **numbers)


def prepare(directory: Path, step: int, config: Config, resume: bool) -> None:
    """Make the run folder with config.toml, without files of an earlier run, or of this one beyond the step."""
    with file_errors(directory, "written"):
        if resume:
            run_folder.reopen(directory)
            set_aside(directory, step)
        else:
            run_folder.prepare(directory)
        run_folder.write_config(directory, config)


def _loop(
    model: Model, config: Config, directory: Path, progress, command_line: str, resume: bool, stop: Stop, calls: Calls
) -> str | None:
    """Run to the end or to a stop; returns the reason of a stop. `config` is the recorded configuration."""
    transport, first, steps = model.transport, model.step, model.config.run.steps
    path = path_of(directory, first, model.config.restart.format)
    at_hand = resume and Path(model.restart.path).absolute() == path.absolute()
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
            reason = None
            if calls and step > first:  # those of the first step were made before
                before = model.carry
                reason = calls.make(model)
                if transport.any(model.carry is not before):
                    health.begin()  # a function may set a new state
            reason = reason or (stop.reason(transport, results.failed()) if step < steps else None)
            if (fresh and restarts.due(step)) or overdue or reason:
                results.flush()
                stop.reserve = restarts.write(results.accumulators.stored())
            if step == steps or reason:
                return reason
            most = model.config.run.check_every_steps or chunk
            last = min(results.next(step), restarts.next(step), calls.next(step), step + min(chunk, most))
            while (step := model.step) < last:
                model.take_steps(results.accumulators.until(last) - step, results.accumulators)
                results.accumulators.collect()
            health.check()
            each = model.loop_seconds / (model.step - model.first_step)
            chunk, overdue = transport.broadcast((max(1, int(CHUNK_SECONDS / each)), restarts.overdue()))


def speeds(model: Model) -> dict[str, float]:
    """Cell updates per second of the time loop, without compilation and output; for ensembles members x steps, too."""
    cells, members = model.config.grid.nx * model.config.grid.ny, model.transport.block.members.size
    steps = model.step - model.first_step
    each = steps * members / model.loop_seconds if model.loop_seconds else 0.0
    return {"cell_updates_per_second": each * cells} | ({"member_steps_per_second": each} if members > 1 else {})


def event(model: Model, numbers: dict, wall_seconds: float) -> dict:
    """The contents of a progress display: steps, times, speed, and the latest CFL number and energy."""
    step, steps = model.step, model.config.run.steps
    done = step - model.first_step
    return {
        "step": step,
        "steps": steps,
        "model_seconds": model.time,
        "cfl": numbers.get("cfl"),
        "energy": numbers.get("energy"),
        "wall_seconds": wall_seconds,
        "remaining_seconds": wall_seconds * (steps - step) / done if done else None,
    } | speeds(model)


def status(model: Model, wall_seconds: float) -> dict:
    """The contents of status.json, except for the end of the run."""
    run, members = model.config.run, model.transport.block.members.size
    return {
        "steps": model.step,
        "model_seconds": model.time,
        "wall_seconds": wall_seconds,
        "compile_seconds": model.compile_seconds,
        "nproc": model.transport.size,
        "devices": run.devices,
        "layout": [int(parts) for parts in (run.layout or "1x1").split("x")],
        "executor": run.executor,
        "transport": model.transport.name,
        "dtype": run.dtype,
        **({"members": members} if members > 1 else {}),
        **speeds(model),
    }
