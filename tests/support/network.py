"""A small neural network in plain JAX as a closure: a stress from the velocity gradients in 3 x 3 cells."""

import jax.numpy as jnp
import numpy as np

from swmodel import operators as op

HIDDEN = 3


def initial_parameters(seed=0):
    """A pytree of parameters, with one leaf that is not a parameter."""
    rng = np.random.default_rng(seed)
    shapes = {"in": (HIDDEN, 18), "bias": (HIDDEN,), "out": (2, HIDDEN)}
    return {name: rng.standard_normal(shape) for name, shape in shapes.items()} | {"activation": jnp.tanh}


def stress(state, grid, t, net):
    """The tendency by the divergence of a stress that the network computes; it conserves momentum h u."""
    vorticity = op.mx_c(op.my_c(op.curl(state.u, state.v, grid)))

    def network(neighbours):
        return net["out"] @ net["activation"](net["in"] @ (1e4 * neighbours) + net["bias"])

    a, b = op.cell_by_cell(network, [op.dx_c(state.u) * grid.rdx.centre, vorticity], 1)
    a, b = 1e-3 * state.h * a, 1e-3 * op.mx_f(op.my_f(state.h * b))
    return {
        "u": (op.dx_f(a) * grid.rdx.u + op.dy_c(b) * grid.rdy.u) / state.h_u,
        "v": (op.dx_c(b) * grid.rdx.v - op.dy_f(a) * grid.rdy.v) / state.h_v,
    }
