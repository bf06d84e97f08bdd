"""Messages inside jitted programs: mpi4jax's operations with the rules that JAX's transformations need.

mpi4jax's own sendrecv has no forward-mode derivative and cannot be checkpointed; its alltoall has no derivative at all;
the transpose of its allreduce is the identity, which is right for one loss only. All three maps are linear, so each is
a primitive of its own here: its derivative is the map applied to the tangent. The transpose of a message is the message
in the opposite direction. A sum over processes, as a map of what all of them hold, is its own transpose, and so is an
all-to-all, which transposes a matrix of parts.
"""

from __future__ import annotations

from functools import lru_cache

import jax
import jax.numpy as jnp
import mpi4jax
from mpi4jax._src.utils import ordered_effect
from mpi4py import MPI

from ..linear import linear

#: The communicator of messages inside jitted programs, and of no others.
DEVICE_COMM = MPI.COMM_WORLD.Clone()
TAG = 7


def _sendrecv(slab: jax.Array, *, source: int, dest: int) -> jax.Array:
    return mpi4jax.sendrecv(slab, slab, source=source, dest=dest, sendtag=TAG, recvtag=TAG, comm=DEVICE_COMM)


def _sum(array: jax.Array) -> jax.Array:
    return mpi4jax.allreduce(array, op=MPI.SUM, comm=DEVICE_COMM)


@lru_cache
def _communicator(ranks: tuple[int, ...], world: int) -> MPI.Intracomm:
    """The communicator of some ranks of DEVICE_COMM, whose handle is `world`; made by all of them when they compile."""
    jax.effects_barrier()
    return DEVICE_COMM.Create_group(DEVICE_COMM.Get_group().Incl(ranks), TAG)


def _transpose(array: jax.Array, *, ring: tuple[int, ...]) -> jax.Array:
    received = mpi4jax.alltoall(jnp.moveaxis(array, -3, 0), comm=_communicator(ring, DEVICE_COMM.handle))
    return jnp.moveaxis(received, 0, -3)


#: The array that `source` sends, while ours goes to `dest`.
sendrecv_p = linear(
    "halo_sendrecv",
    _sendrecv,
    lambda cotangent, *, source, dest: sendrecv_p.bind(cotangent, source=dest, dest=source),
    {ordered_effect},
)
#: The sum of what all processes hold, on each of them.
sum_p = linear("sum_over_processes", _sum, lambda cotangent: sum_p.bind(cotangent), {ordered_effect})
#: Of arrays [..., parts, rows, columns], part k goes to the k-th rank of the `ring`, in exchange for its part for ours.
transpose_p = linear(
    "transpose_on_ring", _transpose, lambda cotangent, *, ring: transpose_p.bind(cotangent, ring=ring), {ordered_effect}
)
