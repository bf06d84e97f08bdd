"""Messages inside jitted programs: mpi4jax's sendrecv and allreduce with every rule that JAX's transformations ask for.

mpi4jax's own sendrecv has no forward-mode derivative and cannot be checkpointed; the transpose of its allreduce is the
identity, which is right for one loss only. Both maps are linear, so each is a primitive of its own here, whose
derivative is itself on the tangent. The transpose of a message is the message the other way; that of a sum over
processes, as a map of what all of them hold, is the sum itself.
"""

from __future__ import annotations

import jax
import mpi4jax
from mpi4jax._src.utils import ordered_effect
from mpi4py import MPI

from ..linear import linear

#: For messages inside jitted programs only.
DEVICE_COMM = MPI.COMM_WORLD.Clone()
TAG = 7


def _sendrecv(slab: jax.Array, *, source: int, dest: int) -> jax.Array:
    return mpi4jax.sendrecv(slab, slab, source=source, dest=dest, sendtag=TAG, recvtag=TAG, comm=DEVICE_COMM)


def _back(cotangent: jax.Array, *, source: int, dest: int) -> jax.Array:
    return sendrecv_p.bind(cotangent, source=dest, dest=source)


def _sum(array: jax.Array) -> jax.Array:
    return mpi4jax.allreduce(array, op=MPI.SUM, comm=DEVICE_COMM)


#: What `source` sends, while the array goes to `dest`.
sendrecv_p = linear("halo_sendrecv", _sendrecv, _back, {ordered_effect})
#: The sum of what all processes hold, on each of them.
sum_p = linear("sum_over_processes", _sum, lambda cotangent: sum_p.bind(cotangent), {ordered_effect})
