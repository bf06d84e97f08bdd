"""The step as a pure function: the model's own, to JAX's transformations, on one device and in blocks on four."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import own_run
from support.own_run import bits

import swmodel
from swmodel.errors import UsageError

pytestmark = pytest.mark.slow

SMALL = {"grid.nx": 14, "grid.ny": 11, "grid.dx": 2e4, "grid.dy": 2e4, "run.dtype": "float64"}
SMALL |= {"run.steps": 4, "run.executor": "reference"}
STEPS = 4


def made(**options):
    overrides = SMALL | {name.replace("__", "."): value for name, value in options.items()}
    return swmodel.functional("double_gyre", overrides)


def ahead(step, wrap=lambda step: step):
    """The function (carry, static) -> carry STEPS steps later, by scan."""
    one = wrap(step)
    return lambda carry, static: jax.lax.scan(lambda c, t: (one(c, static, t), None), carry, jnp.arange(STEPS))[0]


def energy(carry):
    h, u, v = carry.state
    return jnp.sum(h * (u * u + v * v))


def assert_close(ours, theirs, rtol=1e-12):
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * max(np.abs(b).max(), 1e-30))


def test_pure_step_is_that_of_model():
    """To rounding, as by any executor."""
    carry, static, step = made()
    model = swmodel.Simulation(step.config)
    model.advance(STEPS)
    found = jax.jit(ahead(step))(carry, static)
    assert_close(found.state, model.state)
    assert_close(found.memory, model.carry.memory)
    assert [float(jnp.abs(field).max()) > 0 for field in found.state] == [True] * 3


@pytest.mark.night
def test_vmap_and_checkpoint_change_nothing():
    carry, static, step = made(time__stepper="ab2")
    one = jax.jit(ahead(step))
    plain, kept = (jax.grad(lambda c, go=go: energy(go(c, static)))(carry) for go in (one, ahead(step, jax.checkpoint)))
    assert_close(kept, plain)

    def faster(k):
        return one(carry._replace(state=carry.state._replace(u=k * carry.state.u + k)), static)

    factors = jnp.array([1.0, 1.5, 0.5])
    many = jax.vmap(faster)(factors)
    for number, k in enumerate(factors):
        assert_close(jax.tree.map(lambda x, number=number: x[number], many), faster(k))


def test_pure_step_refuses_unknown_coefficients_and_fields_without_margin():
    carry, static, step = made()
    field = jnp.ones((11, 14))
    for wrong in ({"linear_dragg": 1.0}, {"quadratic_drag": 1.0}, {"gravity": field}, {"depth": field[1:]}):
        with pytest.raises(UsageError, match=next(iter(wrong))):
            step.with_values(static, **wrong)
    for name in "wind_x", "wind_z":
        with pytest.raises(UsageError, match=name):
            step(carry, static._replace(params=static.params | {name: field}), 0)
    changed = step.values(step.with_values(static, wind_x=field, linear_drag=2.0))
    np.testing.assert_array_equal(changed["wind_x"], field)
    assert changed["linear_drag"] == 2.0


FOUR = {"run.devices": 4, "run.layout": "2x2"}


def pure(options):
    """Bits after some steps, and the gradient of the energy then."""
    carry, static, step = made(**options)

    def program(function):
        if "run.devices" not in options:
            return jax.jit(function)
        inputs = step.specs(carry), step.specs(static)
        return jax.jit(jax.shard_map(function, mesh=step.mesh, in_specs=inputs, out_specs=inputs[0]))

    go, get = ahead(step), step.transport.get if "run.devices" in options else np.asarray
    gradient = program(jax.grad(lambda carry, static: energy(go(carry, static))))(carry, static)
    return bits(map(get, program(go)(carry, static).state)), get(gradient.state.h)


def on_devices():
    """Lists of bits that must be the same, and two gradients; four devices do not divide the grid."""
    options = SMALL | {"grid.ny": 11, "grid.nx": 13, "run.executor": "xla", "time.dt": 300.0}
    model = swmodel.Simulation("double_gyre", options)
    model.advance(STEPS)
    (one, gradient), (four, other) = pure(options), pure(options | FOUR)
    own = [own_run.simulation(where) for where in ({}, FOUR)]
    for each in own:
        each.every("2 steps", own_run.nudge)
        each.advance(STEPS)
    return [[bits(model.state), one, four], [bits(each.state) for each in own]], (other, gradient)


@pytest.mark.promise("fields and terms from Python equal those of the model")
@pytest.mark.night
@pytest.mark.mpi
def test_pure_step_on_devices_has_bits_of_one_device(ranks):
    """It has those of the model, without fused multiply-adds; so has a model with fields and a term of one's own."""
    ((found, gradients),) = ranks.with_environment("avx", XLA_FLAGS="--xla_cpu_max_isa=AVX")(1, on_devices)
    assert [len(set(each)) for each in found] == [1, 1]
    assert_close(*gradients)
