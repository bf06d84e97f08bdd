"""Messages by mpi4jax."""

from __future__ import annotations

import jax.numpy as jnp
import mpi4jax
from mpi4jax._src.utils import ordered_effect as EFFECT  # noqa: F401, N812
from mpi4py import MPI

TAG = 7


def sendrecv(slab, source: tuple[int, ...], dest: tuple[int, ...], comm):
    """Part k from source[k], in exchange for ours to dest[k]: equal parts of the third axis from the end."""
    parts = [slab] if len(source) == 1 else jnp.split(slab, len(source), -3)
    received = [
        mpi4jax.sendrecv(part, part, source=source[k], dest=dest[k], sendtag=TAG, recvtag=TAG, comm=comm)
        for k, part in enumerate(parts)
    ]
    return received[0] if len(received) == 1 else jnp.concatenate(received, -3)


def sum(array, comm):
    return mpi4jax.allreduce(array, op=MPI.SUM, comm=comm)


def all_to_all(array, comm):
    """Part k of the array [parts, ...] goes to process k, in exchange for its part for this one."""
    return mpi4jax.alltoall(array, comm=comm)
