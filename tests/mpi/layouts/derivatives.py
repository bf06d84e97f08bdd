"""Derivatives through sums over ranks, and of many states at once, as numbers."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from support.random_case import configuration, random_fields

from swmodel.executors.xla import make_step
from swmodel.ocean.state import Carry, State
from swmodel.ocean.timestep import method_of
from swmodel.parallel.transport import connect
from swmodel.setup.setup import setup_of

NY, NX, STEPS = 7, 9, 4
PHASES = (((1, 1),), ((2, 1),), ((1, 2),))


def weights(seed, block):
    """Random fields [y, x], a block's part of them."""
    whole = np.random.default_rng(seed).standard_normal((3, NY, NX))
    rows, columns = slice(block.y.start, block.y.stop), slice(block.x.start, block.x.stop)
    return State(*(jnp.asarray(field[rows, columns]) for field in whole))


def results(layout):
    """The numbers."""
    config = configuration(NY, NX, random_fields(NY, NX, seed=3), grid__periodic_x=False, physics__slip="no")
    transport = connect("mpi", layout, NY, NX)
    ours, method = partial(weights, block=transport.block), method_of("ab2")
    static = setup_of(config).static(transport.block)
    grid, params = jax.tree.map(jnp.asarray, static)
    step = make_step(setup_of(config).scheme, method, transport)
    state = jax.tree.map(jnp.asarray, setup_of(config).state(transport.block))

    def final(state):
        carry = Carry(state, method.remember(state), jnp.zeros((), jnp.int32))
        carry, _ = jax.lax.scan(lambda c, _: (step(c, grid, params, jnp.asarray(20.0)), None), carry, length=STEPS)
        return carry.state

    def local_loss(state):
        """This block's share of a quadratic loss; the loss is the sum over blocks."""
        return sum(jnp.vdot(w, x * x) for w, x in zip(ours(1), final(state), strict=True))

    def square_of_sum(state):
        """A number that all processes have and that is no sum over blocks; its gradient is for the one of rank 0."""
        total = transport.sum(jnp.stack([jnp.vdot(w, x) for w, x in zip(ours(3), final(state), strict=True)]))
        return jnp.vdot(total, total)

    def gradient_of_square(state):
        """The gradient of `square_of_sum`."""
        return jax.vjp(square_of_sum, state)[1](jnp.asarray(transport.rank == 0, float))[0]

    def reduce(number):
        return float(transport.reduce(np.asarray(number), "sum"))

    def numbers(fields):
        """Projections of fields on random weights, summed over blocks."""
        return [reduce(jnp.vdot(w, x)) for w, x in zip(ours(2), fields, strict=True)]

    # Of velocities on open faces: on closed ones they are zero in every state.
    direction = jax.tree.map(lambda d, x: d * (x != 0), ours(5), state)
    many = jax.tree.map(lambda x, d: jnp.stack([x, x + 1e-3 * d]), state, direction)
    total, change = jax.jit(lambda x, d: jax.jvp(square_of_sum, (x,), (d,)))(state, direction)
    gradient, hessian_vector = jax.jit(lambda x, d: jax.jvp(gradient_of_square, (x,), (d,)))(state, direction)
    losses, gradients = jax.jit(jax.vmap(jax.value_and_grad(local_loss)))(many)
    return {
        "sum": float(total),
        "jvp of sum": float(change),
        "grad of sum": numbers(gradient),
        "hessian-vector of sum": numbers(hessian_vector),
        "vmap": [reduce(loss) for loss in losses],
        "vmap of grad": numbers(jax.tree.map(lambda x: x[1], gradients)),
    }
