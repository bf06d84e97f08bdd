"""A sample of an ensemble: members times steps per second, advanced together or as runs one after the other."""

from __future__ import annotations

import time
from pathlib import Path

import jax
import numpy as np

import swmodel

from ..ensemble import settings
from ..ensemble.members import Members
from . import answers
from .device import launched
from .rows import Row
from .stepping import WARM

#: Perturbation of the initial sea level, m, and length of its correlation, in cells.
SIZE, CELLS = 1e-3, 10


def measure_ensemble(row: Row, task: dict) -> dict:
    """Measure a row of an ensemble; returns its sample, or why there is none.

    Args:
        task: as for `stepping.measure_stepping`. Member 0, which is not perturbed, is checked on its process.
    """
    advance, transport, state = (runs if row.advance == "runs" else together)(row, Path(task["answer"]).parent)
    advance(answers.STEPS)
    expected = np.load(task["answer"], mmap_mode="r")
    found = answers.differences(state(), expected, lambda values, _: values) if transport.rank == 0 else None
    found = transport.broadcast(found)
    if problem := answers.verdict(found, "at this size"):
        return {"state": "failed", "reason": problem, "differences": found}
    each = warm_up(advance)
    steps = transport.broadcast(task["steps"] or max(2, int(row.seconds / each)))
    transport.barrier()
    seconds = float(transport.reduce(np.asarray(advance(steps)), "max"))
    sample = {"steps": steps, "seconds": seconds, "first_step_seconds": None}
    return {"state": "ok", "sample": sample, "differences": found, "launch": launched(transport)}


def together(row: Row, folder: Path):
    """An ensemble: function(steps) -> seconds that advances it; its transport; function that returns member 0."""
    config = answers.configuration(row, folder, **perturbed(row))
    members = Members(settings.check_ensemble(config))

    def advance(steps: int) -> float:
        begin = members.loop_seconds
        members.take_steps(steps)
        return members.loop_seconds - begin

    return advance, members.transport, lambda: jax.tree.map(lambda field: field[0], members.state)


def perturbed(row: Row) -> dict:
    """The options of the ensemble of a row."""
    length = CELLS * answers.configuration(row).grid.dx
    options = {"members": row.members, "advance": row.advance, "initial_eta": SIZE, "initial_eta_length": length}
    return {f"ensemble__{name}": value for name, value in options.items()}


def runs(row: Row, folder: Path):
    """As `together`, for runs one after the other, each computed as by `swmodel run`."""
    simulation = swmodel.Simulation(answers.configuration(row, folder))
    carries = [simulation._executor.start(simulation.transport.put(simulation.state)) for _ in range(row.members)]

    def advance(steps: int) -> float:
        begin = time.perf_counter()
        for number in range(row.members):
            simulation.carry = carries[number]
            simulation.take_steps(steps)
            carries[number] = simulation.carry
        return time.perf_counter() - begin

    return advance, simulation.transport, lambda: carries[0].state


def warm_up(advance) -> float:
    """Take steps until a call takes long enough to be timed; returns the seconds of a step."""
    steps = 2
    while (seconds := advance(steps)) < WARM:
        steps *= 4
    return seconds / steps
