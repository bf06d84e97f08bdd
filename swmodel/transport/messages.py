"""Messages inside jitted programs: mpi4jax's sendrecv and allreduce with every rule that JAX's transformations ask for.

mpi4jax's own sendrecv has no forward-mode derivative and cannot be checkpointed; the transpose of its allreduce is the
identity, which is right for one loss only. Both maps are linear, so each is a primitive of its own here, whose
derivative is itself on the tangent. The transpose of a message is the message the other way; that of a sum over
processes, as a map of what all of them hold, is the sum itself.
"""

from __future__ import annotations

from functools import partial

import jax
import mpi4jax
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir, xla
from mpi4jax._src.utils import ordered_effect
from mpi4py import MPI

#: For messages inside jitted programs only.
DEVICE_COMM = MPI.COMM_WORLD.Clone()
TAG = 7


def linear(name: str, compute, transpose) -> Primitive:
    """A primitive for a linear map of an array, on all processes together, to one of the same shape.

    Args:
        compute: function of the array and the parameters, of mpi4jax operations.
        transpose: function of the parameters that gives those of the transposed map.
    """
    primitive = Primitive(name)

    def jvp(primals, tangents, **parameters):
        out = primitive.bind(*primals, **parameters)
        return out, primitive.bind(ad.instantiate_zeros(tangents[0]), **parameters)

    def transposed(cotangent, array, **parameters):
        # Zeros travel too: the others wait for this message whether or not its contents matter here.
        return [primitive.bind(ad.instantiate_zeros(cotangent), **transpose(**parameters))]

    primitive.def_impl(partial(xla.apply_primitive, primitive))
    primitive.def_effectful_abstract_eval(lambda array, **parameters: (array, {ordered_effect}))
    mlir.register_lowering(primitive, mlir.lower_fun(compute, multiple_results=False))
    ad.primitive_jvps[primitive] = jvp
    ad.primitive_transposes[primitive] = transposed
    batching.primitive_batchers[primitive] = lambda arrays, axes, **p: (primitive.bind(arrays[0], **p), axes[0])
    return primitive


def _sendrecv(slab: jax.Array, *, source: int, dest: int) -> jax.Array:
    return mpi4jax.sendrecv(slab, slab, source=source, dest=dest, sendtag=TAG, recvtag=TAG, comm=DEVICE_COMM)


#: What `source` sends, while the array goes to `dest`.
sendrecv_p = linear("halo_sendrecv", _sendrecv, lambda source, dest: {"source": dest, "dest": source})
#: The sum of what all processes hold, on each of them.
sum_p = linear("sum_over_processes", lambda array: mpi4jax.allreduce(array, op=MPI.SUM, comm=DEVICE_COMM), dict)
