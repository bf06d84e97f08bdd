"""Messages by foreign calls of this package (exchange.cc), which use the MPI library of mpi4py.

A JAX effect orders the calls, as in mpi4jax. One call can send several messages at the same time.
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
from .. import ffi_libraries

#: MPI functions, in the order of exchange.cc.
MPI_FUNCTIONS = ("MPI_Isend", "MPI_Irecv", "MPI_Waitall", "MPI_Allreduce", "MPI_Alltoall")


class MessageEffect(effects.Effect):
    """The JAX effect of a message, which makes compiled programs keep the order of messages."""

    def __str__(self):
        return "swmodel's messages"


EFFECT = MessageEffect()
for allowed in ("lowerable", "ordered", "control_flow_allowed", "custom_derivatives_allowed"):
    getattr(effects, f"{allowed}_effects").add_type(MessageEffect)


@cache
def load_exchange_library() -> ctypes.CDLL:
    """Load the foreign calls and register them with JAX. SetupError: they cannot be used."""
    if unsupported_reason := ffi_libraries.exchange_unsupported_reason():
        raise SetupError(
            f"run.exchange: ffi cannot be used: {unsupported_reason}; build it: {ffi_libraries.BUILD_COMMANDS}"
        )
    loaded = ffi_libraries.load_library(ffi_libraries.EXCHANGE_LIBRARY).library
    mpi, handle_bytes = ctypes.CDLL(MPI.__file__), MPI._sizeof(MPI.COMM_WORLD)
    addresses = [ctypes.cast(getattr(mpi, name), ctypes.c_void_p).value for name in MPI_FUNCTIONS]
    loaded.swmodel_set_mpi_functions((ctypes.c_void_p * len(addresses))(*addresses), handle_bytes)
    for name in ("exchange", "sum", "all_to_all"):
        capsule = jax.ffi.pycapsule(getattr(loaded, f"swmodel_{name}_{handle_bytes}"))
        jax.ffi.register_ffi_target(f"swmodel_{name}", capsule, platform="cpu")
    return loaded


def int64_handle(mpi_object) -> int:
    """An MPI handle as a signed 64-bit integer."""
    return int(np.uint64(MPI._handleof(mpi_object) % 2**64).astype(np.int64))


def communicator_handle(comm) -> int:
    """The handle of a communicator, whose errors now end all processes, because MPI might still write into arrays."""
    comm.Set_errhandler(MPI.ERRORS_ARE_FATAL)
    return int64_handle(comm)


def _lower_message(context, array, *, call: str, **attributes):
    """The foreign call on an array between the tokens of the messages before and after it."""
    load_exchange_library()
    (shape,), (result,) = context.avals_in, context.avals_out
    context_with_tokens = context.replace(avals_in=(shape, abstract_token), avals_out=(result, abstract_token))
    attributes |= {"type": int64_handle(MPI._typedict[shape.dtype.char])}
    attributes = {
        name: np.array(value) if isinstance(value, tuple) else np.int64(value) for name, value in attributes.items()
    }
    lowering = jax.ffi.ffi_lowering(f"swmodel_{call}", has_side_effect=True)
    out, token = lowering(context_with_tokens, array, context.tokens_in.get(EFFECT), **attributes)
    context.set_tokens_out(mlir.TokenSet({EFFECT: token}))
    return [out]


message_p = Primitive("mpi_message")
message_p.def_effectful_abstract_eval(lambda array, **_: (jax.core.ShapedArray(array.shape, array.dtype), {EFFECT}))
mlir.register_lowering(message_p, _lower_message, platform="cpu")


def sendrecv(slab, source: tuple[int, ...], dest: tuple[int, ...], comm):
    """Send part k to dest[k] and receive part k from source[k]; the parts are equal parts of the third-last axis."""
    call = partial(message_p.bind, call="exchange", comm=communicator_handle(comm), source=source, dest=dest)
    if len(source) == 1:
        return call(slab)
    *members, fields, rows, columns = slab.shape
    parts = jnp.moveaxis(slab.reshape(*members, len(source), fields // len(source), rows, columns), -4, 0)
    return jnp.moveaxis(call(parts), 0, -4).reshape(slab.shape)


def sum(array, comm):
    return message_p.bind(array, call="sum", comm=communicator_handle(comm), operation=int64_handle(MPI.SUM))


def all_to_all(array, comm):
    """Send part k of the array [parts, ...] to process k and receive that process's part for this one."""
    return message_p.bind(array, call="all_to_all", comm=communicator_handle(comm))


def sent_messages_and_bytes() -> tuple[int, int]:
    """The numbers of messages and bytes that this process has sent with `sendrecv` so far."""
    counts = (ctypes.c_int64 * 2)()
    load_exchange_library().swmodel_sent_messages_and_bytes(counts)
    return counts[0], counts[1]
