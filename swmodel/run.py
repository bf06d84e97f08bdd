"""The run as configured: steps, and between them output, diagnostics, health and progress, into a run folder."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from . import run_folder
from .config import to_toml
from .environment import peak_memory
from .errors import STOPPED, FilesError, exit_code
from .means import Means
from .output import Diagnostics, Output
from .schedule import Schedule
from .status import write_status

#: Wall-clock seconds between two looks at the clock, the state's health and the progress line.
CHUNK_SECONDS = 0.5


def run(simulation, directory, progress=None, command_line: str = "") -> None:
    """Run `simulation` from its present step to the end of its configuration; called by all processes together.

    Leaves in `directory` (made if need be): config.toml, output.nc, diagnostics.nc and, written last whatever happens,
    status.json. Those of an earlier run are replaced.

    Args:
        simulation: a Simulation.
        directory: the run folder.
        progress: called on rank 0 with a dict after each chunk of steps (see `event`).
        command_line: recorded in the files' history.

    Raises:
        NumericalError: the solution blew up.
        FilesError: a file could not be written.
    """
    directory = Path(directory)
    problem = prepare(directory, simulation.config) if simulation.transport.rank == 0 else None
    problem = simulation.transport.broadcast(problem)
    if problem is not None:
        raise problem
    state, code, message, peak = "completed", 0, "", None
    try:
        _loop(simulation, directory, progress, command_line)
        peak = int(simulation.transport.reduce(np.asarray(peak_memory()), "max"))
    except BaseException as error:
        code, message = exit_code(error), str(error)
        state = "stopped" if code == STOPPED else "failed"
        raise
    finally:
        if simulation.transport.rank == 0:
            numbers = status(simulation, time.perf_counter() - simulation.begun)
            numbers["peak_memory_bytes"] = peak or peak_memory()  # of the largest rank; of this one if the run failed
            write_status(directory, state=state, exit_code=code, message=message, **numbers)


def prepare(directory: Path, config) -> FilesError | None:
    """Make the run folder, with config.toml and without the files of an earlier run; the error if it cannot be."""
    try:
        run_folder.prepare(directory)
        (directory / run_folder.CONFIG).write_text(to_toml(config), encoding="utf-8")
    except FilesError as error:
        return error
    except OSError as error:
        return FilesError(f"{directory} cannot be written: {error.strerror}")
    return None


def _loop(simulation, directory: Path, progress, command_line: str) -> None:
    config, transport = simulation.config, simulation.transport
    options, steps = config.output, config.run.steps
    snapshots = Schedule(simulation.dt, steps, options.every_steps, options.every)
    records = snapshots
    if options.diagnostics_every_steps:
        records = Schedule(simulation.dt, steps, options.diagnostics_every_steps)
    means = simulation.means(options.means) if options.means else None
    numbers, chunk, begin = {}, 1, time.perf_counter()
    with (
        Diagnostics(directory / "diagnostics.nc", config, transport, command_line=command_line) as series,
        Output(directory / "output.nc", config, transport, command_line=command_line) as output,
    ):
        while True:
            step = simulation.step
            if snapshots.due(step):
                output.write(step, simulation.time, simulation.fields(options.fields), means and means.take())
            if records.due(step):
                numbers = simulation.diagnostics()
                series.write(step, simulation.time, numbers)
            if progress and transport.rank == 0:
                progress(event(simulation, numbers, time.perf_counter() - begin))
            if step == steps:
                break
            until = min(snapshots.next(step), records.next(step), step + chunk)
            if means:
                _advance_with_means(simulation, means, until - step)
            else:
                simulation.advance(until - step)
            simulation.check()
            chunk = transport.broadcast(max(1, int(CHUNK_SECONDS * simulation.step / simulation.loop_seconds)))


def _advance_with_means(simulation, means: Means, steps: int) -> None:
    for _ in range(steps):
        simulation.advance(1)
        means.add(simulation.carry.state)


def speed(simulation) -> float:
    """Cell updates per second of the time loop so far, compilation and writing apart."""
    cells = simulation.config.grid.nx * simulation.config.grid.ny
    return simulation.step * cells / simulation.loop_seconds if simulation.loop_seconds else 0.0


def event(simulation, numbers: dict, wall_seconds: float) -> dict:
    """What a progress display shows: steps, times, speed, and the latest CFL number and energy."""
    step, steps = simulation.step, simulation.config.run.steps
    return {
        "step": step,
        "steps": steps,
        "model_seconds": simulation.time,
        "cell_updates_per_second": speed(simulation),
        "cfl": numbers.get("cfl"),
        "energy": numbers.get("energy"),
        "wall_seconds": wall_seconds,
        "eta_seconds": wall_seconds * (steps - step) / step if step else None,
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
        "layout": list(simulation.block.layout),
        "executor": run.executor,
        "transport": simulation.transport.name,
        "dtype": run.dtype,
    }
