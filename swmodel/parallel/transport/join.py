"""Connect the processes of a run, through MPI's world communicator or JAX's distributed runtime."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ...errors import SetupError
from .. import streams, watchdog
from ..environment import RANK_VARIABLE, RankInfo, has_gpu, program_start_time
from ..spawn import LOCALHOST, free_port

#: Longest wait for other processes to connect, and for an answer from one of them, s.
CONNECT_TIMEOUT_SECONDS, ANSWER_TIMEOUT_SECONDS = 300, 600
#: A time limit that is never reached, s.
NO_TIMEOUT_SECONDS = 10**9


def mpi_world(rank_info: RankInfo):
    """MPI's communicator of all processes. SetupError: mpi4py fails, or belongs to another MPI than the launcher."""
    clear_shared_memory()
    try:
        with watchdog.exit_if_start_hangs():
            from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise SetupError(f"mpi4py cannot be used ({error}); see docs/install.md") from error
    if (mpi_size := MPI.COMM_WORLD.Get_size()) != rank_info.size:
        library = MPI.Get_library_version().strip().splitlines()[0]
        raise SetupError(
            f"{rank_info.size} processes were started, but MPI here knows of {mpi_size}: mpiexec or srun belongs to "
            f"another MPI than mpi4py ({library}); use `swmodel run --nproc {rank_info.size}`, the mpiexec of that MPI "
            "or `srun --mpi=pmix` (pmi2 for MPICH)"
        )
    return MPI.COMM_WORLD


def clear_shared_memory(folder: Path = Path("/dev/shm")) -> None:
    """Remove the shared memory that killed ranks of this job have left on this machine, if they used MPICH.

    MPICH names it after job and step, which do not change when Slurm requeues a job: MPI_Init would use the old memory
    and hang or crash. Only files of this user that are older than this program are removed; mapped memory stays valid.
    """
    if "SLURM_RESTART_COUNT" not in os.environ:
        return
    for path in folder.glob("mpich_shm_*"):
        with contextlib.suppress(OSError):
            status = path.stat()
            if status.st_uid == os.getuid() and status.st_mtime < program_start_time():
                path.unlink()


def coordinator_address(rank_info: RankInfo) -> str | None:
    """HOST:PORT of the first process, for JAX, from the environment or through MPI; None: JAX finds the address."""
    address = os.environ.get("JAX_COORDINATOR_ADDRESS")
    by_slurm = "SLURM_STEP_NODELIST" in os.environ and os.environ.get("SLURM_STEP_NUM_TASKS") == str(rank_info.size)
    if address or by_slurm or find_spec("mpi4py") is None:
        return address
    addresses = mpi_world(rank_info).allgather((socket.gethostname(), free_port()))
    host, port = addresses[0]
    return f"{LOCALHOST if all(other == host for other, _ in addresses) else host}:{port}"


def initialize_distributed(
    rank_info: RankInfo, devices: int, timeout: float = watchdog.START_TIMEOUT_SECONDS
) -> KeyValueMessages:
    """Connect the JAX devices of all processes, `devices` of them in this one. All call it before JAX starts.

    If a process is silent for much longer than `timeout`, the time limit of the watchdog, s (0: none), JAX ends all
    processes without a message. SetupError: the processes do not find each other.
    """
    import jax

    address, device_ids = coordinator_address(rank_info), local_device_ids(rank_info, devices)
    heartbeat_timeout = int(1.5 * max(timeout, watchdog.START_TIMEOUT_SECONDS)) if timeout else NO_TIMEOUT_SECONDS
    jax.config.update("jax_enable_preemption_service", False)  # it would take SIGTERM from `stop`
    jax.config.update("jax_check_proxy_envs", RANK_VARIABLE not in os.environ)
    try:
        jax.distributed.initialize(
            address,
            rank_info.size,
            rank_info.rank,
            device_ids or [0],  # without GPUs any number will do; JAX would otherwise take one from Slurm
            "deactivate" if address else None,
            initialization_timeout=CONNECT_TIMEOUT_SECONDS,
            heartbeat_timeout_seconds=heartbeat_timeout,
            coordinator_bind_address=address if address and address.startswith(f"{LOCALHOST}:") else None,
        )
    except Exception as error:
        raise SetupError(
            f"the {rank_info.size} processes do not find each other at {address or 'the address from JAX'} "
            f"({str(error).partition(chr(10))[0]}); set JAX_COORDINATOR_ADDRESS to HOST:PORT of the first one"
        ) from error
    if device_ids is None:
        # Gloo, which transfers messages between CPUs, would print parts of lines between those for the launcher.
        streams.silence_stdout_of_libraries()
    return KeyValueMessages(rank_info)


def local_device_ids(rank_info: RankInfo, devices: int) -> list[int] | None:
    """The numbers of a process's GPUs: its share of the machine's, or the first if it sees only its own; None: CPUs."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible == "" or not has_gpu():
        return None
    sees_only_own = visible is not None and len(visible.split(",")) < devices * rank_info.local_size
    first = 0 if sees_only_own else devices * rank_info.local_rank
    return list(range(first, first + devices))


class KeyValueMessages:
    """Messages between processes before JAX has devices, through the key-value store of its runtime."""

    def __init__(self, rank_info: RankInfo):
        from jax._src.distributed import global_state

        self.rank_info, self.n_calls = rank_info, 0
        self.store: Any = global_state.client  # of a private type; None before jax.distributed.initialize

    def allgather(self, value) -> list:
        """The list of the JSON values of all processes, on all of them; all call it in the same order."""
        self.n_calls += 1
        self.store.key_value_set(f"swmodel/{self.n_calls}/{self.rank_info.rank}", json.dumps(value))
        keys = [f"swmodel/{self.n_calls}/{rank}" for rank in range(self.rank_info.size)]
        return [json.loads(self.store.blocking_key_value_get(key, 1000 * ANSWER_TIMEOUT_SECONDS)) for key in keys]
