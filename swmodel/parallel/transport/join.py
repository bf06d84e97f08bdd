"""Connect the processes of a run: by MPI's world, or by JAX's distributed runtime."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from importlib.util import find_spec
from pathlib import Path

from ...errors import SetupError
from .. import streams, watchdog
from ..environment import RANK, World, has_gpu, started
from ..spawn import LOCAL, free_port

#: Longest wait for the start of others, and for an answer of one, s.
START, ANSWER = 300, 600
#: A time limit that no process reaches, s.
NEVER = 10**9


def mpi_world(place: World):
    """MPI's communicator of all processes, from mpi4py."""
    clear_shared_memory()
    try:
        with watchdog.limited_start():
            from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise SetupError(f"mpi4py cannot be used ({error}); see docs/install.md") from error
    if (there := MPI.COMM_WORLD.Get_size()) != place.size:
        library = MPI.Get_library_version().strip().splitlines()[0]
        raise SetupError(
            f"{place.size} processes were started, but MPI here knows of {there}: mpiexec or srun belongs to another "
            f"MPI than mpi4py ({library}); start with `swmodel run --nproc {place.size}`, with that MPI's mpiexec, or "
            "with `srun --mpi=pmix` (pmi2 for MPICH)"
        )
    return MPI.COMM_WORLD


def clear_shared_memory(folder: Path = Path("/dev/shm")) -> None:
    """Remove the shared memory of MPICH from killed ranks of this job on this machine.

    MPICH names it by job and step, which are the same when Slurm requeues a job: MPI_Init would use the old memory, and
    hang or crash. Only files of this user that are older than this process are removed; mapped memory stays valid.
    """
    if "SLURM_RESTART_COUNT" not in os.environ:
        return
    for path in folder.glob("mpich_shm_*"):
        with contextlib.suppress(OSError):
            status = path.stat()
            if status.st_uid == os.getuid() and status.st_mtime < started():
                path.unlink()


def first_process(place: World) -> str | None:
    """HOST:PORT of the first process, for JAX, from the environment or by MPI; None: JAX finds it itself."""
    address = os.environ.get("JAX_COORDINATOR_ADDRESS")
    by_slurm = "SLURM_STEP_NODELIST" in os.environ and os.environ.get("SLURM_STEP_NUM_TASKS") == str(place.size)
    if address or by_slurm or find_spec("mpi4py") is None:
        return address
    everyone = mpi_world(place).allgather((socket.gethostname(), free_port()))
    host, port = everyone[0]
    return f"{LOCAL if all(other == host for other, _ in everyone) else host}:{port}"


def join(place: World, devices: int, limit: float = watchdog.START) -> Joined:
    """Connect JAX's devices of all processes, `devices` of them here, before JAX has started.

    JAX ends all processes without a message after a silence longer than `limit`, that of the watchdog, s.
    """
    import jax

    address, own = first_process(place), own_devices(place, devices)
    jax.config.update("jax_enable_preemption_service", False)  # it would take SIGTERM from `stop`
    jax.config.update("jax_check_proxy_envs", RANK not in os.environ)
    try:
        jax.distributed.initialize(
            address,
            place.size,
            place.rank,
            own or [0],  # any number without GPUs, which JAX would else take from Slurm
            "deactivate" if address else None,
            initialization_timeout=START,
            heartbeat_timeout_seconds=int(1.5 * max(limit, watchdog.START)) if limit else NEVER,
            coordinator_bind_address=address if address and address.startswith(f"{LOCAL}:") else None,
        )
    except Exception as error:
        raise SetupError(
            f"the {place.size} processes do not find each other at {address or 'the address from JAX'} "
            f"({str(error).partition(chr(10))[0]}); give the first one's HOST:PORT in JAX_COORDINATOR_ADDRESS"
        ) from error
    if own is None:
        # Gloo, which transfers messages between CPUs, prints in pieces between the lines for the launcher.
        streams.move_stdout()
    return Joined(place)


def own_devices(place: World, devices: int) -> list[int] | None:
    """The numbers of a process's GPUs: its share, or the first if it alone sees them; None: CPUs."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible == "" or not has_gpu():
        return None
    alone = visible is not None and len(visible.split(",")) < devices * place.local_size
    first = 0 if alone else devices * place.local_rank
    return list(range(first, first + devices))


class Joined:
    """Messages between the processes before JAX has devices, by the key-value store of its runtime."""

    def __init__(self, place: World):
        from jax._src.distributed import global_state

        self.place, self.calls, self.store = place, 0, global_state.client

    def allgather(self, value) -> list:
        """The list of the JSON values of all processes, on all of them; all call it in the same order."""
        self.calls += 1
        self.store.key_value_set(f"swmodel/{self.calls}/{self.place.rank}", json.dumps(value))
        keys = [f"swmodel/{self.calls}/{rank}" for rank in range(self.place.size)]
        return [json.loads(self.store.blocking_key_value_get(key, 1000 * ANSWER)) for key in keys]
