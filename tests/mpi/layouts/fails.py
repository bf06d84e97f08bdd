"""No check: rank 1 of three fails, while the other one of its layout and the one of another layout wait for it."""

from mpi4py import MPI

PHASES = (((1, 1), (1, 2)),)


def results(layout):
    """Never ends by itself on ranks 0 and 2."""
    if MPI.COMM_WORLD.Get_rank() == 1:
        raise ZeroDivisionError("a bug")
    MPI.COMM_WORLD.Barrier()
