"""Messages between blocks: the interface and its implementations."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ...errors import SetupError
from ..decomposition import block_of_rank
from ..watchdog import exit_if_start_hangs
from .transport import Transport


def connect(
    name: str,
    layout: tuple[int, int],
    ny: int,
    nx: int,
    devices: int = 1,
    n_members: int = 1,
    n_member_groups: int = 1,
    exchange: str = "auto",
) -> Transport:
    """The transport "serial", "mpi" or "sharded" with this process's part of a grid of ny by nx cells.

    All processes call it together. SetupError: the number of processes or devices does not fit the layout, or mpi
    cannot use the GPUs.

    Args:
        devices: number of devices per process, if sharded.
        n_members, n_member_groups: number of members of an ensemble, and of groups into which they are divided.
        exchange: `run.exchange` of the configuration, for mpi.
    """
    if name == "serial":
        from .serial import SerialTransport

        return SerialTransport(block_of_rank(0, (1, 1), ny, nx, n_members))
    if name == "sharded":
        return _sharded(layout, ny, nx, devices)
    with exit_if_start_hangs():
        from . import mpi
    n_processes, mpi_size = n_member_groups * layout[0] * layout[1], mpi.HOST_COMM.Get_size()
    if mpi_size != n_processes:
        raise SetupError(
            f"the run needs {n_processes} processes, but MPI knows of {mpi_size}: start the program with mpiexec -n "
            f"{n_processes}, or set run.nproc"
        )
    local_block = block_of_rank(mpi.HOST_COMM.Get_rank(), layout, ny, nx, n_members, n_member_groups)
    return mpi.MpiTransport(local_block, exchange=mpi.choose_exchange(exchange))


@lru_cache(maxsize=8)
def _sharded(layout: tuple[int, int], ny: int, nx: int, devices: int) -> Transport:
    """The sharded transport; the same object for equal arguments, because programs are cached by their transport."""
    from .sharded import ShardedTransport

    return ShardedTransport(layout, ny, nx, devices)


def gather_members(
    transport: Transport, values: np.ndarray, operation: str = "sum", neutral: float = 0.0
) -> np.ndarray:
    """Gather `values` [local members, ...] of all processes as [members, ...], float64, the same on all processes.

    Values are reduced over the processes that share a member; `neutral` is the neutral element of the operation.
    """
    members = transport.block.members
    gathered = np.full((members.axis_size, *values.shape[1:]), neutral)
    gathered[members.start : members.stop] = values
    return transport.reduce(gathered, operation)


def is_shift_correct(name: str, size: int, devices: int = 1, exchange: str = "auto") -> bool:
    """Whether `shift` gives each of `size * devices` blocks its western neighbour's number. All processes call it."""
    n_blocks = size * devices
    transport = connect(name, (1, n_blocks), 1, n_blocks, devices, exchange=exchange)
    sent = np.arange(transport.block.x.start, transport.block.x.stop, dtype=np.float32)[None]
    received = transport.get(transport.jit(lambda slab: transport.shift(slab, 1, +1))(transport.put(sent)))
    return not transport.any(bool((received != (sent - 1) % n_blocks).any()))
