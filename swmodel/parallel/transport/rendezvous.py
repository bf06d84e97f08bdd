"""Where processes that were started together meet: MPI's world, and the address of the first process."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from importlib.util import find_spec
from pathlib import Path

from ...errors import SetupError
from ..environment import RANK, World, srun_started, started
from ..spawn import LOCAL, free_port
from ..watchdog import limited_start


def first_process(place: World) -> str | None:
    """HOST:PORT of the first process, for JAX: as set, else agreed on by MPI.

    None under srun and without MPI: JAX finds it itself.
    """
    address = os.environ.get("JAX_COORDINATOR_ADDRESS")
    by_slurm = "SLURM_STEP_NODELIST" in os.environ and os.environ.get("SLURM_STEP_NUM_TASKS") == str(place.size)
    if address or by_slurm or find_spec("mpi4py") is None:
        return address
    everyone = mpi_world(place).allgather((socket.gethostname(), free_port()))
    host, port = everyone[0]
    return f"{LOCAL if all(other == host for other, _ in everyone) else host}:{port}"


def find_first(place: World, address: str | None, seconds: float) -> None:
    """Wait until the first process answers at HOST:PORT; that process checks that the port is free. JAX would crash."""
    host, _, port = (address or "").rpartition(":")
    deadline = time.monotonic() + seconds
    while True:
        try:
            if place.rank:
                socket.create_connection((host.strip("[]"), int(port)), 1.0).close()
            else:
                with socket.socket() as probe:
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    probe.bind(("", int(port)))
            return
        except (OSError, ValueError, OverflowError) as error:
            if place.rank == 0 or not isinstance(error, OSError) or time.monotonic() > deadline:
                where = f"each other at {address} ({error})" if address else "where the first of them is"
                advice = "" if RANK in os.environ else "; give the first one's HOST:PORT in JAX_COORDINATOR_ADDRESS"
                raise SetupError(f"the {place.size} processes do not find {where}{advice}") from error
        time.sleep(0.1)


def mpi_world(place: World):
    """MPI's communicator of all processes, from mpi4py."""
    clear_shared_memory()
    try:
        with limited_start():
            from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise SetupError(f"mpi4py cannot be used ({error}); see docs/install.md") from error
    comm = MPI.COMM_WORLD
    if comm.Get_size() != place.size:
        library = MPI.Get_library_version().strip().splitlines()[0]
        how = (
            "srun does not speak to the MPI that mpi4py uses"
            f" ({library}); try `srun --mpi=pmix`, or pmi2 for MPICH, or SLURM_MPI_TYPE in the environment"
            if srun_started()
            else f"mpiexec is not that of the MPI that mpi4py uses ({library}); start with `swmodel run --nproc "
            f"{place.size}` or the other mpiexec"
        )
        raise SetupError(f"{place.size} processes were started, but MPI here knows of {comm.Get_size()}: {how}")
    return comm


def clear_shared_memory(folder: Path = Path("/dev/shm")) -> None:
    """Remove the shared memory of MPICH that killed ranks of this job have left on this machine.

    MPICH names it by job and step, which are the same when Slurm puts a job back: MPI_Init would take the old memory,
    and hang or crash. Only files of this user go, older than this process, that no process has mapped.
    """
    if "SLURM_RESTART_COUNT" not in os.environ:
        return
    for path in folder.glob("mpich_shm_*"):
        with contextlib.suppress(OSError):
            status = path.stat()
            if status.st_uid == os.getuid() and status.st_mtime < started() and not in_use(path):
                path.unlink()


def in_use(path: Path) -> bool:
    """Whether a process of this user has mapped a file."""
    for maps in Path("/proc").glob("[0-9]*/maps"):
        with contextlib.suppress(OSError):
            if str(path) in maps.read_text():
                return True
    return False
