"""The time loop of a run or an ensemble: steps and, between them, records, restart files and health checks."""

from __future__ import annotations

import contextlib
import logging
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..config import Config
from ..errors import EXIT_STOPPED, UsageError, exit_code, translate_os_errors
from ..files import lock, run_folder
from ..files.restart.folder import choose_restart, require_same_run, restart_path, set_aside_later_files
from ..files.restart.restarts import RestartWriter
from ..files.status import write_status
from ..parallel.environment import peak_memory
from ..parallel.stop import StopRequests, stopped_error
from .accumulators import NO_ACCUMULATORS, Accumulators
from .calls import ScheduledCalls
from .substeps import ONE_SUBSTEP
from .validate import require_length
from .varying_params import VaryingParams

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from ..files.restart.read import LoadedRestart
    from ..ocean.state import Carry
    from ..parallel.transport.transport import Transport
    from ..setup.setup import Setup
    from .health import Health
    from .results import Results

log = logging.getLogger(__name__)

#: Wall-clock seconds of a chunk of steps, after which the loop checks the clock, signals and the state's health, and
#: reports progress.
CHUNK_SECONDS = 0.5
#: Number of first chunks that ignore the wall-clock limit: the first is one step; the second shows how long a chunk
#: takes.
MIN_CHUNKS = 2
NO_CALLS = ScheduledCalls()


class TimeLoopModel:
    """Base class of what the time loop advances: a Simulation, or the Members of an ensemble.

    All processes call each method together.

    Attributes:
        setup, config: the Setup of the run or of a member, and the configuration.
        transport: the transport between the processes.
        carry: the carry of the executor, on the devices; with a leading axis of members for an ensemble.
        state: the State on this process, NumPy arrays [y, x]; [members, y, x] for an ensemble.
        restart: the `files.restart.read.LoadedRestart` that the model started from; None: the initial state.
        first_step: number of steps before the construction of this object.
        dt: time step, s.
        construction_start_time: start of the construction, by time.perf_counter.
        compile_seconds: time spent on compilation, s.
    """

    setup: Setup
    config: Config
    transport: Transport
    carry: Carry
    restart: LoadedRestart | None
    first_step: int
    dt: float
    construction_start_time: float
    compile_seconds: float
    _forcing: VaryingParams
    _substep_chooser = ONE_SUBSTEP
    _step = 0
    _loop_seconds = 0.0

    @property
    def step(self) -> int:
        return self._step

    @property
    def time(self) -> float:
        """Model time, s."""
        return self._step * self.dt

    @property
    def substeps(self) -> int:
        """The number of substeps of the last step."""
        return self._substep_chooser.substeps

    @property
    def loop_seconds(self) -> float:
        """Time spent on steps, s."""
        return self._loop_seconds

    def take_steps(self, steps: int, accumulators: Accumulators = NO_ACCUMULATORS) -> None:
        """Compute time steps, and add each state to the accumulators; the caller checks the state afterwards."""
        start_time, last = time.perf_counter(), self._step + steps
        while self._step < last:
            if not (self._forcing.is_valid_at(self._step) and self._substep_chooser.is_valid_at(self._step)):
                self._load_coefficients()
            n_steps = self._substep_chooser.next_change(self._forcing.next_change(last)) - self._step
            with self._forcing.prefetch():
                self._advance(n_steps, accumulators)
            self._step += n_steps
        self._loop_seconds += time.perf_counter() - start_time

    def restart_notes(self) -> str:
        """Notes of a restart file about time records (`setup.fields.record_notes`); all processes call it together."""
        return self._forcing.restart_notes(self._step)

    def get(self, tree: Any) -> Any:
        """Arrays from the devices as NumPy arrays of this process."""
        raise NotImplementedError

    def health(self, directory: Any = None) -> Health:
        raise NotImplementedError

    def results(self, directory: Any, command_line: str = "", resume: bool = False) -> AbstractContextManager[Results]:
        """A context with the Results, whose files are closed at its end; `resume`: continue those in `directory`."""
        raise NotImplementedError

    def _load_coefficients(self) -> None:
        """Load the coefficients of the present step."""
        raise NotImplementedError

    def _advance(self, steps: int, accumulators: Accumulators = NO_ACCUMULATORS) -> None:
        """Compute steps in which the coefficients do not change."""
        raise NotImplementedError


