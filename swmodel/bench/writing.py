"""A sample of the cost of writing: a run like that of `swmodel run`, with files or without."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

import swmodel

from . import answers
from .device import largest, launched
from .rows import Row
from .stepping import advance, expected


def measure_writing(row: Row, task: dict) -> dict:
    """Measure a run that writes what the row says; returns its sample, or why there is none.

    The clock runs from the first step to the closed files; `launched`, `answer` as for `stepping.measure_stepping`.
    """
    every = row.writing if isinstance(row.writing, int) else row.steps
    config = answers.configuration(row, run__steps=row.steps, output__every_steps=every)
    trial = swmodel.Simulation(config)
    advance(trial, answers.STEPS)
    found = answers.differences(trial.state, expected(trial, task["answer"]), trial.transport.reduce)
    problem = answers.verdict(found, "at this size")
    if problem:
        return {"state": "failed", "reason": problem, "differences": found}
    del trial
    simulation = swmodel.Simulation(config)
    transport = simulation.transport
    with tempfile.TemporaryDirectory(dir=Path(task["answer"]).parent) as folder:
        folder = Path(transport.broadcast(folder))
        transport.barrier()
        begin = time.perf_counter()
        if row.writing == "none":
            simulation.take_steps(row.steps)
        else:
            simulation.run(folder)
        transport.barrier()
        seconds = largest(time.perf_counter() - begin, transport)
        written = sum(path.stat().st_size for path in folder.glob("*.nc"))
        transport.barrier()
    sample = {
        "steps": row.steps,
        "seconds": seconds,
        "step_seconds": largest(simulation.loop_seconds, transport),
        "written_bytes": int(transport.reduce(np.asarray(written), "max")),
        "first_step_seconds": None,
    }
    return {"state": "ok", "sample": sample, "differences": found, "launch": launched(transport)}
