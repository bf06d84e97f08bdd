"""Messages inside jitted programs: mpi4jax's operations with the rules for JAX's transformations.

mpi4jax's sendrecv has no forward-mode derivative and no checkpoint, and its alltoall has no derivative. The transpose
of its allreduce is the identity, which is right for one loss only. All three maps are linear, so each is a primitive
here, whose derivative is the map of the tangent. The transpose of a message is the message in the opposite direction. A
sum over processes is its own transpose, and so is an all-to-all, which transposes a matrix of parts.
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
    """The communicator of some ranks of DEVICE_COMM, whose handle is `world`; all of them make it at compilation."""
    jax.effects_barrier()
    return DEVICE_COMM.Create_group(DEVICE_COMM.Get_group().Incl(ranks), TAG)


def _transpose(array: jax.Array, *, ring: tuple[int, ...]) -> jax.Array:
    received = mpi4jax.alltoall(jnp.moveaxis(array, -3, 0), comm=_communicator(ring, DEVICE_COMM.handle))
    return jnp.moveaxis(received, 0, -3)


#: The array from `source`, in exchange for ours to `dest`.
sendrecv_p = linear(
    "halo_sendrecv",
    _sendrecv,
    lambda cotangent, *, source, dest: sendrecv_p.bind(cotangent, source=dest, dest=source),
    {ordered_effect},
)
#: The sum of the arrays of all processes, on each of them.
sum_p = linear("sum_over_processes", _sum, lambda cotangent: sum_p.bind(cotangent), {ordered_effect})
#: Part k of arrays [..., parts, rows, columns] goes to the k-th rank of the `ring`, in exchange for its part for us.
transpose_p = linear(
    "transpose_on_ring", _transpose, lambda cotangent, *, ring: transpose_p.bind(cotangent, ring=ring), {ordered_effect}
)
