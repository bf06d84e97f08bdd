"""Starting a worker: the processes of one row, as `swmodel run` starts those of a run, and what they report."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections import deque

from ..model import launch, progress
from .rows import Row

#: Last lines of a failed worker that are kept; the most telling one is recorded.
KEPT = 40
#: Beginnings of lines after a failure that do not help.
NOISE = (
    "[mpiexec",
    "[proxy",
    "swmodel.parallel.spawn: ",
    "=",
    "YOUR APPLICATION",
    "This typically",
    "Please see",
    "Abort(",
    "jax.errors",
    "For simpl",
)


class WorkerError(Exception):
    """A worker ended without a result; the message is the last line it printed."""


def command(nproc: int, task: dict, launcher: str = "", transport: str = "mpi") -> list[str]:
    """The command that starts a worker: Python itself for one process; for several the launcher of `swmodel run`.

    Raises:
        SetupError: MPI is missing.
    """
    worker = [sys.executable, "-P", "-m", "swmodel.bench.worker", json.dumps(task)]
    if nproc == 1:
        return worker
    starter = [*shlex.split(launcher), "-n", str(nproc)] if launcher else launch.starter(nproc, transport)
    return [*starter, *worker]


def shown(nproc: int, launcher: str = "", transport: str = "mpi") -> str:
    """The command as it is recorded, without paths of the machine."""
    worker = "python -P -m swmodel.bench.worker TASK"
    if nproc == 1:
        return worker
    spawned = transport == "sharded" and not launcher
    return (
        f"python -P -m swmodel.parallel.spawn {nproc} {worker}"
        if spawned
        else f"{launcher or 'mpiexec'} -n {nproc} {worker}"
    )


def environment(row: Row) -> dict[str, str]:
    """The environment of the processes of a row."""
    environ = launch.rank_environment(row.nproc if row.oversubscribed else 1)
    if row.platform == "cpu":
        environ["JAX_PLATFORMS"] = "cpu"
    else:
        environ.pop("JAX_PLATFORMS", None)
    if row.threads:
        environ["NPROC"] = str(row.threads)
    return environ


def run(row: Row, task: dict, launcher: str = "") -> dict:
    """Start the processes of a row on a task and wait; returns the result that rank 0 sends.

    Raises:
        WorkerError: they ended without a result.
        SetupError: MPI is missing.
        KeyboardInterrupt: the user stopped it; the processes have been ended.
    """
    task = task | {"row": row.as_json(), "launched": time.time()}
    process = launch.start(command(row.nproc, task, launcher, row.transport), row.nproc, env=environment(row))
    try:
        with process.stdout as stream:
            result, lines = listen(stream)
        process.wait()
    finally:
        if process.poll() is None:
            launch.kill(process)
            process.wait()
    if result is None:
        raise WorkerError(cause(lines, process.returncode))
    return result


def listen(stream) -> tuple[dict | None, deque]:
    """The message among the lines of a stream, and the last other lines."""
    result, lines = None, deque(maxlen=KEPT)
    for line in stream:
        message = progress.receive(line)
        if message is None:
            lines.append(line.strip())
        else:
            result = message
    return result, lines


def cause(lines, returncode: int) -> str:
    """The line that best explains why a worker failed."""
    telling = [line for line in lines if line and not line.startswith(NOISE)]
    errors = [line for line in telling if "Error" in line]
    return (errors or telling or [f"ended with exit code {returncode}"])[-1]
