"""The processes of one row: `run` starts them like `swmodel run`; each does a task, and rank 0 sends its result.

A task is {"row": ..., "do": "measure", "answer", "devices" or "triad", ...}.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from collections import deque
from pathlib import Path

import numpy as np

from ..model import launch, progress
from ..parallel import environment
from .sweeps import Row


class WorkerError(Exception):
    """A worker ended without a result; the message is its printed line with the reason."""


def command(row: Row, launcher: str = "") -> list[str]:
    """The command that starts a row's processes: Python itself for one, the launcher of `swmodel run` for several."""
    worker = [sys.executable, "-P", "-m", "swmodel.bench.worker"]
    if row.nproc == 1:
        return worker
    starter = [*shlex.split(launcher), "-n", str(row.nproc)] if launcher else launch.starter(row.nproc, row.transport)
    return [*starter, *worker]


def shown(row: Row, launcher: str = "") -> str:
    """The command for the record, without paths of the machine."""
    return " ".join(Path(word).name for word in [*command(row, launcher), "TASK"])


def run(row: Row, task: dict, launcher: str = "") -> dict:
    """Start the processes of a row on a task and wait for the result. WorkerError: no result."""
    task = task | {"row": vars(row), "launched": time.time()}
    line = [*command(row, launcher), json.dumps(task)]
    environ = launch.rank_environment(row.nproc if row.oversubscribed else 1)
    environ.pop("JAX_PLATFORMS", None)
    environ |= {"JAX_PLATFORMS": "cpu"} if row.platform == "cpu" else {}
    environ |= {"NPROC": str(row.threads)} if row.threads else {}
    process = launch.start(line, row.nproc, env=environ)
    result, lines = None, deque(maxlen=40)
    try:
        with process.stdout as stream:
            for text in stream:
                message = progress.receive(text)
                result = result if message is None else message
                if message is None:
                    lines.append(text.strip())
        process.wait()
    finally:
        if process.poll() is None:
            launch.kill(process)
            process.wait()
    if result is None:
        raise WorkerError(cause(lines, process.returncode))
    return result


def cause(lines, returncode: int) -> str:
    """The line that best explains the failure of a worker."""
    noise = ("=", "jax.errors", "For simpl")
    lines = [line for line in lines if not line.startswith(noise) and not launch.BANNER.match(line)]
    errors = [line for line in lines if "Error" in line]
    return (errors or lines or [f"ended with exit code {returncode}"])[-1]


def main(text: str):
    """Do the task in JSON, as a separate process."""
    task = json.loads(text)
    row, place = Row(**task.pop("row")), environment.world()
    sharded = row.transport == "sharded"
    if row.platform == "gpu" and place is not None and not sharded:
        allowed = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
        mine = allowed[place.local_rank % len(allowed)] if allowed else str(place.local_rank)
        os.environ["CUDA_VISIBLE_DEVICES"] = mine  # the one with this rank's number on its node
    environment.prepare(place=place, devices=row.devices)
    if sharded and place is not None:
        from ..parallel.transport.join import join

        join(place, row.devices)
    result = do(row, task)
    if place is None or place.rank == 0:
        progress.send(result)


def do(row: Row, task: dict) -> dict:
    """The result of a task, JSON values; the same on all ranks."""
    import jax

    from . import answers, device, parts, stepping

    if task["do"] == "answer":
        np.save(task["answer"], answers.answer(answers.configuration(row)))
        return {}
    if task["do"] == "devices":
        gpus = [each.device_kind for each in jax.devices() if each.platform == "gpu"]
        return {"gpus": gpus, "bandwidth": device.bandwidth() if gpus else None}
    if task["do"] == "triad":
        return device.bandwidth(task["elements"], task["trials"])
    measures = {"output": stepping.measure_writing, "ensemble": stepping.measure_ensemble}
    measures |= {"gradient": stepping.measure_gradient}
    measures |= {"halo": parts.measure_exchange, "fft": parts.measure_transforms}
    return measures.get(row.measure, stepping.measure_stepping)(row, task)


if __name__ == "__main__":
    main(sys.argv[1])
