"""Messages by foreign calls of this package (exchange.cc), which use the functions of the MPI of mpi4py.

Calls are ordered by an effect of JAX, as in mpi4jax. Several messages of a process are under way at once.
"""

from __future__ import annotations

import ctypes
from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import effects
from jax._src.core import abstract_token
from jax.extend.core import Primitive
from jax.interpreters import mlir
from mpi4py import MPI

from ...errors import SetupError
from .. import foreign

#: Functions of MPI, in the order of exchange.cc.
FUNCTIONS = ("MPI_Isend", "MPI_Irecv", "MPI_Waitall", "MPI_Allreduce", "MPI_Alltoall")


class Messages(effects.Effect):
    """The effect of a message: programs keep the order of messages."""

    def __str__(self):
        return "swmodel's messages"


EFFECT = Messages()
for allowed in ("lowerable", "ordered", "control_flow_allowed", "custom_derivatives_allowed"):
    getattr(effects, f"{allowed}_effects").add_type(Messages)


@cache
def library() -> ctypes.CDLL:
    """The foreign calls, registered with JAX. SetupError: they cannot be used."""
    if missing := foreign.unsupported_reason(*foreign.EXCHANGE):
        raise SetupError(f"run.exchange: ffi cannot be used: {missing}; build it: {foreign.REMEDY}")
    calls, mpi, size = foreign.built(foreign.EXCHANGE[0]).calls, ctypes.CDLL(MPI.__file__), MPI._sizeof(MPI.COMM_WORLD)
    addresses = [ctypes.cast(getattr(mpi, name), ctypes.c_void_p).value for name in FUNCTIONS]
    calls.swmodel_use((ctypes.c_void_p * len(addresses))(*addresses), size)
    for name in ("exchange", "sum", "all_to_all"):
        capsule = jax.ffi.pycapsule(getattr(calls, f"swmodel_{name}_{size}"))
        jax.ffi.register_ffi_target(f"swmodel_{name}", capsule, platform="cpu")
    return calls


def handle(of) -> int:
    """A handle of MPI as a number of 64 bits with a sign."""
    return int(np.uint64(MPI._handleof(of) % 2**64).astype(np.int64))


def carrier(comm) -> int:
    """The handle of a communicator; an error of MPI then ends all processes, as it may still write into arrays."""
    comm.Set_errhandler(MPI.ERRORS_ARE_FATAL)
    return handle(comm)


def _lowered(context, array, *, call: str, **numbers):
    """The foreign call on an array between the tokens of the messages before and after it."""
    library()
    (shape,), (result,) = context.avals_in, context.avals_out
    given = context.replace(avals_in=(shape, abstract_token), avals_out=(result, abstract_token))
    numbers |= {"type": handle(MPI._typedict[shape.dtype.char])}
    numbers = {
        name: np.array(value) if isinstance(value, tuple) else np.int64(value) for name, value in numbers.items()
    }
    lowering = jax.ffi.ffi_lowering(f"swmodel_{call}", has_side_effect=True)
    out, token = lowering(given, array, context.tokens_in.get(EFFECT), **numbers)
    context.set_tokens_out(mlir.TokenSet({EFFECT: token}))
    return [out]


message_p = Primitive("mpi_message")
message_p.def_effectful_abstract_eval(lambda array, **_: (jax.core.ShapedArray(array.shape, array.dtype), {EFFECT}))
mlir.register_lowering(message_p, _lowered, platform="cpu")


def sendrecv(slab, source: tuple[int, ...], dest: tuple[int, ...], comm):
    """Part k from source[k], in exchange for ours to dest[k]: equal parts of the third axis from the end."""
    call = partial(message_p.bind, call="exchange", comm=carrier(comm), source=source, dest=dest)
    if len(source) == 1:
        return call(slab)
    *members, fields, rows, columns = slab.shape
    parts = jnp.moveaxis(slab.reshape(*members, len(source), fields // len(source), rows, columns), -4, 0)
    return jnp.moveaxis(call(parts), 0, -4).reshape(slab.shape)


def sum(array, comm):
    return message_p.bind(array, call="sum", comm=carrier(comm), operation=handle(MPI.SUM))


def all_to_all(array, comm):
    """Part k of the array [parts, ...] goes to process k, in exchange for its part for this one."""
    return message_p.bind(array, call="all_to_all", comm=carrier(comm))


def sent() -> tuple[int, int]:
    """The messages and bytes that this process has sent by `sendrecv` so far."""
    numbers = (ctypes.c_int64 * 2)()
    library().swmodel_sent(numbers)
    return numbers[0], numbers[1]
