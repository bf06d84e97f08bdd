"""How blocks talk to each other: the only door to other processes.

A transport has `name`, `rank` and `size`, of processes, and `block`, the part of the grid that its process has, on one
device or several.

Inside jitted programs, which `jit` makes and which see the arrays of one block, of the same `shape` in all of them:
`shift`, for halos, and `sum`, linear to all of JAX's transformations; `extent`, how much of a short block is grid,
`offset`, where it begins, and `first`, whether it is the first.

Between them: `put` and `get`, from and to NumPy arrays of the process's block; `pieces`, what each block has given;
and, by all processes in the same order from the main thread, `gather_rows`, `reduce`, `broadcast`, `any`, `barrier`.
"""

from __future__ import annotations

from ..decomposition import block


def connect(name: str, layout: tuple[int, int], ny: int, nx: int, devices: int = 1):
    """The transport called `name` with this process's block of a grid of ny by nx cells.

    Args:
        layout: blocks in y and x.
        devices: of each process, for the sharded transport.

    Raises:
        ImportError: mpi4jax or mpi4py is not installed.
        SetupError: there are fewer devices.
    """
    if name == "serial":
        from .serial import Serial

        return Serial(block(0, (1, 1), ny, nx))
    if name == "sharded":
        from .sharded import Sharded

        return Sharded(layout, ny, nx, devices)
    from .mpi import Mpi, world_rank

    return Mpi(block(world_rank(), layout, ny, nx))


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
