"""The step as a pure function: the model's own, to JAX's transformations, on one device and in blocks on four."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support.compiling import QUICK

import swmodel
from swmodel import operators
from swmodel.gradients import Problem

pytestmark = pytest.mark.slow

SMALL = {"grid.nx": 14, "grid.ny": 11, "grid.dx": 2e4, "grid.dy": 2e4, "run.dtype": "float64"}
SMALL |= {"run.steps": 4, "run.executor": "reference"}
STEPS = 4
TESTS = Path(__file__).parents[1]


def drag(state, grid, t, linear_drag):
    return {"u": -operators.mx_f(linear_drag) * state.u * np.cos(t / 1e4)}


def made(terms=(), **options):
    overrides = SMALL | {name.replace("__", "."): value for name, value in options.items()}
    return swmodel.functional("double_gyre", overrides, terms=terms)


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


@pytest.mark.parametrize("stepper", ["rk3", "leapfrog", "gfb"])
def test_it_takes_the_steps_of_the_model(stepper):
    """To rounding, as by any executor."""
    carry, static, step = made(time__stepper=stepper)
    model = swmodel.Simulation(step.config)
    model.advance(STEPS)
    found = jax.jit(ahead(step))(carry, static)
    assert_close(found.state, model.state)
    assert_close(found.memory, model.carry.memory)
    assert [float(jnp.abs(field).max()) > 0 for field in found.state] == [True] * 3


@pytest.mark.night
def test_its_gradient_is_that_of_the_model_by_fields_and_by_coefficients():
    carry, static, step = made([drag], run__executor="xla")
    problem = Problem(step.config, ["eta", "viscosity"], lambda view, k: view.state)
    _, expected = problem.value_and_gradient(
        problem.first_guess(), lambda series: energy(type(carry)(type(carry.state)(*(x[-1] for x in series)), ()))
    )
    by_state, by_static = jax.jit(jax.grad(lambda *given: energy(ahead(step)(*given)), argnums=(0, 1), allow_int=True))(
        carry, static
    )
    assert_close(by_state.state.h, expected["eta"], 1e-11)  # as h = depth + eta
    assert_close(by_static.params["viscosity"].sum(), expected["viscosity"], 1e-11)


@pytest.mark.night
def test_vmap_scan_and_checkpoint_change_nothing():
    carry, static, step = made(time__stepper="ab2")
    one = jax.jit(ahead(step))
    plain = jax.grad(lambda carry: energy(one(carry, static)))(carry)
    kept = jax.grad(lambda carry: energy(ahead(step, jax.checkpoint)(carry, static)))(carry)
    assert_close(kept, plain)
    factors = jnp.array([1.0, 1.5, 0.5])
    many = jax.vmap(lambda k: one(carry._replace(state=carry.state._replace(u=k * carry.state.u + k)), static))(factors)
    for number, k in enumerate(factors):
        alone = one(carry._replace(state=carry.state._replace(u=k * carry.state.u + k)), static)
        assert_close(jax.tree.map(lambda x, number=number: x[number], many), alone)


@pytest.fixture(scope="module")
def on_four_devices():
    """What programs/functional.py finds in a process with four devices."""
    path = os.pathsep.join([str(TESTS), str(TESTS.parent)])
    environ = os.environ | QUICK | {"PYTHONPATH": path, "JAX_PLATFORMS": "cpu"}
    flags = f"{environ.get('XLA_FLAGS', '')} --xla_cpu_max_isa=AVX".strip()
    line = [sys.executable, str(TESTS / "model" / "programs" / "functional.py")]
    environ = environ | {"XLA_FLAGS": flags}
    done = subprocess.run(line, capture_output=True, text=True, timeout=300, env=environ)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.night
def test_a_simulation_on_devices_with_fields_and_terms_of_ones_own_has_the_bits_of_one(on_four_devices):
    assert on_four_devices["own"][0] == on_four_devices["own"][1]


@pytest.mark.promise("fields and terms from Python equal those of the model")
@pytest.mark.night
def test_in_blocks_on_devices_it_has_the_bits_of_one_and_its_gradient(on_four_devices):
    """On a grid that four devices divide and on one that they do not; without fused multiply-adds the model's."""
    assert on_four_devices["one"] == on_four_devices["model"]
    assert on_four_devices["four"] == on_four_devices["one"]
    assert max(on_four_devices["gradient"]) < 1e-12
