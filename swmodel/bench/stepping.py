"""Samples of the model: a run with separate times of its parts, a run with output, an ensemble."""

from __future__ import annotations

import tempfile
import time
from functools import partial
from pathlib import Path

import jax
import numpy as np

import swmodel

from ..executors.native.describe import bytes_per_cell
from ..executors.targets import TARGETS
from ..gradients import Problem
from ..gradients.check import BOUNDS, CHECKS, Checks
from ..model.ensemble import settings
from ..model.ensemble.members import Members
from ..model.health import Health
from . import answers
from .device import count_messages, largest, launched, memory_bytes, seconds_of, timed_steps
from .sweeps import Row

#: The controls of gradients.
STATE = ("eta", "u", "v")
#: Perturbation of the initial sea level of members, m, and its correlation length, in cells.
SIZE, CELLS = 1e-3, 10


def simulate(row: Row, **options) -> swmodel.Simulation:
    """The simulation of a row."""
    steps = {"steps_per_sweep": row.steps_per_sweep} if row.steps_per_sweep else {}
    return swmodel.Simulation(answers.configuration(row, **options), **steps)


def measure_stepping(row: Row, task: dict) -> dict:
    """The sample of a row of the model, or its "reason" for none: start, check, warm-up, timed steps.

    A task has `launched` (start of the processes, s since 1970), `answer` (file of the reference's answer), `steps` (of
    an earlier sample, or None) and `check` (whether to check in double precision, and count messages).
    """
    arrived = time.time()
    simulation = simulate(row)
    built, transport = time.time(), simulation.transport

    def seconds(n: int) -> float:
        return seconds_of(partial(simulation.take_steps, n), transport)

    seconds(1)
    ends = (arrived, built - simulation.compile_seconds, built, time.time())
    sample = start_seconds(task["launched"], ends, transport)
    seconds(answers.STEPS - 1)
    sample["memory_bytes"] = memory_bytes(row, transport)  # before the check, which needs more than the steps
    found, reason = answers.check(simulation, np.load(task["answer"], mmap_mode="r"), "at this size")
    if not reason and row.measure == "model":
        sample |= timed_steps(seconds, row, task, transport)
        if row.executor in TARGETS:
            sample["bytes_per_cell"] = bytes_per_cell(simulation.setup)
        Health(simulation).check()
    result = {"sample": sample, "differences": found, "launch": launched(transport)}
    if not reason and task["check"]:
        result["traffic"] = count_messages(seconds, row, transport)
        nx, ny = answers.SMALL
        small = simulate(row, grid__nx=nx, grid__ny=ny, run__dtype="float64")
        small.advance(answers.STEPS)
        found, reason = answers.check(small, answers.answer(small.config), "in double precision")
        result["differences_small"] = found
    return result | {"reason": reason}


def measure_gradient(row: Row, task: dict) -> dict:
    """The sample of steps forward and back: the value and the gradient of a sum over the last state.

    The row fails if <M d, y> and <d, Mᵀ y> differ on a small grid in double precision; see `gradients.check`.
    """
    arrived = time.time()
    checks = derivatives(row, run__steps=row.steps)
    problem, built = checks.problem, time.time()
    transport = problem.transport
    first = largest(time.time() - task["launched"], transport)
    sample = {"memory_bytes": memory_bytes(row, transport), "first_step_seconds": first, "steps": row.steps}
    sample["seconds"] = seconds_of(partial(problem.value_and_gradient, checks.x, *checks.loss), transport)
    result = {"sample": sample | {"build_seconds": built - arrived}, "launch": launched(transport), "reason": ""}
    if task["check"]:
        nx, ny = answers.SMALL
        small = derivatives(row, grid__nx=nx, grid__ny=ny, run__dtype="float64", run__steps=answers.STEPS)
        error, bound = small.dot_product_error(), BOUNDS["float64"][list(CHECKS).index("dot_product_error")]
        result["differences_small"] = {"adjoint": error}
        if not error <= bound:
            result["reason"] = f"wrong answer: the adjoint is not exact, <M d, y> = <d, Mᵀ y> to {error:.1e}"
    return result


