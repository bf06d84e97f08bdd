"""A function that is computed one way and differentiated another."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir, xla

#: jax.custom_jvp would do but inside loops: there its rule is lost before the second derivative.
fast_p = Primitive("fast")
fast_p.multiple_results = True


def differentiate_as(slow, fast):
    """The function `fast` with the derivatives, of any order and in either mode, of `slow`.

    Args:
        slow, fast: functions of the same trees of arrays with results of the same shapes, equal but for rounding; they
            may send messages.
    """

    def function(*arguments):
        leaves, tree = jax.tree.flatten(arguments)
        shape = jax.tree.structure(jax.eval_shape(fast, *arguments))

        def flat(function):
            return lambda *leaves: jax.tree.leaves(function(*jax.tree.unflatten(tree, leaves)))

        return jax.tree.unflatten(shape, fast_p.bind(*map(jnp.asarray, leaves), slow=flat(slow), fast=flat(fast)))

    return function


def _compute(*leaves, slow, fast):
    return fast(*leaves)


def _abstract(*leaves, slow, fast):
    jaxpr = jax.make_jaxpr(fast)(*leaves)
    return jaxpr.out_avals, jaxpr.effects


def _jvp(primals, tangents, *, slow, fast):
    moves = [not isinstance(tangent, ad.Zero) for tangent in tangents]

    def of_moving(*moving):
        moving = iter(moving)
        return slow(*(next(moving) if move else primal for move, primal in zip(moves, primals, strict=True)))

    moving = [[x for x, move in zip(values, moves, strict=True) if move] for values in (primals, tangents)]
    results = fast_p.bind(*primals, slow=slow, fast=fast)
    slopes = jax.jvp(of_moving, *moving)[1]
    return results, [
        slope if jnp.issubdtype(result.dtype, jnp.inexact) else ad.Zero(jax.typeof(result).to_tangent_aval())
        for result, slope in zip(results, slopes, strict=True)
    ]


def _batch(leaves, axes, *, slow, fast):
    results = fast_p.bind(*leaves, slow=jax.vmap(slow, axes), fast=jax.vmap(fast, axes))
    return results, [0] * len(results)


fast_p.def_impl(partial(xla.apply_primitive, fast_p))
fast_p.def_effectful_abstract_eval(_abstract)
mlir.register_lowering(fast_p, mlir.lower_fun(_compute, multiple_results=True))
ad.primitive_jvps[fast_p] = _jvp
batching.primitive_batchers[fast_p] = _batch
