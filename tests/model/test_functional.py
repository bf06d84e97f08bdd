"""The step as a pure function equals that of the model, also under JAX's transformations."""

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


def test_pure_step_equals_step_of_model():
    """States and memory of the stepper agree to round-off."""
    carry, static, step = make_functional()
    model = swmodel.Simulation(step.config)
    model.advance(STEPS)
    final = jax.jit(advance_by_scan(step))(carry, static)
    assert_close(final.state, model.state, 1e-12)
    assert_close(final.memory, model.carry.memory, 1e-12)
    assert [float(jnp.abs(field).max()) > 0 for field in final.state] == [True] * 3


@pytest.mark.promise("derivatives are exact")
@pytest.mark.parametrize(("every", "segment"), [*night_params((None, None)), (2, 3)])
def test_trajectory_and_its_derivative_equal_those_of_single_steps(every, segment):
    carry, static, step = make_functional()

    def trajectory(carry, static):
        return step.trajectory(carry, static, STEPS, every=every, segment=segment)

    jax.tree.map(np.testing.assert_array_equal, trajectory(carry, static)[0], advance_by_scan(step)(carry, static))
    gradient, gradient_by_scan = (
        jax.jit(jax.grad(lambda carry, static, f=f: energy(f(carry, static)), argnums=0))
        for f in (lambda *inputs: trajectory(*inputs)[0], advance_by_scan(step))
    )
    assert_close(gradient(carry, static), gradient_by_scan(carry, static), 1e-12)
    with pytest.raises(UsageError, match="divide"):
        step.trajectory(carry, static, STEPS, every=3)
    with pytest.raises(UsageError, match="segment"):
        step.trajectory(carry, static, STEPS, segment=0)
    if every:
        last = jax.tree.map(lambda samples: samples[-1], trajectory(carry, static)[1])
        jax.tree.map(np.testing.assert_array_equal, last, trajectory(carry, static)[0].state)
    larger = jax.tree.map(lambda field: 1.01 * field, carry)
    batch = jax.tree.map(lambda *fields: jnp.stack(fields), carry, larger)
    gradients = jax.vmap(gradient, in_axes=(0, None))(batch, static)
    assert_close(jax.tree.map(lambda field: field[1], gradients), gradient(larger, static), 1e-12)


@pytest.mark.night
def test_replacing_depth_and_coefficients_equals_a_new_configuration():
    """One term was inactive and has a wider stencil. Sea level does not change; the result is differentiable."""
    changes = {"physics.depth": 450.0, "physics.biharmonic_viscosity": 1e9, "physics.quadratic_drag": 2e-3}
    options = {"time__dt": 200.0, "scheme__vorticity_flux": "energy"}
    carry, static, step = make_functional(**options)
    theirs = make_functional(**options, **{name.replace(".", "__"): value for name, value in changes.items()})
    values = {name.removeprefix("physics."): value for name, value in changes.items()}
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


def test_pure_step_refuses_unusable_coefficients_and_fields():
    carry, static, step = make_functional()
    field = jnp.ones((11, 14))
    for values in ({"linear_dragg": 1.0}, {"quadratic_drag": 1.0}, {"gravity": field}, {"depth": field[1:]}):
        with pytest.raises(UsageError, match=next(iter(values))):
            step.with_values(static, **values)
    for name in "wind_x", "wind_z":
        with pytest.raises(UsageError, match=name):
            step(carry, static._replace(params=static.params | {name: field}), 0)
    new_values = step.values(step.with_values(static, wind_x=field, linear_drag=2.0))
    np.testing.assert_array_equal(new_values["wind_x"], field)
    assert new_values["linear_drag"] == 2.0
