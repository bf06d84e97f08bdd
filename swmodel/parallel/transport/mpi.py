"""Blocks on MPI processes: messages inside jitted programs are ordered; mpi4py sends those outside of programs."""

from __future__ import annotations

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from mpi4py import MPI

from ...errors import SetupError
from .. import ffi_libraries
from ..decomposition import Block
from ..environment import has_gpu
from .messages import has_gpu_support, has_mpi4jax, sendrecv_p, shared_p, sum_p, total_p, transpose_p
from .serial import SingleDeviceTransport

#: The communicator for messages of mpi4py outside of jitted programs, which use `messages.DEVICE_COMM`.
HOST_COMM = MPI.COMM_WORLD.Clone()

REDUCTIONS = {"sum": MPI.SUM, "max": MPI.MAX, "min": MPI.MIN}


def choose_exchange(exchange: str) -> str:
    """The library for messages: `exchange` or, for "auto", mpi4jax, but ffi if only ffi works on all processes.

    All processes call it together, and get the same answer. SetupError: JAX computes on GPUs, but the library cannot.
    """
    if has_gpu() and (exchange == "ffi" or not has_gpu_support()):
        raise SetupError(
            "run.transport: on GPUs mpi needs an mpi4jax that was built with CUDA; use run.transport=sharded, which "
            "does not need it, or compute on CPUs: JAX_PLATFORMS=cpu"
        )
    if exchange != "auto":
        return exchange
    availability_of_ranks = HOST_COMM.allgather((has_mpi4jax(), not ffi_libraries.exchange_unsupported_reason()))
    mpi4jax, ffi = map(all, zip(*availability_of_ranks, strict=True))
    return "ffi" if ffi and not mpi4jax else "mpi4jax"


@dataclass(frozen=True)
class MpiTransport(SingleDeviceTransport):
    """The Transport of a run on the processes of MPI's world communicator, each of which has one block.

    `exchange` is the library for messages inside programs: mpi4jax, or ffi, the foreign calls of this package.
    """

    block: Block
    rank: int = field(default_factory=lambda: HOST_COMM.Get_rank())
    size: int = field(default_factory=lambda: HOST_COMM.Get_size())
    name: str = "mpi"
    exchange: str = "mpi4jax"

    def shift(self, slab, axis: int, step: int):
        if self.block.layout[axis] == 1:
            return slab
        source, dest = self.block.neighbour(axis, -step), self.block.neighbour(axis, step)
        return sendrecv_p.bind(slab, source=(source,), dest=(dest,), exchange=self.exchange)

    def swap(self, first, last, axis: int):
        if self.exchange == "mpi4jax" or self.block.layout[axis] == 1:
            return super().swap(first, last, axis)
        before, after = self.block.neighbour(axis, -1), self.block.neighbour(axis, +1)
        both = jnp.concatenate([last, first], -3)
        received = sendrecv_p.bind(both, source=(before, after), dest=(after, before), exchange=self.exchange)
        return jnp.split(received, 2, -3)

    def sum(self, array):
        return array if self.size == 1 else sum_p.bind(array, exchange=self.exchange)

    def total(self, array):
        return array if self.size == 1 else total_p.bind(array, exchange=self.exchange)

    def shared(self, array):
        return array if self.size == 1 else shared_p.bind(array, exchange=self.exchange)

    def transpose(self, array, axis: int):
        if self.block.layout[axis] == 1:
            return array
        return transpose_p.bind(array, ranks=self.block.ranks_along(axis), exchange=self.exchange)

    def gather_rows(self, local: np.ndarray, first: int, stop: int, member: int = 0) -> np.ndarray | None:
        jax.effects_barrier()
        if self.rank:
            lower, upper = self.block.overlapping_rows(first, stop, member)
            if lower < upper:
                start = self.block.y.start
                HOST_COMM.Send(np.ascontiguousarray(local[lower - start : upper - start]), dest=0)
            return None
        rows = np.empty((stop - first, self.block.x.axis_size), local.dtype)
        for rank, block in enumerate(self.block.blocks_of_all_ranks()):
            lower, upper = block.overlapping_rows(first, stop, member)
            if lower == upper:
                continue
            if rank == 0:
                piece = local[lower - block.y.start : upper - block.y.start]
            else:
                piece = np.empty((upper - lower, block.x.length), local.dtype)
                HOST_COMM.Recv(piece, source=rank)
            rows[lower - first : upper - first, block.x.start : block.x.stop] = piece
        return rows

    def reduce(self, values, operation: str):
        jax.effects_barrier()
        values = np.asarray(values)
        out = np.empty_like(values)
        HOST_COMM.Allreduce(values, out, op=REDUCTIONS[operation])
        return out

    def broadcast(self, value):
        jax.effects_barrier()
        return HOST_COMM.bcast(value, root=0)

    def allgather(self, value) -> list:
        jax.effects_barrier()
        return HOST_COMM.allgather(value)
