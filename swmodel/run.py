"""The run as configured: steps, and between them output, diagnostics, restarts, health, progress, into a run folder."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from . import run_folder
from .config import to_toml
from .environment import peak_memory
from .errors import STOPPED, FilesError, UsageError, exit_code
from .health import Health
from .means import Means
from .output import Diagnostics, Output
from .restart.folder import path_of, set_aside
from .restart.restarts import Restarts
from .schedule import Schedule
from .status import write_status
from .stop import Stop, stopped

#: Wall-clock seconds between two looks at the clock, the state's health and the progress line.
CHUNK_SECONDS = 0.5


def run(simulation, directory, progress=None, command_line: str = "", resume: bool = False) -> None:
    """Run `simulation` from its present step to the end of its configuration; called by all processes together.

    Leaves in `directory` (made if need be): config.toml, output.nc, diagnostics.nc, restart/ and, written last whatever
    happens, status.json. Those of an earlier run are replaced.

    Args:
        simulation: a Simulation.
        directory: the run folder.
        progress: called on rank 0 with a dict after each chunk of steps (see `event`).
        command_line: recorded in the files' history.
        resume: the simulation comes from a restart file of the run in `directory`, and goes on with the files there.

    Raises:
        UsageError: the simulation is beyond that end already.
        NumericalError: the solution blew up.
        FilesError: a file could not be written.
        Stopped: a signal or the wall-clock limit has ended the run, which can be resumed.
    """
    directory = Path(directory)
    if simulation.step > simulation.config.run.steps:
        raise UsageError(f"step {simulation.step} is beyond the {simulation.config.run.steps} steps of the run")
    problem = prepare(directory, simulation, resume) if simulation.transport.rank == 0 else None
    problem = simulation.transport.broadcast(problem)
    if problem is not None:
        raise problem
    state, code, message, peak = "completed", 0, "", None
    try:
        with Stop(simulation.config.run.walltime) as stop:
            reason = _loop(simulation, directory, progress, command_line, resume, stop)
        peak = int(simulation.transport.reduce(np.asarray(peak_memory()), "max"))
        if reason:
            raise stopped(reason, simulation, directory)
    except BaseException as error:
        code, message = exit_code(error), str(error)
        state = "stopped" if code == STOPPED else "failed"
        raise
    finally:
        if simulation.transport.rank == 0:
            numbers = status(simulation, time.perf_counter() - simulation.begun)
            numbers["peak_memory_bytes"] = peak or peak_memory()  # of the largest rank; of this one if the run failed
            write_status(directory, state=state, exit_code=code, message=message, **numbers)


def prepare(directory: Path, simulation, resume: bool) -> FilesError | None:
    """Make the run folder, with config.toml and without what belongs to an earlier run; the error if it cannot be."""
    try:
        if resume:
            run_folder.reopen(directory)
            set_aside(directory, simulation.step)
        else:
            run_folder.prepare(directory)
        run_folder.write_config(directory, to_toml(simulation.config))
    except FilesError as error:
        return error
    except OSError as error:
        return FilesError(f"{directory} cannot be written: {error.strerror}")
    return None


def schedules(config) -> tuple[Schedule, Schedule]:
    """When the records of output.nc and of diagnostics.nc are due."""
    options, dt, steps = config.output, config.time.dt, config.run.steps
    snapshots = Schedule(dt, steps, options.every_steps, options.every)
    every = options.diagnostics_every_steps
    return snapshots, Schedule(dt, steps, every) if every else snapshots


def keepers(simulation) -> list:
    """Functions of the step that say which records of output.nc and of diagnostics.nc a resumed run leaves.

    Those before its first step; and that of the first step itself unless it was only there because a run ended.
    """
    first = simulation.step
    before, over = schedules(simulation.restart.config), first == simulation.config.run.steps
    return [lambda step, s=s: step < first or (step == first and (over or s.regular(step))) for s in before]


def _loop(simulation, directory: Path, progress, command_line: str, resume: bool, stop: Stop) -> str | None:
    """Run to the end, or until asked to stop; the reason for that."""
    config, transport = simulation.config, simulation.transport
    first, steps, most = simulation.step, config.run.steps, config.run.check_every_steps
    snapshots, records = schedules(config)
    means = simulation.means(config.output.means) if config.output.means else None
    if means and simulation.restart:
        means.reset(simulation.restart.means, simulation.restart.mean_steps)
    keep, other_keep = keepers(simulation) if resume else (None, None)
    at_hand = resume and Path(simulation.restart.path).absolute() == path_of(directory, first).absolute()
    restarts = Restarts(simulation, directory, command_line, first if at_hand else -1)
    health = Health(simulation, directory)
    numbers, chunk, overdue, begin = {}, 1, False, time.perf_counter()
    with (
        Diagnostics(directory / run_folder.DIAGNOSTICS, config, transport, command_line, other_keep) as series,
        Output(directory / run_folder.OUTPUT, config, transport, command_line, keep) as output,
    ):
        while True:
            step = simulation.step
            fresh = step > first or not resume
            if fresh and (snapshots.due(step) or step == first):
                output.write(step, simulation.time, simulation.fields(output.names), means and means.values())
                if means and snapshots.regular(step):
                    means.reset()
            if fresh and (records.due(step) or step == first):
                numbers = simulation.diagnostics()
                series.write(step, simulation.time, numbers)
            if progress and transport.rank == 0:
                progress(event(simulation, numbers, time.perf_counter() - begin))
            reason = stop.asked(transport) if step < steps else None
            if (fresh and restarts.due(step)) or overdue or reason:
                output.flush()
                series.flush()
                stop.reserve = restarts.write(means)
            if step == steps or reason:
                return reason
            due = (schedule.next(step) for schedule in (snapshots, records, restarts))
            until = min(*due, step + chunk, step + (most or chunk))
            if means:
                _advance_with_means(simulation, means, until - step)
            else:
                simulation.advance(until - step)
            health.check()
            each = simulation.loop_seconds / (simulation.step - simulation.first_step)
            chunk, overdue = transport.broadcast((max(1, int(CHUNK_SECONDS / each)), restarts.overdue()))


def _advance_with_means(simulation, means: Means, steps: int) -> None:
    for _ in range(steps):
        simulation.advance(1)
        means.add(simulation.carry.state)


def speed(simulation) -> float:
    """Cell updates per second of the time loop so far, compilation and writing apart."""
    cells = simulation.config.grid.nx * simulation.config.grid.ny
    steps = simulation.step - simulation.first_step
    return steps * cells / simulation.loop_seconds if simulation.loop_seconds else 0.0


def event(simulation, numbers: dict, wall_seconds: float) -> dict:
    """What a progress display shows: steps, times, speed, and the latest CFL number and energy."""
    step, steps = simulation.step, simulation.config.run.steps
    done = step - simulation.first_step
    return {
        "step": step,
        "steps": steps,
        "model_seconds": simulation.time,
        "cell_updates_per_second": speed(simulation),
        "cfl": numbers.get("cfl"),
        "energy": numbers.get("energy"),
        "wall_seconds": wall_seconds,
        "eta_seconds": wall_seconds * (steps - step) / done if done else None,
    }


def status(simulation, wall_seconds: float) -> dict:
    """What status.json says besides how the run ended."""
    run = simulation.config.run
    return {
        "steps": simulation.step,
        "model_seconds": simulation.time,
        "wall_seconds": wall_seconds,
        "compile_seconds": simulation.compile_seconds,
        "cell_updates_per_second": speed(simulation),
        "nproc": simulation.transport.size,
        "devices": run.devices,
        "layout": [int(parts) for parts in run.layout.split("x")],
        "executor": run.executor,
        "transport": simulation.transport.name,
        "dtype": run.dtype,
    }
