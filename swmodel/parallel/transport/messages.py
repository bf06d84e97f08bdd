"""Messages inside jitted programs: operations of mpi4jax or of this package, with rules for JAX's transformations.

mpi4jax's sendrecv has no forward-mode derivative, its alltoall has no derivative, and the transpose of its allreduce is
the identity, which is right only for a loss that all processes share. All three maps are linear, so each is a primitive
here, whose derivative is the map of the tangent. The transpose of a message is the message in the opposite direction. A
sum over processes is its own transpose, and so is an all-to-all, which transposes a matrix of parts. `total_p` and
`shared_p` are for one loss that all processes share, instead of the sum of their losses.
"""

from __future__ import annotations

import importlib
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
from mpi4py import MPI

from ..linear import linear_primitive

if TYPE_CHECKING:
    from jax.extend.core import Primitive

#: The communicator that is reserved for messages inside jitted programs.
DEVICE_COMM = MPI.COMM_WORLD.Clone()
MESSAGE_TAG = 7


@cache
def has_mpi4jax() -> bool:
    """Whether mpi4jax is installed and works with this JAX."""
    try:
        importlib.import_module(".mpi4jax_messages", __package__)
    except Exception:  # errors of any kind mean that mpi4jax does not work with this JAX
        return False
    return True


def has_gpu_support() -> bool:
    """Whether mpi4jax can send arrays on GPUs."""
    return has_mpi4jax() and operations_module("mpi4jax").has_gpu_support()


def operations_module(exchange: str):
    return importlib.import_module(f".{exchange}_messages", __package__)


def message_effects(*, exchange: str, **_) -> set:
    return {operations_module(exchange).EFFECT}


@lru_cache
def _communicator(ranks: tuple[int, ...], comm_handle: int) -> MPI.Intracomm:
    """The communicator of some ranks of DEVICE_COMM, which they create when they first compile a message between them.

    `comm_handle`, the handle of DEVICE_COMM, distinguishes entries of the cache.
    """
    jax.effects_barrier()
    return DEVICE_COMM.Create_group(DEVICE_COMM.Get_group().Incl(ranks), MESSAGE_TAG)


def _sendrecv(slab: jax.Array, *, source: tuple[int, ...], dest: tuple[int, ...], exchange: str) -> jax.Array:
    return operations_module(exchange).sendrecv(slab, source, dest, DEVICE_COMM)


def _sum(array: jax.Array, *, exchange: str) -> jax.Array:
    return operations_module(exchange).sum(array, DEVICE_COMM)


def _transpose(array: jax.Array, *, ranks: tuple[int, ...], exchange: str) -> jax.Array:
    parts = jnp.moveaxis(array, -3, 0)
    return jnp.moveaxis(operations_module(exchange).all_to_all(parts, _communicator(ranks, DEVICE_COMM.handle)), 0, -3)


#: Send part k of an array to dest[k] and receive part k from source[k]; several parts lie along the third-last axis.
sendrecv_p: Primitive = linear_primitive(
    "halo_sendrecv",
    _sendrecv,
    lambda cotangent, *, source, dest, exchange: sendrecv_p.bind(
        cotangent, source=dest, dest=source, exchange=exchange
    ),
    message_effects,
)
#: The sum of the arrays of all processes, on each of them.
sum_p: Primitive = linear_primitive(
    "sum_over_processes", _sum, lambda cotangent, *, exchange: sum_p.bind(cotangent, exchange=exchange), message_effects
)
#: The same sum, in a loss that all processes share: the transpose gives each process the cotangent of that one loss.
total_p: Primitive = linear_primitive(
    "total_over_processes",
    _sum,
    lambda cotangent, *, exchange: shared_p.bind(cotangent, exchange=exchange),
    message_effects,
)
#: An array that is the same on all processes; its transpose sums the cotangents of all processes.
shared_p: Primitive = linear_primitive(
    "shared_by_processes",
    lambda array, *, exchange: array,
    lambda cotangent, *, exchange: total_p.bind(cotangent, exchange=exchange),
)
#: Send part k of arrays [..., parts, rows, columns] to the k-th of `ranks`, and receive from it its part for this rank.
transpose_p: Primitive = linear_primitive(
    "transpose_on_ring",
    _transpose,
    lambda cotangent, *, ranks, exchange: transpose_p.bind(cotangent, ranks=ranks, exchange=exchange),
    message_effects,
)
