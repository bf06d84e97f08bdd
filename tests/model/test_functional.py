"""The step as a pure function: equal to the model's, under JAX's transformations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.marks import night_params
from support.stepping import assert_close

import swmodel
from swmodel.errors import UsageError

pytestmark = pytest.mark.slow

SMALL = {"grid.nx": 14, "grid.ny": 11, "grid.dx": 2e4, "grid.dy": 2e4, "run.dtype": "float64"}
SMALL |= {"run.steps": 4, "run.executor": "reference"}
STEPS = 4


def make_functional(**options):
    overrides = SMALL | {name.replace("__", "."): value for name, value in options.items()}
    return swmodel.functional("double_gyre", overrides)


def advance_by_scan(step):
    """The function (carry, static) -> carry STEPS steps later, by scan."""
    return lambda carry, static: jax.lax.scan(lambda c, t: (step(c, static, t), None), carry, jnp.arange(STEPS))[0]


def energy(carry):
    h, u, v = carry.state
    return jnp.sum(h * (u * u + v * v))


def test_pure_step_is_that_of_model():
    """It agrees to round-off with the step of any executor."""
    carry, static, step = make_functional()
    model = swmodel.Simulation(step.config)
    model.advance(STEPS)
    found = jax.jit(advance_by_scan(step))(carry, static)
    assert_close(found.state, model.state, 1e-12)
    assert_close(found.memory, model.carry.memory, 1e-12)
    assert [float(jnp.abs(field).max()) > 0 for field in found.state] == [True] * 3


@pytest.mark.promise("derivatives are exact")
@pytest.mark.parametrize(("every", "segment"), [*night_params((None, None)), (2, 3)])
def test_trajectory_and_its_derivative_are_those_of_the_steps(every, segment):
    carry, static, step = make_functional()

    def go(carry, static):
        return step.trajectory(carry, static, STEPS, every=every, segment=segment)

    jax.tree.map(np.testing.assert_array_equal, go(carry, static)[0], advance_by_scan(step)(carry, static))
    ours, theirs = (
        jax.jit(jax.grad(lambda carry, static, f=f: energy(f(carry, static)), argnums=0))
        for f in (lambda *inputs: go(*inputs)[0], advance_by_scan(step))
    )
    assert_close(ours(carry, static), theirs(carry, static), 1e-12)
    with pytest.raises(UsageError, match="divide"):
        step.trajectory(carry, static, STEPS, every=3)
    with pytest.raises(UsageError, match="segment"):
        step.trajectory(carry, static, STEPS, segment=0)
    if every:
        last = jax.tree.map(lambda samples: samples[-1], go(carry, static)[1])
        jax.tree.map(np.testing.assert_array_equal, last, go(carry, static)[0].state)
    larger = jax.tree.map(lambda field: 1.01 * field, carry)
    batch = jax.tree.map(lambda *fields: jnp.stack(fields), carry, larger)
    gradients = jax.vmap(ours, in_axes=(0, None))(batch, static)
    assert_close(jax.tree.map(lambda field: field[1], gradients), ours(larger, static), 1e-12)


@pytest.mark.night
def test_replaced_depth_and_coefficients_are_those_of_a_configuration():
    """One term was inactive and has a wider stencil; sea level does not change, and the result is differentiable."""
    changed = {"physics.depth": 450.0, "physics.biharmonic_viscosity": 1e9, "physics.quadratic_drag": 2e-3}
    options = {"time__dt": 200.0, "scheme__vorticity_flux": "energy"}
    carry, static, step = make_functional(**options)
    theirs = make_functional(**options, **{name.replace(".", "__"): value for name, value in changed.items()})
    values = {name.removeprefix("physics."): value for name, value in changed.items()}
    depth = jnp.full(carry.state.h.shape, values.pop("depth"))
    ours = step.replace(carry, static, depth=depth, **values)
    assert ours.step.names == theirs.step.names
    assert_close(*(advance_by_scan(each.step)(each.carry0, each.static).state for each in (ours, theirs)), 1e-12)
    with pytest.raises(UsageError, match="subgrid_energy"):
        step.replace(carry, static, backscatter=0.1)
    with pytest.raises(UsageError, match="open_boundaries"):
        step.replace(carry, static, boundary_level=0.1)

    def loss(drag):
        carry_, static_, step_ = step.replace(carry, static, quadratic_drag=drag)
        return energy(step_.trajectory(carry_, static_, STEPS)[0])

    slope, width = jax.grad(loss)(2e-3), 1e-4
    assert_close(slope, (loss(2e-3 + width) - loss(2e-3 - width)) / (2 * width), 1e-4)


def test_pure_step_refuses_unknown_coefficients_and_fields_without_halo():
    carry, static, step = make_functional()
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
