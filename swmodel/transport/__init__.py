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


def ring(rank: int, size: int) -> bool:
    """Whether each of `size` processes gets its neighbour's number by a shift on the mpi transport.

    Raises:
        ImportError: mpi4jax or mpi4py is not installed.
        Exception: whatever mpi4jax and JAX raise where they do not fit together.
    """
    import jax
    import numpy as np

    transport = connect("mpi", (1, size), 1, size)
    received = jax.jit(lambda slab: transport.shift(slab, 1, +1))(np.full((1, 1), rank, dtype=np.float32))
    return not transport.any(float(received[0, 0]) != (rank - 1) % size)
