"""Messages between blocks: the interface and its implementations."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ...errors import SetupError
from ..decomposition import block
from ..watchdog import limited_start
from .transport import Transport


def connect(
    name: str,
    layout: tuple[int, int],
    ny: int,
    nx: int,
    devices: int = 1,
    members: int = 1,
    shares: int = 1,
    exchange: str = "auto",
) -> Transport:
    """The transport "serial", "mpi" or "sharded" with this process's part of a grid of ny by nx cells.

    `devices`: number in each process, if sharded. `shares`: number of shares of an ensemble's members. `exchange`: that
    of the configuration, for mpi.
    """
    if name == "serial":
        from .serial import Serial

        return Serial(block(0, (1, 1), ny, nx, members))
    if name == "sharded":
        return _sharded(layout, ny, nx, devices)
    with limited_start():
        from . import mpi
    size, there = shares * layout[0] * layout[1], mpi.HOST_COMM.Get_size()
    if there != size:
        raise SetupError(
            f"a run on {size} processes, but MPI knows of {there}: start the program with mpiexec -n {size}, "
            "or set run.nproc"
        )
    own = block(mpi.HOST_COMM.Get_rank(), layout, ny, nx, members, shares)
    return mpi.Mpi(own, exchange=mpi.exchange_for(exchange))


@lru_cache(maxsize=8)
def _sharded(layout: tuple[int, int], ny: int, nx: int, devices: int) -> Transport:
    """The sharded transport, one object for equal arguments, as programs are stored by their transport."""
    from .sharded import Sharded

    return Sharded(layout, ny, nx, devices)


def of_all_members(
    transport: Transport, values: np.ndarray, operation: str = "sum", neutral: float = 0.0
) -> np.ndarray:
    """Numbers [all members, ...], float64, the same on all processes, from `values` [members here, ...] of each.

    They are reduced over the processes that share a member; `neutral` is the neutral element of the operation.
    """
    members = transport.block.members
    everyone = np.full((members.size, *values.shape[1:]), neutral)
    everyone[members.start : members.stop] = values
    return transport.reduce(everyone, operation)


def ring(name: str, size: int, devices: int = 1, exchange: str = "auto") -> bool:
    """Whether a shift gives each of `devices` blocks on `size` processes its neighbour's numbers; all call it."""
    blocks = size * devices
    transport = connect(name, (1, blocks), 1, blocks, devices, exchange=exchange)
    own = np.arange(transport.block.x.start, transport.block.x.stop, dtype=np.float32)[None]
    received = transport.get(transport.jit(lambda slab: transport.shift(slab, 1, +1))(transport.put(own)))
    return not transport.any(bool((received != (own - 1) % blocks).any()))