def derivatives(row: Row, **options) -> Checks:
    """The derivatives of a row with respect to the initial state, after a first gradient."""
    return Checks(Problem(answers.configuration(row, **options), STATE, lambda view, k: view.state))


def start_seconds(launched: float, ends: tuple[float, ...], transport) -> dict[str, float]:
    """The parts of the time to the first step, s, from the ends of imports, fields, compilation and step.

    Each part ends with the slowest process, so that the parts add up to the whole.
    """
    start, build, compiled, first = (largest(end - launched, transport) for end in ends)
    parts = {"start_seconds": start, "build_seconds": build - start, "compile_seconds": compiled - build}
    return parts | {"first_step_seconds": first}


def measure_writing(row: Row, task: dict) -> dict:
    """The sample of a run with output, from the first step to the closed files."""
    every = row.writing if isinstance(row.writing, int) else row.steps
    simulation = simulate(row, run__steps=row.steps, output__every_steps=every)
    simulation.take_steps(answers.STEPS)
    found, reason = answers.check(simulation, np.load(task["answer"], mmap_mode="r"), "at this size")
    result = {"differences": found, "launch": launched(simulation.transport), "reason": reason}
    if reason:
        return result
    config = simulation.config
    del simulation  # frees its fields before the next one
    simulation = swmodel.Simulation(config)
    transport = simulation.transport
    with tempfile.TemporaryDirectory(dir=Path(task["answer"]).parent) as name:
        folder = Path(transport.broadcast(name))
        bare = partial(simulation.take_steps, row.steps)
        seconds = seconds_of(bare if row.writing == "none" else partial(simulation.run, folder), transport)
        written = int(largest(sum(path.stat().st_size for path in results(folder)), transport))
    in_steps = largest(simulation.loop_seconds, transport)
    sample = {"steps": row.steps, "seconds": seconds, "step_seconds": in_steps, "written_bytes": written}
    return result | {"sample": sample}


def results(folder: Path) -> list[Path]:
    """The files with results in a run folder, without restart files."""
    return [*folder.glob("*.nc"), *(path for path in folder.glob("*.zarr/**/*") if path.is_file())]


def measure_ensemble(row: Row, task: dict) -> dict:
    """The sample of an ensemble; the unperturbed member 0 is checked on its process."""
    advance, transport, state = (runs if row.advance == "runs" else together)(row)
    advance(answers.STEPS)
    expected = np.load(task["answer"], mmap_mode="r")
    found = answers.differences(state(), expected, lambda values, _: values) if transport.rank == 0 else None
    found = transport.broadcast(found)
    reason = answers.verdict(found, "at this size")

    def seconds(steps: int) -> float:
        transport.barrier()
        return largest(advance(steps), transport)

    sample = {} if reason else timed_steps(seconds, row, task, transport)
    return {"sample": sample, "differences": found, "launch": launched(transport), "reason": reason}


def together(row: Row):
    """An ensemble: function(steps) -> seconds that advances it, its transport, and a function that returns member 0."""
    length = CELLS * answers.configuration(row).grid.dx
    options = {"members": row.members, "advance": row.advance, "initial_eta": SIZE, "initial_eta_length": length}
    config = answers.configuration(row, **{f"ensemble__{name}": value for name, value in options.items()})
    members = Members(settings.check_ensemble(config))

    def advance(steps: int) -> float:
        begin = members.loop_seconds
        members.take_steps(steps)
        return members.loop_seconds - begin

    return advance, members.transport, lambda: jax.tree.map(lambda field: field[0], members.state)


def runs(row: Row):
    """As `together`, for runs one after the other."""
    simulation = simulate(row)
    carries = [simulation._executor.start(simulation.transport.put(simulation.state)) for _ in range(row.members)]

    def advance(steps: int) -> float:
        begin = time.perf_counter()
        for number in range(row.members):
            simulation.carry = carries[number]
            simulation.take_steps(steps)
            carries[number] = simulation.carry
        return time.perf_counter() - begin

    return advance, simulation.transport, lambda: carries[0].state
