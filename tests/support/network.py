"""A small neural network as a closure, in plain JAX: a stress from the velocity gradients in 3 x 3 cells."""

import jax.numpy as jnp
import numpy as np

from swmodel import operators as op

HIDDEN = 3


def initial_parameters(seed=0):
    """A pytree of parameters, with one leaf that is not a parameter."""
    draw = np.random.default_rng(seed)
    sizes = {"in": (HIDDEN, 18), "bias": (HIDDEN,), "out": (2, HIDDEN)}
    return {name: draw.standard_normal(shape) for name, shape in sizes.items()} | {"activation": jnp.tanh}


def stress(state, grid, t, net):
    """The tendency by a stress from d_x u and vorticity of 3 x 3 cells, times thickness; it conserves momentum h u."""
    vorticity = op.mx_c(op.my_c(op.curl(state.u, state.v, grid)))

    def network(around):
        return net["out"] @ net["activation"](net["in"] @ (1e4 * around) + net["bias"])

    a, b = op.cell_by_cell(network, [op.dx_c(state.u) * grid.rdx.centre, vorticity], 1)
    a, b = 1e-3 * state.h * a, 1e-3 * op.mx_f(op.my_f(state.h * b))
    return {
        "u": (op.dx_f(a) * grid.rdx.u + op.dy_c(b) * grid.rdy.u) / state.h_u,
        "v": (op.dx_c(b) * grid.rdx.v - op.dy_f(a) * grid.rdy.v) / state.h_v,
    }
