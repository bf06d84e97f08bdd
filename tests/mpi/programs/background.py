"""Errors of a first guess over MPI, as numbers that do not depend on the layout: background.py PYxPX."""

import json
import sys

import jax
import jax.numpy as jnp
import numpy as np
from support.background_case import background_case

from swmodel.assimilation.conjugate_gradient import conjugate_gradients, make_dot
from swmodel.ocean.noise import white_noise

jax.config.update("jax_enable_x64", True)
NY, NX = 11, 13
layout = tuple(map(int, sys.argv[1].split("x")))
background, _, transport, _ = background_case(layout, NY, NX, name="mpi")
dot = make_dot(transport)


def numbers(x):
    """Projections of controls on random weights, and their squares, summed over blocks."""
    weights = {name: white_noise(99, name, 0, transport.block) if field.ndim else 1.0 for name, field in x.items()}
    return [dot({name: field}, {name: other}) for name, field in x.items() for other in (field, weights[name])]


apply, transpose = jax.jit(background.apply), jax.jit(background.transpose)
w, x = background.noise(1, 0), background.noise(1, 1)
image, back = apply(w), transpose(x)
by_jax = jax.jit(lambda x: jax.vjp(background.apply, x)[1](x)[0])(x)
ours, theirs = dot(x, image), dot(back, w)
solution = conjugate_gradients(
    lambda d: jax.tree.map(jnp.add, d, transpose(apply(d))), x, dot, tolerance=0.0, iterations=5
)
results = {
    "scale": numbers(dict(zip(background.fields, background.scale, strict=True))),
    "apply": numbers(image),
    "draw": numbers(background.draw(1, 0)),
    "transpose": numbers(back),
    "vjp": numbers(by_jax),
    "jvp": numbers(jax.jit(lambda w, x: jax.jvp(background.apply, (w,), (x,))[1])(w, x)),
    "solve": numbers(solution.step),
}
adjoint = abs(ours - theirs) / np.sqrt(dot(x, x) * dot(image, image))
if transport.rank == 0:
    print(json.dumps({"numbers": results, "adjoint": adjoint}))
