"""Checks of several layouts in one start of four ranks: layouts.py CHECK... prints a line of JSON as each ends.

A check is a file of tests/mpi/layouts/ with

* PHASES: lists of layouts, (rows, columns) of blocks; those of a list are computed at the same time, from rank 0 on.
  Other ranks sleep, so that those that compute have the cores.
* results(layout): called on all ranks of a layout; what the first one returns is reported.

The ranks form groups, and each group is the world of its layout. A rank that fails ends all ranks.
"""

import importlib
import json
import sys
import time
import traceback
from contextlib import contextmanager
from pathlib import Path

import jax
from mpi4py import MPI

import swmodel.model.domain
from swmodel.parallel.abort import abort
from swmodel.parallel.transport import messages, mpi
from swmodel.parallel.transport.programs import jitted

WORLD = MPI.COMM_WORLD
RANK = WORLD.Get_rank()


def of_layouts(name, phases, compute) -> dict:
    """{layout: result of compute(layout) on the first rank of its group}, on rank 0 of the world; {} elsewhere."""
    found = {}
    for phase in phases:
        owners = [number for number, (rows, columns) in enumerate(phase) for _ in range(rows * columns)]
        mine = owners[RANK] if len(owners) > RANK else len(phase)
        group = WORLD.Split(mine, RANK)
        if mine < len(phase):
            connect_within(group)
            with one_for_all(f"{name}, layout {phase[mine]}"):
                answer = compute(phase[mine])
            if group.Get_rank() == 0:
                found["{}x{}".format(*phase[mine])] = answer
        meet()
    everyone = WORLD.gather(found) or []
    return {layout: answer for each in everyone for layout, answer in each.items()}


def connect_within(group):
    """Let the transport "mpi" connect the ranks of a group."""
    messages.DEVICE_COMM, mpi.HOST_COMM = group, group.Clone()
    jitted.cache_clear()  # programs are kept by layout, and send within the group that they were made in


def meet():
    """Wait, asleep, for all ranks."""
    together = WORLD.Ibarrier()
    while not together.Test():
        time.sleep(0.02)


@contextmanager
def one_for_all(work):
    """End all ranks at once if this one fails, as others may wait for it; print its traceback and its work."""
    try:
        yield
    except BaseException:
        traceback.print_exc()
        print(f"rank {RANK} of the world, {work}", file=sys.stderr, flush=True)
        abort(1)


def main(names):
    sys.path.append(str(Path(__file__).parents[1] / "layouts"))
    swmodel.model.domain.world = lambda: None  # the launcher tells of all ranks; the group is smaller
    jax.config.update("jax_enable_x64", True)
    if RANK == 0:
        jax.config.update("jax_num_cpu_devices", 4)  # for the check that compares ranks with devices
    for name in names:
        begin = time.monotonic()
        check = importlib.import_module(name)
        if found := of_layouts(name, check.PHASES, check.results):
            print(json.dumps({"check": name, "found": found, "seconds": time.monotonic() - begin}), flush=True)


main(sys.argv[1:])