def run_on_rank_zero(transport: Transport, function):
    """The result of function() on rank 0, broadcast to all processes; an error is raised on all of them."""
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


def run_in_folder(model, directory, progress=None, force: bool = False, calls: ScheduledCalls = NO_CALLS) -> None:
    """Lock the folder and run a model into it; see `Simulation.run`."""
    require_length(model.config)
    if model.step > model.config.run.steps:
        raise UsageError(f"step {model.step} is beyond the {model.config.run.steps} steps of the run")
    with contextlib.ExitStack() as stack:
        resume = run_on_rank_zero(model.transport, lambda: lock_run_folder(stack, model, Path(directory), force))
        if resume:
            calls.expected |= Counter(model.restart.config.python.calls)
        if not resume or model.step < model.config.run.steps:
            run(model, directory, progress, resume=resume, calls=calls)
        elif model.transport.rank == 0:
            log.warning("%s: the run is complete at step %d; a larger run.steps extends it", directory, model.step)


def lock_run_folder(stack, model, directory: Path, force: bool) -> bool:
    """Lock the folder until the context `stack` ends; returns whether the model continues the run in the folder.

    It continues the run if it started from a restart file of this run and has not been advanced.
    """
    resume = model.restart is not None and model.step == model.restart.step
    resume = resume and Path(model.restart.path).resolve().parent == (directory / run_folder.RESTART_FOLDER).resolve()
    if resume and force:
        raise UsageError(
            f"{directory} holds the run that this Simulation continues; omit force=True, or give another folder"
        )
    run_folder.check_overwritable(directory, force or resume, for_python=True)
    stack.enter_context(lock.hold_folder(directory))
    # Check again, because another run may have ended in the folder before this one locked it.
    run_folder.check_overwritable(directory, force or resume, for_python=True, has_lock=True)
    if resume:
        restart, _ = choose_restart(directory, Path(model.restart.path).name)
        require_same_run(model.config, restart)
    return resume


def run(
    model: TimeLoopModel,
    directory,
    progress: Callable | None = None,
    command_line: str = "",
    resume: bool = False,
    calls: ScheduledCalls = NO_CALLS,
) -> None:
    """Run a model from its present step to the end of its configuration; all processes call it together.

    Writes config.toml, the model's results and restart/ into `directory` and, at the end of the time loop and even
    after errors, status.json. Files of an earlier run are removed, unless `resume` continues it, so the caller must
    have locked the folder (`lock.hold_folder`). For errors see `Simulation.run`.

    Args:
        progress: function that rank 0 calls with a `progress_event` at the start and after each chunk of steps.
        command_line: text for the files' history.
        resume: whether the model started from a restart file of the run in `directory` and continues its files.
    """
    directory = Path(directory)
    calls.check_agreement(model)
    config = calls.config_with_calls(model.config)
    run_on_rank_zero(model.transport, lambda: prepare_run_folder(directory, model.step, config, resume))
    state, code, message, peak_bytes = "completed", 0, "", None
    try:
        with StopRequests(model.config.run.walltime, MIN_CHUNKS) as stop:
            reason = _loop(model, config, directory, progress, command_line, resume, stop, calls)
        peak_bytes = int(model.transport.reduce(np.asarray(peak_memory()), "max"))
        if reason:
            how = f"`swmodel resume {directory}`"
            if config.python.calls or config.python.terms:
                how = f'Simulation.resume("{directory}"), with every(...) and terms as before, and run("{directory}")'
            raise stopped_error(reason, model, how_to_continue=how) from calls.error
    except BaseException as error:
        code, message = exit_code(error), str(error)
        state = "stopped" if code == EXIT_STOPPED else "failed"
        raise
    finally:
        if model.transport.rank == 0:
            numbers = status_contents(model, time.perf_counter() - model.construction_start_time)
            # The largest of all ranks or, after a failure, that of this rank.
            numbers["peak_memory_bytes"] = peak_bytes or peak_memory()
            write_status(directory, state=state, exit_code=code, message=message, **numbers)


