"""Messages by mpi4jax."""

from __future__ import annotations

import os

os.environ.setdefault("MPI4JAX_NO_WARN_JAX_VERSION", "1")  # swmodel is tested with the versions of JAX that it allows

import mpi4jax
from mpi4jax._src.utils import ordered_effect as EFFECT  # noqa: F401, N812
from mpi4py import MPI

MESSAGE_TAG = 7


def sendrecv(slab, source: tuple[int, ...], dest: tuple[int, ...], comm):
    """Send the slab to the only `dest`, and receive one from the only `source`."""
    (before,), (after,) = source, dest
    return mpi4jax.sendrecv(slab, slab, source=before, dest=after, sendtag=MESSAGE_TAG, recvtag=MESSAGE_TAG, comm=comm)


def has_gpu_support() -> bool:
    """Whether mpi4jax was built with CUDA."""
    return mpi4jax.has_cuda_support()


def sum(array, comm):
    return mpi4jax.allreduce(array, op=MPI.SUM, comm=comm)


def all_to_all(array, comm):
    """Send part k of the array [parts, ...] to process k and receive that process's part for this one."""
    return mpi4jax.alltoall(array, comm=comm)
