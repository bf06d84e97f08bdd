"""Several layouts in one start of mpiexec: the ranks form groups, and each group is the world of its layout."""

import sys
import time
import traceback
from contextlib import contextmanager

from mpi4py import MPI

import swmodel.model.domain
from swmodel.parallel import transport
from swmodel.parallel.abort import abort
from swmodel.parallel.decomposition import block
from swmodel.parallel.transport import messages, mpi


def of_layouts(phases, compute) -> dict:
    """{layout: result of compute(layout) on the first rank of its group}, on rank 0 of the world; {} elsewhere.

    Meanwhile `connect` gives each rank its place in its group. No layout may occur twice: programs are kept by layout.
    A rank that fails ends all ranks.

    Args:
        phases: computed one after the other; each is a list of layouts, (rows, columns) of blocks, computed at the same
            time, from rank 0 on. Other ranks sleep, so that those that compute have the cores.
        compute: function of a layout, called on all ranks of its group.
    """
    world, found = MPI.COMM_WORLD, {}
    rank = world.Get_rank()
    swmodel.model.domain.world = lambda: None  # the launcher tells of all ranks; the group is smaller
    for phase in phases:
        owners = [number for number, (rows, columns) in enumerate(phase) for _ in range(rows * columns)]
        mine = owners[rank] if rank < len(owners) else len(phase)
        group = world.Split(mine, rank)
        if mine < len(phase):
            place = {"rank": group.Get_rank(), "size": group.Get_size()}
            messages.DEVICE_COMM, mpi.HOST_COMM = group, group.Clone()
            transport.TRANSPORTS["mpi"] = lambda layout, ny, nx, devices, place=place: mpi.Mpi(
                block(place["rank"], layout, ny, nx), **place
            )
            with one_for_all(world, phase[mine]):
                answer = compute(phase[mine])
            if place["rank"] == 0:
                found[phase[mine]] = answer
        meet()
    everyone = world.gather(found) or []
    return {layout: answer for each in everyone for layout, answer in each.items()}


def meet():
    """Wait, asleep, for all ranks: those that still compute have the cores."""
    together = MPI.COMM_WORLD.Ibarrier()
    while not together.Test():
        time.sleep(0.02)


@contextmanager
def one_for_all(world, layout):
    """End all ranks at once if this one fails, as others may wait for it; print its traceback and its layout."""
    try:
        yield
    except BaseException:
        traceback.print_exc()
        print(f"rank {world.Get_rank()} of the world, layout {layout}", file=sys.stderr, flush=True)
        abort(1)
