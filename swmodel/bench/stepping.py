"""A sample of the model: start, first step, check, warm-up, timed steps, in this order, each timed apart."""

from __future__ import annotations

import time
from pathlib import Path

import jax
import numpy as np

import swmodel

from ..executors.native.describe import bytes_per_cell
from ..model.health import Health
from . import answers, traffic
from .device import largest, launched, memory_bytes
from .rows import Row

#: Warm-up lasts until a call takes this long, s, so that the fixed cost of a call does not set the number of steps.
WARM = 0.4


def measure_stepping(row: Row, task: dict) -> dict:
    """Measure a row of the model; returns its sample, or why there is none.

    Args:
        task: `launched` (time when the processes were started, s since 1970), `answer` (file of the reference's
            answer), `steps` (of a sample, as an earlier sample chose it, or None), `check` (whether to check in double
            precision too).
    """
    arrived = time.time()
    folder = Path(task["answer"]).parent
    simulation = swmodel.Simulation(answers.configuration(row, folder), **options(row))
    built = time.time()
    advance(simulation, 1)
    first = time.time()
    advance(simulation, answers.STEPS - 1)
    transport = simulation.transport
    sample = start_seconds(task["launched"], (arrived, built - simulation.compile_seconds, built, first), transport)
    sample["memory_bytes"] = largest(memory_bytes(row), transport)  # before the check, which needs more than the steps
    found = answers.differences(simulation.state, expected(simulation, task["answer"]), transport.reduce)
    problem = answers.verdict(found, "at this size")
    if not problem and row.measure == "model":
        each, warm = warm_up(simulation, row)
        n = task["steps"] or transport.broadcast(number_of_steps(row, each))
        sample |= {"warm_up_steps": warm, "steps": n, "seconds": advance(simulation, n)}
        if row.executor == "native":
            sample["bytes_per_cell"] = bytes_per_cell(simulation.config)
        Health(simulation).check()
    result = {"sample": sample, "differences": found, "launch": launched(transport)}
    if not problem and task["check"]:
        result["traffic"] = exchanged(simulation, row)
        result["differences_small"] = small = check_small(row, folder)
        problem = answers.verdict(small, "in double precision")
    return {"state": "failed", "reason": problem, **result} if problem else {"state": "ok", **result}


def start_seconds(launched: float, ends: tuple[float, ...], transport) -> dict[str, float]:
    """The parts of the way to the first step, s, from the times when imports, fields, compilation and step ended.

    Each part ends when the slowest process has ended it, so that the parts add up to the whole.
    """
    start, build, compiled, first = (largest(end - launched, transport) for end in ends)
    return {
        "start_seconds": start,
        "build_seconds": build - start,
        "compile_seconds": compiled - build,
        "first_step_seconds": first,
    }


def expected(simulation, path: str) -> np.ndarray:
    """The reference's answer on this process's block; only this is read."""
    block = simulation.block
    return np.load(path, mmap_mode="r")[:, block.y.start : block.y.stop, block.x.start : block.x.stop]


def advance(simulation, n: int) -> float:
    """Compute n steps on all processes; returns the seconds from a common start to the end of the slowest."""
    simulation.transport.barrier()
    begin = time.perf_counter()
    simulation.take_steps(n)
    simulation.transport.barrier()
    return largest(time.perf_counter() - begin, simulation.transport)


def warm_up(simulation, row: Row) -> tuple[float, int]:
    """Take steps until a call takes long enough to be timed; returns seconds of a step, and the steps taken."""
    n, total = 2, 0
    while True:
        elapsed = advance(simulation, n)
        total += n
        if elapsed >= min(WARM, row.seconds / 4) or n >= (row.steps or n + 1):
            return elapsed / n, total
        n = min(4 * n, row.steps or 4 * n)


def number_of_steps(row: Row, each: float) -> int:
    """Steps of a sample: those asked for, fewer if they would take too long; at least two."""
    fit = max(2, int(row.seconds / each))
    return fit if row.steps is None else min(row.steps, fit)


def exchanged(simulation, row: Row) -> dict | None:
    """Messages and bytes that a process sends in a step, the most of all processes; None if they are not counted."""
    transport = simulation.transport
    if transport.name == "sharded":
        return None
    if transport.size == 1:
        return {"messages": 0.0, "bytes": 0.0}
    counted = traffic.count(lambda n: advance(simulation, n), np.dtype(row.dtype).itemsize)
    return counted and {name: largest(value, transport) for name, value in counted.items()}


def options(row: Row) -> dict:
    """The options of the executor that the row sets."""
    return {"steps_per_sweep": row.steps_per_sweep} if row.steps_per_sweep else {}


def check_small(row: Row, folder: Path) -> dict[str, float]:
    """Differences from the reference on a small grid in double precision, by the same executor and transport."""
    before = jax.config.jax_enable_x64
    nx, ny = answers.SMALL
    config = answers.configuration(row, folder, grid__nx=nx, grid__ny=ny, run__dtype="float64")
    try:
        simulation = swmodel.Simulation(config, **options(row))
        simulation.advance(answers.STEPS)
        block = simulation.block
        whole = answers.answer(config)[:, block.y.start : block.y.stop, block.x.start : block.x.stop]
        return answers.differences(simulation.state, whole, simulation.transport.reduce)
    finally:
        jax.config.update("jax_enable_x64", before)
