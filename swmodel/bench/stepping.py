"""A sample of the model: start, first step, check, warm-up, timed steps, each timed apart; or of a run that writes."""

from __future__ import annotations

import tempfile
import time
from functools import partial
from pathlib import Path

import jax
import numpy as np

import swmodel

from ..executors.native.describe import bytes_per_cell
from ..model.health import Health
from . import answers
from .device import count_messages, largest, launched, memory_bytes, seconds_of, timed_steps
from .rows import Row


def simulate(row: Row, **options) -> swmodel.Simulation:
    """The simulation of a row."""
    steps = {"steps_per_sweep": row.steps_per_sweep} if row.steps_per_sweep else {}
    return swmodel.Simulation(answers.configuration(row, **options), **steps)


def measure_stepping(row: Row, task: dict) -> dict:
    """Measure a row of the model; returns its sample, or the reason why there is none.

    Args:
        task: `launched` (time when the processes were started, s since 1970), `answer` (file of the reference's
            answer), `steps` (of a sample, as an earlier sample chose it, or None), `check` (whether to check in double
            precision too).
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
    sample["memory_bytes"] = largest(memory_bytes(row), transport)  # before the check, which needs more than the steps
    found, reason = answers.check(simulation, np.load(task["answer"], mmap_mode="r"), "at this size")
    if not reason and row.measure == "model":
        sample |= timed_steps(seconds, row, task, transport)
        if row.executor == "native":
            sample["bytes_per_cell"] = bytes_per_cell(simulation.config)
        Health(simulation).check()
    result = {"sample": sample, "differences": found, "launch": launched(transport)}
    if not reason and task["check"]:
        result["traffic"] = count_messages(seconds, row.dtype, transport)
        result["differences_small"], reason = check_small(row)
    return result | {"reason": reason}


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


def check_small(row: Row) -> tuple[dict[str, float], str]:
    """Check a small grid in double precision, by the same executor and transport."""
    before = jax.config.jax_enable_x64
    nx, ny = answers.SMALL
    try:
        simulation = simulate(row, grid__nx=nx, grid__ny=ny, run__dtype="float64")
        simulation.advance(answers.STEPS)
        return answers.check(simulation, answers.answer(simulation.config), "in double precision")
    finally:
        jax.config.update("jax_enable_x64", before)


def measure_writing(row: Row, task: dict) -> dict:
    """Measure a run that writes what the row says; returns its sample, or the reason why there is none.

    The clock runs from the first step to the closed files; `launched`, `answer` as for `measure_stepping`.
    """
    every = row.writing if isinstance(row.writing, int) else row.steps
    trial = simulate(row, run__steps=row.steps, output__every_steps=every)
    trial.take_steps(answers.STEPS)
    found, reason = answers.check(trial, np.load(task["answer"], mmap_mode="r"), "at this size")
    config, transport = trial.config, trial.transport
    result = {"differences": found, "launch": launched(transport), "reason": reason}
    if reason:
        return result
    del trial
    simulation = swmodel.Simulation(config)
    transport = simulation.transport
    with tempfile.TemporaryDirectory(dir=Path(task["answer"]).parent) as name:
        folder = Path(transport.broadcast(name))
        bare = partial(simulation.take_steps, row.steps)
        seconds = seconds_of(bare if row.writing == "none" else partial(simulation.run, folder), transport)
        written = sum(path.stat().st_size for path in folder.glob("*.nc"))
        transport.barrier()
    sample = {"steps": row.steps, "seconds": seconds, "step_seconds": largest(simulation.loop_seconds, transport)}
    return result | {"sample": sample | {"written_bytes": int(largest(written, transport)), "first_step_seconds": None}}
