"""Errors of a first guess, as numbers that do not depend on the layout."""

import jax
import jax.numpy as jnp
import numpy as np
from support.background_case import background_case

from swmodel.assimilation.gauss_newton import conjugate_gradients, make_dot
from swmodel.ocean.noise import white_noise

NY, NX = 11, 13
#: Layouts computed at the same time.
PHASES = (((1, 1), (1, 2)), ((2, 1),), ((2, 2),), ((1, 4),))


def numbers(x, dot, block):
    """Projections of controls on random weights, and their squares, summed over blocks."""
    weights = {name: white_noise(99, name, 0, block) if field.ndim else 1.0 for name, field in x.items()}
    return [dot({name: field}, {name: other}) for name, field in x.items() for other in (field, weights[name])]


def results(layout):
    """What is compared, and the error of the adjoint."""
    background, _, transport, _ = background_case(layout, NY, NX, name="mpi")
    dot = make_dot(transport)
    apply, transpose = jax.jit(background.apply), jax.jit(background.transpose)
    w, x = background.noise(1, 0), background.noise(1, 1)
    image, back = apply(w), transpose(x)
    ours, theirs = dot(x, image), dot(back, w)
    solution = conjugate_gradients(
        lambda d: jax.tree.map(jnp.add, d, transpose(apply(d))), x, dot, tolerance=0.0, iterations=5
    )
    found = {
        "scale": dict(zip(background.fields, background.scale, strict=True)),
        "apply": image,
        "draw": background.draw(1, 0),
        "transpose": back,
        "vjp": jax.jit(lambda x: jax.vjp(background.apply, x)[1](x)[0])(x),
        "jvp": jax.jit(lambda w, x: jax.jvp(background.apply, (w,), (x,))[1])(w, x),
        "solve": solution.step,
    }
    adjoint = abs(ours - theirs) / np.sqrt(dot(x, x) * dot(image, image))
    return {"numbers": {name: numbers(x, dot, transport.block) for name, x in found.items()}, "adjoint": adjoint}
