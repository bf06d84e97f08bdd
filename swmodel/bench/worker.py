"""One process of a row: it does its task, and rank 0 sends the result as a line.

`start.run` starts it, alone or under mpiexec. A task is {"row": ..., "do": "measure" or "answer", ...}.
"""

from __future__ import annotations

import json
import os
import sys

from ..model import progress
from ..parallel import environment
from .rows import Row


def main(text: str):
    """Do the task given as JSON."""
    task = json.loads(text)
    row, place = Row(**task.pop("row")), environment.world()
    sharded = row.transport == "sharded"
    if row.platform == "gpu" and place is not None and not sharded:
        choose_device(os.environ, place.local_rank)
    environment.prepare(place=place, devices=row.devices)
    if sharded and place is not None:
        from ..parallel.transport.join import join
        from ..parallel.transport.rendezvous import first_process

        join(place, row.devices, first_process(place))
    result = act(row, task)
    if place is None or place.rank == 0:
        progress.send(result)


def choose_device(environ, local: int):
    """Let a rank see only one of the GPUs that the user allows: the one with its number on its node."""
    visible = [name for name in environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    environ["CUDA_VISIBLE_DEVICES"] = visible[local % len(visible)] if visible else str(local)


def act(row: Row, task: dict) -> dict:
    """The result of a task, JSON values; the same on all ranks."""
    if task["do"] == "answer":
        from .answers import write_answer

        return write_answer(row, task["answer"])
    if task["do"] == "devices":
        from .device import describe_gpus

        return describe_gpus()
    if task["do"] == "triad":
        from .device import bandwidth

        return bandwidth(task["elements"], task["trials"])
    if row.measure == "halo":
        from .exchange import measure_exchange as measure
    elif row.measure == "output":
        from .writing import measure_writing as measure
    elif row.measure == "fft":
        from .transforms import measure_transforms as measure
    elif row.measure == "ensemble":
        from .ensembles import measure_ensemble as measure
    else:
        from .stepping import measure_stepping as measure
    return measure(row, task)


if __name__ == "__main__":
    main(sys.argv[1])
