"""Samples of the model: a run timed in parts, a gradient, a run with output, an ensemble."""

from __future__ import annotations

import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

import swmodel

from ..executors.native.step_table import bytes_per_cell
from ..executors.targets import TARGETS
from ..gradients import Problem
from ..gradients.check import CHECKS, ERROR_BOUNDS, Checks
from ..model.ensemble import settings
from ..model.ensemble.members import Members
from ..model.health import Health
from . import reference_check
from .process_measures import (
    count_messages,
    describe_launch,
    max_over_processes,
    measure_steps,
    peak_memory_bytes,
    time_call,
)
from .sweeps import BenchRow

if TYPE_CHECKING:
    from ..parallel.transport.transport import Transport

#: The control variables of gradients.
CONTROLS = ("eta", "u", "v")
#: Perturbation of the initial sea level of members, m, and its correlation length, in cells.
PERTURBATION_METRES, CORRELATION_LENGTH_CELLS = 1e-3, 10


def make_simulation(row: BenchRow, **options) -> swmodel.Simulation:
    executor_options: dict[str, Any] = {"steps_per_sweep": row.steps_per_sweep} if row.steps_per_sweep else {}
    return swmodel.Simulation(reference_check.make_config(row, **options), **executor_options)


def measure_model(row: BenchRow, task: dict) -> dict:
    """The sample of a row that measures the model or its start: start, check, and for the model timed steps.

    The result has a "reason" if the answer is wrong. A task has `launched` (start of the processes, s since 1970),
    `reference_file` (file of the state of the reference), `steps` (number of steps in an earlier sample, or None) and
    `check` (whether to check in double precision and count messages).
    """
    imports_end = time.time()
    simulation = make_simulation(row)
    build_end, transport = time.time(), simulation.transport

    def time_steps(n: int) -> float:
        return time_call(partial(simulation.take_steps, n), transport)

    time_steps(1)
    end_times = (imports_end, build_end - simulation.compile_seconds, build_end, time.time())
    sample = seconds_of_startup_parts(task["launched"], end_times, transport)
    time_steps(reference_check.CHECK_STEPS - 1)
    sample["memory_bytes"] = peak_memory_bytes(row, transport)  # before the check, which needs more memory
    expected = np.load(task["reference_file"], mmap_mode="r")
    roundings, reason = reference_check.check_state(simulation, expected, "at this size")
    if not reason and row.measure == "model":
        sample |= measure_steps(time_steps, row, task, transport)
        if row.executor in TARGETS:
            sample["bytes_per_cell"] = bytes_per_cell(simulation.setup)
        Health(simulation).check()
    result: dict[str, Any] = {"sample": sample, "differences": roundings, "launch": describe_launch(transport)}
    if not reason and task["check"]:
        result["traffic"] = count_messages(time_steps, row, transport)
        nx, ny = reference_check.SMALL_GRID
        small = make_simulation(row, grid__nx=nx, grid__ny=ny, run__dtype="float64")
        small.advance(reference_check.CHECK_STEPS)
        expected = reference_check.compute_reference(small.config)
        roundings, reason = reference_check.check_state(small, expected, "in double precision")
        result["differences_small"] = roundings
    return result | {"reason": reason}


def measure_gradient(row: BenchRow, task: dict) -> dict:
    """The sample of a gradient: forward and adjoint steps for a weighted sum of squares of the last state.

    The row fails if <M d, y> and <d, Mᵀ y> differ on a small grid in double precision; see `gradients.check`.
    """
    imports_end = time.time()
    checks = make_gradient_checks(row, run__steps=row.steps)
    problem, build_end = checks.problem, time.time()
    transport = problem.transport
    sample = {
        "build_seconds": build_end - imports_end,
        "first_step_seconds": max_over_processes(time.time() - task["launched"], transport),
        "memory_bytes": peak_memory_bytes(row, transport),
        "steps": row.steps,
        "seconds": time_call(partial(problem.value_and_gradient, checks.x, *checks.loss), transport),
    }
    result = {"sample": sample, "launch": describe_launch(transport), "reason": ""}
    if task["check"]:
        nx, ny = reference_check.SMALL_GRID
        small = make_gradient_checks(
            row, grid__nx=nx, grid__ny=ny, run__dtype="float64", run__steps=reference_check.CHECK_STEPS
        )
        error, bound = small.dot_product_error(), ERROR_BOUNDS["float64"][list(CHECKS).index("dot_product_error")]
        result["differences_small"] = {"adjoint": error}
        if not error <= bound:
            result["reason"] = f"wrong answer: the adjoint is not exact, <M d, y> and <d, Mᵀ y> differ by {error:.1e}"
    return result


