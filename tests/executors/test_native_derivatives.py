"""Derivatives through the native step are those of the step in JAX, whose equations they are."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.random_case import configuration, random_fields

from swmodel.config.build import build_grid, build_params, build_state, scheme_of
from swmodel.executors.native.executor import make_native_step
from swmodel.executors.xla import make_step
from swmodel.ocean.state import Carry, State
from swmodel.ocean.timestep import method_of
from swmodel.parallel.decomposition import block
from swmodel.parallel.transport.serial import Serial

pytestmark = pytest.mark.usefixtures("quickly_compiled")

NY, NX, STEPS = 6, 9, 4
STEPPERS = ("ab3", "rk3", "leapfrog")


def weights(seed):
    return State(*map(jnp.asarray, np.random.default_rng(seed).standard_normal((3, NY, NX))))


def problem(make, **options):
    """(loss of an initial state and Params, that state, those Params) for a few steps of `make`."""
    config = configuration(NY, NX, random_fields(NY, NX, seed=3), grid__periodic_x=False, physics__slip="no", **options)
    here = Serial(block(0, (1, 1), NY, NX))
    method = method_of(config.time.stepper)
    grid, params, state = (
        jax.tree.map(jnp.asarray, build(config, here.block, np.float64))
        for build in (build_grid, build_params, build_state)
    )
    step = make(scheme_of(config), method, here)

    def loss(state, params):
        carry = Carry(state, method.remember(state), jnp.zeros((), jnp.int32))
        turn = lambda carry, _: (step(carry, grid, params, jnp.asarray(20.0)), None)  # noqa: E731
        final = jax.lax.scan(turn, carry, length=STEPS)[0].state
        return sum(jnp.vdot(w, x * x) for w, x in zip(weights(1), final, strict=True))

    return loss, state, params


def assert_equal(ours, truth):
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(truth), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * np.abs(b).max())


@pytest.mark.parametrize("stepper", STEPPERS)
def test_gradients_by_state_and_parameters_are_those_of_jax(stepper):
    ours, truth = (
        jax.jit(jax.value_and_grad(loss, argnums=(0, 1)))(state, params)
        for loss, state, params in (problem(make, time__stepper=stepper) for make in (make_native_step, make_step))
    )
    assert_equal(ours, truth)


def test_jvp_vjp_and_hessian_vector_products_are_those_of_jax():
    results = []
    for make in (make_native_step, make_step):
        loss, state, params = problem(make)
        of_state = lambda state, loss=loss, params=params: loss(state, params)  # noqa: E731
        forward = jax.jit(lambda x, d, f=of_state: jax.jvp(f, (x,), (d,)))(state, weights(5))
        backward = jax.jit(lambda x, f=of_state: jax.vjp(f, x)[1](jnp.asarray(2.0)))(state)
        hessian = jax.jit(lambda x, d, f=of_state: jax.jvp(jax.grad(f), (x,), (d,))[1])(state, weights(5))
        results.append((forward, backward, hessian))
    assert_equal(*results)


def test_many_states_at_once_have_the_gradients_of_each():
    loss, state, params = problem(make_native_step)
    gradient = jax.grad(loss)
    many = jax.tree.map(lambda x, d: jnp.stack([x, x + 1e-3 * d]), state, weights(5))
    together = jax.jit(jax.vmap(gradient, in_axes=(0, None)))(many, params)
    for number in range(2):
        one = jax.tree.map(lambda x, number=number: x[number], many)
        assert_equal(jax.tree.map(lambda x, number=number: x[number], together), jax.jit(gradient)(one, params))


def test_the_remainder_of_taylors_series_falls_with_the_square():
    loss, state, params = problem(make_native_step)
    value, gradient = jax.jit(jax.value_and_grad(loss))(state, params)
    direction = weights(5)
    slope = sum(jnp.vdot(g, d) for g, d in zip(gradient, direction, strict=True))
    sizes = np.array([1e-1, 1e-2, 1e-3])
    compiled = jax.jit(loss)
    moved = [compiled(jax.tree.map(lambda x, d, e=e: x + e * d, state, direction), params) for e in sizes]
    remainders = np.abs(np.array(moved) - value - sizes * slope)
    orders = np.log10(remainders[:-1] / remainders[1:])
    np.testing.assert_allclose(orders, 2, atol=0.05)
