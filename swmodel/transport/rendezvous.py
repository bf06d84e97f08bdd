"""Where processes that were started together meet: the world of MPI, and the address of the first of them."""

from __future__ import annotations

import os
import socket
from importlib.util import find_spec

from ..environment import World
from ..errors import SetupError


def first_process(place: World) -> str | None:
    """HOST:PORT of the first process, for JAX: as set, else agreed by MPI; None under srun and without MPI, for JAX to
    find itself.

    Raises:
        SetupError: MPI is there and cannot be used.
    """
    environ = os.environ
    given = environ.get("JAX_COORDINATOR_ADDRESS")
    step_of_slurm = "SLURM_STEP_NODELIST" in environ and environ.get("SLURM_STEP_NUM_TASKS") == str(place.size)
    if given or step_of_slurm or find_spec("mpi4py") is None:
        return given
    mine = f"{socket.gethostname()}:{free_port()}" if place.rank == 0 else None
    return mpi_world(place).bcast(mine)


def free_port() -> int:
    """A port of this machine that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


def mpi_world(place: World):
    """MPI's communicator of all processes, from mpi4py.

    Raises:
        SetupError: mpi4py is missing, or its MPI is not the one that started the processes.
    """
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise SetupError(f"mpi4py cannot be used ({error}); see docs/install.md") from error
    comm = MPI.COMM_WORLD
    if comm.Get_size() != place.size:
        library = MPI.Get_library_version().strip().splitlines()[0]
        raise SetupError(
            f"{place.size} processes were started, but MPI here knows of {comm.Get_size()}: mpiexec is not that of the "
            f"MPI that mpi4py uses ({library}); start with `swmodel run --nproc {place.size}` or the other mpiexec"
        )
    return comm
