"""Linear maps of one array as JAX primitives, with rules for JAX's transformations."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir, xla


def linear_primitive(name: str, compute, transpose, effects=None) -> Primitive:
    """The primitive of a linear map of arrays [..., y, x] with any leading axes.

    Args:
        compute: function of the array and the primitive's parameters that returns the result.
        transpose: function of a cotangent of the result and the parameters that returns the cotangent of the array.
        effects: for a message, function of the parameters that returns its JAX effects. The result of a message has the
            shape of the array.
    """
    primitive = Primitive(name)

    def abstract_eval(array, **parameters):
        shape = array if effects else jax.eval_shape(partial(compute, **parameters), array)
        result = array.update(shape=shape.shape, dtype=shape.dtype, weak_type=False)
        return result, effects(**parameters) if effects else set()

    def jvp(primals, tangents, **parameters):
        out = primitive.bind(*primals, **parameters)
        return out, primitive.bind(ad.instantiate_zeros(tangents[0]), **parameters)

    def transpose_rule(cotangent, array, **parameters):
        # Even a cotangent of zeros is sent, because other processes wait for the message.
        return [transpose(ad.instantiate_zeros(cotangent), **parameters)]

    def batching_rule(arrays, axes, **parameters):
        return primitive.bind(jnp.moveaxis(arrays[0], axes[0], 0), **parameters), 0

    primitive.def_impl(partial(xla.apply_primitive, primitive))
    primitive.def_effectful_abstract_eval(abstract_eval)
    mlir.register_lowering(primitive, mlir.lower_fun(compute, multiple_results=False))
    ad.primitive_jvps[primitive] = jvp
    ad.primitive_transposes[primitive] = transpose_rule
    batching.primitive_batchers[primitive] = batching_rule
    return primitive
