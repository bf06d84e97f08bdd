"""A sample of an ensemble: members times steps per second, advanced together or as runs one after the other."""

from __future__ import annotations

import time

import jax
import numpy as np

import swmodel

from ..ensemble import settings
from ..ensemble.members import Members
from . import answers
from .device import largest, launched, timed_steps
from .rows import Row

#: Perturbation of the initial sea level, m, and length of its correlation, in cells.
SIZE, CELLS = 1e-3, 10


def measure_ensemble(row: Row, task: dict) -> dict:
    """Measure a row of an ensemble; returns its sample, or the reason why there is none.

    Args:
        task: as for `stepping.measure_stepping`. Member 0, which is not perturbed, is checked on its process.
    """
    advance, transport, state = (runs if row.advance == "runs" else together)(row)
    advance(answers.STEPS)
    expected = np.load(task["answer"], mmap_mode="r")
    found = answers.differences(state(), expected, lambda values, _: values) if transport.rank == 0 else None
    found = transport.broadcast(found)
    result = {"differences": found, "launch": launched(transport), "reason": answers.verdict(found)}
    if result["reason"]:
        return result

    def seconds(steps: int) -> float:
        transport.barrier()
        return largest(advance(steps), transport)

    return result | {"sample": timed_steps(seconds, row, task, transport) | {"first_step_seconds": None}}


def together(row: Row):
    """An ensemble: function(steps) -> seconds that advances it; its transport; function that returns member 0."""
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
    """As `together`, for runs one after the other, each computed as by `swmodel run`."""
    simulation = swmodel.Simulation(answers.configuration(row))
    carries = [simulation._executor.start(simulation.transport.put(simulation.state)) for _ in range(row.members)]

    def advance(steps: int) -> float:
        begin = time.perf_counter()
        for number in range(row.members):
            simulation.carry = carries[number]
            simulation.take_steps(steps)
            carries[number] = simulation.carry
        return time.perf_counter() - begin

    return advance, simulation.transport, lambda: carries[0].state
