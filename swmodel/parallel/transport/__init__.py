"""How blocks talk to each other: the only door to other processes.

A transport has `name`, and `rank` and `size`, of processes. The grid is cut into the blocks of its `layout`, of which
the least has `smallest` rows and columns. A process has one on each of its `devices`: `blocks`; together they are the
rectangle `block`, its part of the grid.

Inside jitted programs, which `jit` makes and which see the arrays of one of the blocks, of the same `shape` in all of
them: `shift`, for halos, and `sum`, linear to all of JAX's transformations; `extent`, how much of a short block is
grid, `offset`, where it begins, and `first`, whether it is the first.

Between them: `make`, arrays on the devices, each block's made by itself, and `pieces`, NumPy arrays of each block from
those; `put` and `get`, the same for NumPy arrays of the process's part, and `join`, such arrays from those of its
blocks; `held_bytes`, of its blocks; and, by all processes in the same order from the main thread, `gather_rows`,
`reduce`, `broadcast`, `any`, `barrier`.
"""

from __future__ import annotations

from functools import lru_cache

from ...errors import SetupError
from ..decomposition import block


def _serial(layout, ny, nx, devices):
    from .serial import Serial

    return Serial(block(0, (1, 1), ny, nx))


def _mpi(layout, ny, nx, devices):
    from .mpi import Mpi, world_rank, world_size

    if world_size() != layout[0] * layout[1]:
        raise SetupError(
            f"a run on {layout[0] * layout[1]} processes, but MPI knows of {world_size()}: start the program with "
            f"mpiexec -n {layout[0] * layout[1]}, or set run.nproc"
        )
    return Mpi(block(world_rank(), layout, ny, nx))


@lru_cache(maxsize=8)  # one for all that ask alike, as the others are equal: programs are kept by their transport
def _sharded(layout, ny, nx, devices):
    from .sharded import Sharded

    return Sharded(layout, ny, nx, devices)


#: Functions of layout, cells in y and x, and devices of a process.
TRANSPORTS = {"serial": _serial, "mpi": _mpi, "sharded": _sharded}


def connect(name: str, layout: tuple[int, int], ny: int, nx: int, devices: int = 1):
    """The transport called `name` with this process's part of a grid of ny by nx cells.

    Args:
        layout: blocks in y and x.
        devices: of each process, for the sharded transport.

    Raises:
        ImportError: mpi4jax or mpi4py is not installed.
        SetupError: there are fewer devices, or another number of processes.
        ValueError: there is no such transport.
    """
    if name not in TRANSPORTS:
        raise ValueError(f"no transport {name}; there are {', '.join(TRANSPORTS)}")
    return TRANSPORTS[name](layout, ny, nx, devices)


def ring(name: str, size: int, devices: int = 1) -> bool:
    """Whether the blocks of `size` processes get their neighbours' numbers by a shift; called by all together.

    Args:
        name: of a transport.
        devices: of each process.

    Raises:
        ImportError: mpi4jax or mpi4py is not installed.
        Exception: whatever mpi4jax and JAX raise where they do not fit together.
    """
    import numpy as np

    blocks = size * devices
    transport = connect(name, (1, blocks), 1, blocks, devices)
    own = np.arange(transport.block.x.start, transport.block.x.stop, dtype=np.float32)[None]
    received = transport.get(transport.jit(lambda slab: transport.shift(slab, 1, +1))(transport.put(own)))
    return not transport.any(bool((received != (own - 1) % blocks).any()))
