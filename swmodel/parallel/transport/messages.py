"""Messages inside jitted programs: operations of mpi4jax or of this package, with the rules for JAX's transformations.

mpi4jax's sendrecv has no forward-mode derivative and no checkpoint, and its alltoall has no derivative. The transpose
of its allreduce is the identity, which is right for one loss only. All three maps are linear, so each is a primitive
here, whose derivative is the map of the tangent. The transpose of a message is the message in the opposite direction. A
sum over processes is its own transpose, and so is an all-to-all, which transposes a matrix of parts. `total_p` and
`shared_p` are for a loss that all processes have, in place of the sum of the losses of all.
"""

from __future__ import annotations

import importlib
from functools import cache, lru_cache

import jax
import jax.numpy as jnp
from mpi4py import MPI

from ..linear import linear

#: The communicator of messages inside jitted programs, and of no others.
DEVICE_COMM = MPI.COMM_WORLD.Clone()
TAG = 7


@cache
def has_mpi4jax() -> bool:
    """Whether mpi4jax can be imported: it is there, and JAX takes it."""
    try:
        importlib.import_module(".by_mpi4jax", __package__)
    except Exception:  # whatever keeps mpi4jax from working with this JAX
        return False
    return True


def on_gpus() -> bool:
    """Whether mpi4jax sends what lies on GPUs."""
    return has_mpi4jax() and module("mpi4jax").on_gpus()


def module(exchange: str):
    """The module with the operations of `exchange`."""
    return importlib.import_module(f".by_{exchange}", __package__)


def effects(*, by: str, **_) -> set:
    return {module(by).EFFECT}


@lru_cache
def _communicator(ranks: tuple[int, ...], world: int) -> MPI.Intracomm:
    """The communicator of some ranks of DEVICE_COMM, whose handle is `world`; all of them make it at compilation."""
    jax.effects_barrier()
    return DEVICE_COMM.Create_group(DEVICE_COMM.Get_group().Incl(ranks), TAG)


def _sendrecv(slab: jax.Array, *, source: tuple[int, ...], dest: tuple[int, ...], by: str) -> jax.Array:
    return module(by).sendrecv(slab, source, dest, DEVICE_COMM)


def _sum(array: jax.Array, *, by: str) -> jax.Array:
    return module(by).sum(array, DEVICE_COMM)


def _transpose(array: jax.Array, *, ring: tuple[int, ...], by: str) -> jax.Array:
    parts = jnp.moveaxis(array, -3, 0)
    return jnp.moveaxis(module(by).all_to_all(parts, _communicator(ring, DEVICE_COMM.handle)), 0, -3)


#: Parts of an array, along its third axis from the end if they are several: part k from source[k], in exchange for ours
#: to dest[k].
sendrecv_p = linear(
    "halo_sendrecv",
    _sendrecv,
    lambda cotangent, *, source, dest, by: sendrecv_p.bind(cotangent, source=dest, dest=source, by=by),
    effects,
)
#: The sum of the arrays of all processes, on each of them.
sum_p = linear("sum_over_processes", _sum, lambda cotangent, *, by: sum_p.bind(cotangent, by=by), effects)
#: The same sum in a loss that all processes have: each gets the cotangent of that one loss.
total_p = linear("total_over_processes", _sum, lambda cotangent, *, by: shared_p.bind(cotangent, by=by), effects)
#: An array that all processes have alike; its derivative is the sum of those of all processes.
shared_p = linear(
    "shared_by_processes", lambda array, *, by: array, lambda cotangent, *, by: total_p.bind(cotangent, by=by)
)
#: Part k of arrays [..., parts, rows, columns] goes to the k-th rank of the `ring`, in exchange for its part for us.
transpose_p = linear(
    "transpose_on_ring",
    _transpose,
    lambda cotangent, *, ring, by: transpose_p.bind(cotangent, ring=ring, by=by),
    effects,
)