def prepare_run_folder(directory: Path, step: int, config: Config, resume: bool) -> None:
    """Create the run folder with config.toml, without files of an earlier run.

    If the run is resumed, its files stay, except its status and blowup.nc; restart files after `step` are renamed.
    """
    with translate_os_errors(directory, "written"):
        if resume:
            run_folder.remove_status_and_blowup(directory)
            set_aside_later_files(directory, step)
        else:
            run_folder.prepare_for_new_run(directory)
        run_folder.write_config(directory, config)


def _loop(
    model: TimeLoopModel,
    config: Config,
    directory: Path,
    progress,
    command_line: str,
    resume: bool,
    stop: StopRequests,
    calls: ScheduledCalls,
) -> str | None:
    """Run to the end or to a stop; returns the reason for a stop. `config` is that of config.toml."""
    transport, first, steps = model.transport, model.step, model.config.run.steps
    path = restart_path(directory, first, model.config.restart.format)
    has_restart_file = resume and model.restart is not None and Path(model.restart.path).absolute() == path.absolute()
    restarts = RestartWriter(model, config, directory, command_line, first if has_restart_file else -1)
    health = model.health(directory)
    chunk_steps, is_restart_overdue, start_time = 1, False, time.perf_counter()
    with model.results(directory, command_line, resume) as results:
        while True:
            step = model.step
            has_new_record = step > first or not resume
            if has_new_record:
                results.write()
            if progress and transport.rank == 0:
                progress(progress_event(model, results.latest_numbers, time.perf_counter() - start_time))
            reason = None
            if calls and step > first:  # functions due at the first step have already been called
                carry_before = model.carry
                reason = calls.call_due_functions(model)
                if transport.any(model.carry is not carry_before):
                    health.set_start()  # because a function has set a new state
            reason = reason or (stop.reason(transport, results.has_failed()) if step < steps else None)
            if (has_new_record and restarts.is_due(step)) or is_restart_overdue or reason:
                results.flush()
                stop.restart_seconds = restarts.write(results.accumulators.restart_fields())
            if step == steps or reason:
                return reason
            last_of_chunk = step + min(chunk_steps, model.config.run.check_every_steps or chunk_steps)
            last = min(results.next_step(step), restarts.next(step), calls.next_step(step), last_of_chunk)
            while (step := model.step) < last:
                model.take_steps(results.accumulators.next_collection(last) - step, results.accumulators)
                results.accumulators.collect()
            health.check()
            seconds_per_step = model.loop_seconds / (model.step - model.first_step)
            next_chunk_steps = max(1, int(CHUNK_SECONDS / seconds_per_step))
            chunk_steps, is_restart_overdue = transport.broadcast((next_chunk_steps, restarts.is_overdue()))


def speeds(model: TimeLoopModel) -> dict[str, float]:
    """Cell updates per wall-clock second of the steps alone; for ensembles also steps of members per second."""
    cells, members = model.config.grid.nx * model.config.grid.ny, model.transport.block.members.axis_size
    steps = model.step - model.first_step
    speed = steps * members / model.loop_seconds if model.loop_seconds else 0.0
    return {"cell_updates_per_second": speed * cells} | ({"member_steps_per_second": speed} if members > 1 else {})


def progress_event(model: TimeLoopModel, numbers: dict, wall_seconds: float) -> dict:
    """The contents of a progress report: steps, times, speed, and the latest CFL number and energy."""
    step, steps = model.step, model.config.run.steps
    n_steps = step - model.first_step
    return {
        "step": step,
        "steps": steps,
        "model_seconds": model.time,
        "cfl": numbers.get("cfl"),
        "energy": numbers.get("energy"),
        "wall_seconds": wall_seconds,
        "remaining_seconds": wall_seconds * (steps - step) / n_steps if n_steps else None,
    } | speeds(model)


def status_contents(model: TimeLoopModel, wall_seconds: float) -> dict:
    run, members = model.config.run, model.transport.block.members.axis_size
    return {
        "steps": model.step,
        "model_seconds": model.time,
        "wall_seconds": wall_seconds,
        "compile_seconds": model.compile_seconds,
        "nproc": model.transport.size,
        "devices": run.devices,
        "layout": [int(number) for number in (run.layout or "1x1").split("x")],
        "executor": run.executor,
        "transport": model.transport.name,
        "dtype": run.dtype,
        **({"members": members} if members > 1 else {}),
        **speeds(model),
    }
