"""A run whose rank 1 is installed differently in the way named by the first argument; the second is the run folder."""

import sys
from pathlib import Path

from swmodel.cli import rank_checks as ranks
from swmodel.cli.job import Job
from swmodel.cli.rank import run_as_rank
from swmodel.config import load
from swmodel.parallel.environment import world

FAULT, FOLDER = sys.argv[1], Path(sys.argv[2])
PLACE = world()


def request(place):
    """A run of one step; with another length on rank 1 where its configuration is at fault."""
    steps = 1 + (FAULT == "configuration" and place.rank)
    return Job(load("jet", {"run.steps": steps, "run.nproc": 2, "grid.nx": 16, "grid.ny": 8}, environ={}), FOLDER)


def broken(*arguments, **options):
    """What JAX says of a handler that was compiled for another version."""
    raise RuntimeError("the handler's API version (0.5) is incompatible with the framework's API version (0.4)\nmore")


if PLACE.rank == 1:
    if FAULT == "version":
        version_of = ranks.environment.version_of
        ranks.environment.version_of = lambda name: "0.1" if name == "jax" else version_of(name)
    if FAULT == "no mpi4jax":
        sys.modules["mpi4jax"] = None
    if FAULT == "no mpi4py":
        sys.modules["mpi4py"] = None
if FAULT == "too new":
    import mpi4jax

    mpi4jax.sendrecv = broken
if FAULT == "two MPIs" and PLACE.rank == 1:
    loaded = iter([["/opt/a/libmpi.so.12"], ["/opt/a/libmpi.so.12", "/opt/b/libmpi.so.40"]])
    ranks.environment.mpi_libraries = lambda: next(loaded)
sys.exit(run_as_rank(PLACE, request, lambda: load("jet", environ={}), True, ""))