def make_gradient_checks(row: BenchRow, **options) -> Checks:
    """The Checks of derivatives of a row with respect to the initial state, which have computed a first gradient."""
    return Checks(Problem(reference_check.make_config(row, **options), CONTROLS, lambda view, k: view.state))


def seconds_of_startup_parts(
    launch_time: float, end_times: tuple[float, ...], transport: Transport
) -> dict[str, float]:
    """The time from launch to the end of the first step, s, and its parts before that step.

    `end_times`: when imports, creation of the Simulation, compilation and the first step ended on this process. A part
    ends when the slowest process has finished it.
    """
    start, build, compilation, first = (max_over_processes(end - launch_time, transport) for end in end_times)
    parts = {"start_seconds": start, "build_seconds": build - start, "compile_seconds": compilation - build}
    return parts | {"first_step_seconds": first}


def measure_output(row: BenchRow, task: dict) -> dict:
    """The sample of a run with output, timed from the first step until all files are closed."""
    output_steps = row.writing if isinstance(row.writing, int) else row.steps
    simulation = make_simulation(row, run__steps=row.steps, output__every_steps=output_steps)
    simulation.take_steps(reference_check.CHECK_STEPS)
    expected = np.load(task["reference_file"], mmap_mode="r")
    roundings, reason = reference_check.check_state(simulation, expected, "at this size")
    result = {"differences": roundings, "launch": describe_launch(simulation.transport), "reason": reason}
    if reason:
        return result
    config = simulation.config
    del simulation  # free its fields before the next simulation
    simulation = swmodel.Simulation(config)
    transport = simulation.transport
    with tempfile.TemporaryDirectory(dir=Path(task["reference_file"]).parent) as name:
        folder = Path(transport.broadcast(name))
        take_steps = partial(simulation.take_steps, config.run.steps)
        seconds = time_call(take_steps if row.writing == "none" else partial(simulation.run, folder), transport)
        n_bytes = max_over_processes(sum(path.stat().st_size for path in list_result_files(folder)), transport)
    loop_seconds = max_over_processes(simulation.loop_seconds, transport)
    sample = {"steps": row.steps, "seconds": seconds, "step_seconds": loop_seconds, "written_bytes": int(n_bytes)}
    return result | {"sample": sample}


def list_result_files(folder: Path) -> list[Path]:
    """The files with results in a run folder, except restart files."""
    return [*folder.glob("*.nc"), *(path for path in folder.glob("*.zarr/**/*") if path.is_file())]


def measure_ensemble(row: BenchRow, task: dict) -> dict:
    """The sample of an ensemble; rank 0 checks member 0, which is not perturbed."""
    advance, transport, state = (make_separate_runs if row.advance == "runs" else make_ensemble)(row)
    advance(reference_check.CHECK_STEPS)
    roundings = None
    if transport.rank == 0:
        expected = np.load(task["reference_file"], mmap_mode="r")
        roundings = reference_check.differences_in_roundings(state(), expected, lambda values, _: values)
    roundings = transport.broadcast(roundings)
    reason = reference_check.failure_reason(roundings, "at this size")

    def time_steps(steps: int) -> float:
        transport.barrier()
        return max_over_processes(advance(steps), transport)

    sample = {} if reason else measure_steps(time_steps, row, task, transport)
    return {"sample": sample, "differences": roundings, "launch": describe_launch(transport), "reason": reason}


def make_ensemble(row: BenchRow):
    """An ensemble as three values: a function(steps) that advances it and returns seconds, its transport, and a
    function that returns the state of member 0.
    """
    config = reference_check.make_config(
        row,
        ensemble__members=row.members,
        ensemble__advance=row.advance,
        ensemble__initial_eta=PERTURBATION_METRES,
        ensemble__initial_eta_length=CORRELATION_LENGTH_CELLS * reference_check.make_config(row).grid.dx,
    )
    members = Members(settings.check_ensemble(config))

    def advance(steps: int) -> float:
        seconds_before = members.loop_seconds
        members.take_steps(steps)
        return members.loop_seconds - seconds_before

    return advance, members.transport, lambda: jax.tree.map(lambda field: field[0], members.state)


def make_separate_runs(row: BenchRow):
    """As `make_ensemble`, but for separate runs one after the other."""
    simulation = make_simulation(row)
    carries = [simulation._executor.start(simulation.transport.put(simulation.state)) for _ in range(row.members or 1)]

    def advance(steps: int) -> float:
        start_time = time.perf_counter()
        for number in range(len(carries)):
            simulation.carry = carries[number]
            simulation.take_steps(steps)
            carries[number] = simulation.carry
        return time.perf_counter() - start_time

    return advance, simulation.transport, lambda: carries[0].state
