"""Rank 1 of three fails, while the other one of its layout and the one of another layout wait for it."""

from mpi4py import MPI
from support.groups import of_layouts


def compute(layout):
    """Never ends by itself on ranks 0 and 2."""
    if MPI.COMM_WORLD.Get_rank() == 1:
        raise ZeroDivisionError("a bug")
    MPI.COMM_WORLD.Barrier()


of_layouts([((1, 1), (1, 2))], compute)
