"""How blocks talk to each other: the only door to other processes.

A transport has `block`, `rank`, `size`, `name`; `shift`, for halos, and `sum` for use inside jitted programs, linear to
all of JAX's transformations; and for use between them, by all ranks in the same order from the main thread,
`gather_rows`, `reduce`, `broadcast`, `any`, `barrier`.
"""

from __future__ import annotations

from ..decomposition import block


def connect(name: str, layout: tuple[int, int], ny: int, nx: int):
    """The transport called `name` with this process's block of a grid of ny by nx cells.

    Raises:
        ImportError: mpi4jax or mpi4py is not installed.
    """
    if name == "serial":
        from .serial import Serial

        return Serial(block(0, (1, 1), ny, nx))
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
