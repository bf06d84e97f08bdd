"""A run in which rank 1 fails in the way named by the first argument; the second is the run folder."""

import os
import signal
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import swmodel
import swmodel.model.run
from swmodel.cli.job import Job
from swmodel.cli.rank import run_as_rank
from swmodel.config import load
from swmodel.errors import FilesError, NumericalError
from swmodel.parallel.environment import world

FAULT, FOLDER = sys.argv[1], Path(sys.argv[2])
PLACE = world()


def run(simulation, directory, progress, command_line, resume):
    """Stands for the run: all ranks wait for each other, but rank 1 does not come."""
    from mpi4py import MPI

    if FAULT == "blow-up":
        raise NumericalError("the solution blew up")
    if FAULT == "bug everywhere":
        raise ZeroDivisionError("a bug")
    if PLACE.rank == 1:
        if FAULT == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if FAULT == "bug":
            raise ZeroDivisionError("a bug")
        if FAULT == "disk full":
            raise FilesError("no space left")
    MPI.COMM_WORLD.Barrier()


swmodel.Simulation = lambda config, restart: SimpleNamespace(step=0)
swmodel.model.run.run = run
configuration = partial(load, "jet", environ={})
sys.exit(run_as_rank(PLACE, lambda place: Job(configuration(), FOLDER), configuration, True, ""))
