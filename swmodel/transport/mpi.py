"""Blocks on MPI processes: halos by token-ordered mpi4jax sendrecv inside jitted programs, the rest by mpi4py.

mpi4jax's own sendrecv has no forward-mode derivative and cannot be checkpointed. The shift of a slab round a ring is
linear, so it is a primitive of its own here, with every rule that JAX's transformations ask for: its derivative is the
shift of the tangent, its transpose the shift the other way.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import jax
import mpi4jax
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir, xla
from mpi4jax._src.utils import ordered_effect
from mpi4py import MPI

from ..decomposition import Block

#: One communicator for mpi4jax inside jitted programs, another for mpi4py between them.
DEVICE_COMM = MPI.COMM_WORLD.Clone()
HOST_COMM = MPI.COMM_WORLD.Clone()

OPERATIONS = {"sum": MPI.SUM, "max": MPI.MAX, "min": MPI.MIN}
TAG = 7

sendrecv_p = Primitive("halo_sendrecv")


def _sendrecv(slab, *, source: int, dest: int):
    return mpi4jax.sendrecv(slab, slab, source=source, dest=dest, sendtag=TAG, recvtag=TAG, comm=DEVICE_COMM)


def _abstract(slab, *, source, dest):
    return slab, {ordered_effect}


def _jvp(primals, tangents, *, source, dest):
    (slab,), (tangent,) = primals, tangents
    out = sendrecv_p.bind(slab, source=source, dest=dest)
    return out, sendrecv_p.bind(ad.instantiate_zeros(tangent), source=source, dest=dest)


def _transpose(cotangent, slab, *, source, dest):
    # Zeros are sent too: the neighbour waits for this message whether or not its contents matter here.
    return [sendrecv_p.bind(ad.instantiate_zeros(cotangent), source=dest, dest=source)]


def _batch(slabs, axes, *, source, dest):
    return sendrecv_p.bind(slabs[0], source=source, dest=dest), axes[0]


sendrecv_p.def_impl(partial(xla.apply_primitive, sendrecv_p))
sendrecv_p.def_effectful_abstract_eval(_abstract)
mlir.register_lowering(sendrecv_p, mlir.lower_fun(_sendrecv, multiple_results=False))
ad.primitive_jvps[sendrecv_p] = _jvp
ad.primitive_transposes[sendrecv_p] = _transpose
batching.primitive_batchers[sendrecv_p] = _batch


@dataclass(frozen=True)
class Mpi:
    """Transport of a run on the processes of MPI's world, one block each."""

    block: Block
    rank: int = field(default_factory=HOST_COMM.Get_rank)
    size: int = field(default_factory=HOST_COMM.Get_size)
    name: str = "mpi"

    def shift(self, slab, axis: int, step: int):
        """The slab of the block `step` places back on the ring of `axis`, while ours goes `step` places on.

        No message is sent where the ring has one block.
        """
        if self.block.layout[axis] == 1:
            return slab
        source, dest = self.block.neighbour(axis, -step), self.block.neighbour(axis, step)
        return sendrecv_p.bind(slab, source=source, dest=dest)

    def gather_rows(self, local: np.ndarray, first: int, last: int) -> np.ndarray | None:
        """Rows first to last of the whole field on rank 0, None elsewhere. `local` holds this rank's block."""
        from ..decomposition import blocks

        jax.effects_barrier()
        everyone = blocks(self.block.layout, self.block.y.size, self.block.x.size)
        if self.rank:
            lower, upper = _overlap(self.block, first, last)
            if lower < upper:
                start = self.block.y.start
                HOST_COMM.Send(np.ascontiguousarray(local[lower - start : upper - start]), dest=0)
            return None
        rows = np.empty((last - first, self.block.x.size), local.dtype)
        for rank, block in enumerate(everyone):
            lower, upper = _overlap(block, first, last)
            if lower >= upper:
                continue
            if rank == 0:
                piece = local[lower - block.y.start : upper - block.y.start]
            else:
                piece = np.empty((upper - lower, block.x.length), local.dtype)
                HOST_COMM.Recv(piece, source=rank)
            rows[lower - first : upper - first, block.x.start : block.x.stop] = piece
        return rows

    def reduce(self, values, operation: str):
        """`values` (NumPy, the same shape everywhere) summed or compared over all ranks, the same on all."""
        jax.effects_barrier()
        values = np.asarray(values)
        out = np.empty_like(values)
        HOST_COMM.Allreduce(values, out, op=OPERATIONS[operation])
        return out

    def broadcast(self, value):
        """The value that rank 0 has."""
        jax.effects_barrier()
        return HOST_COMM.bcast(value, root=0)

    def any(self, flag: bool) -> bool:
        """Whether the flag is set on any rank."""
        return bool(self.reduce(np.asarray(flag, dtype=np.int64), "max"))

    def barrier(self) -> None:
        """Wait for all ranks."""
        jax.effects_barrier()
        HOST_COMM.Barrier()


def _overlap(block: Block, first: int, last: int) -> tuple[int, int]:
    return max(first, block.y.start), min(last, block.y.stop)


def world_rank() -> int:
    """This process's number in MPI's world."""
    return HOST_COMM.Get_rank()
