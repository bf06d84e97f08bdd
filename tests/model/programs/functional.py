"""The pure step on four devices of one process, beside one device and the model; prints JSON.

JAX's processors are split before it starts, hence a process of its own.
"""

import hashlib
import json

import jax
import jax.numpy as jnp
import numpy as np
from support import own_run

import swmodel

STEPS = 5
#: A grid that four devices divide, and one that they do not.
GRIDS = ((12, 16), (11, 13))
jax.config.update("jax_num_cpu_devices", 4)
jax.config.update("jax_enable_x64", True)


def bits(state):
    return hashlib.sha256(b"".join(np.ascontiguousarray(np.asarray(field)).tobytes() for field in state)).hexdigest()


def options(ny, nx, **more):
    sizes = {"grid.nx": nx, "grid.ny": ny, "grid.dx": 2e4, "grid.dy": 2e4, "run.dtype": "float64", "time.dt": 300.0}
    return sizes | {"run.executor": "xla"} | more


def energy_of(carry):
    return jnp.sum(carry.state.h * carry.state.u**2)


def one(ny, nx):
    """Bits and gradient on one device."""
    carry, static, step = swmodel.functional("double_gyre", options(ny, nx))

    def ahead(carry, static):
        return jax.lax.fori_loop(0, STEPS, lambda t, carry: step(carry, static, t), carry)

    found = jax.jit(ahead)(carry, static)
    return bits(found.state), np.asarray(jax.jit(jax.grad(scanned(step)))(carry, static).state.h)


def scanned(step):
    """The energy after some steps, by scan, to be differentiated."""
    return lambda carry, static: energy_of(
        jax.lax.scan(lambda carry, t: (step(carry, static, t), None), carry, jnp.arange(STEPS))[0]
    )


def four(ny, nx):
    """Bits and gradient on four devices."""
    carry, static, step = swmodel.functional("double_gyre", options(ny, nx, **{"run.devices": 4, "run.layout": "2x2"}))
    of_carry, of_static = step.specs(carry), step.specs(static)

    def mapped(function, out):
        return jax.jit(
            jax.shard_map(function, mesh=step.mesh, in_specs=(of_carry, of_static), out_specs=out, check_vma=False)
        )

    def ahead(carry, static):
        return jax.lax.fori_loop(0, STEPS, lambda t, carry: step(carry, static, t), carry)

    gradient = mapped(jax.grad(scanned(step)), of_carry)(carry, static)
    get = step.transport.get
    return bits(get(mapped(ahead, of_carry)(carry, static).state)), get(gradient.state.h)


def model(ny, nx):
    """Bits of the model's own steps."""
    simulation = swmodel.Simulation("double_gyre", options(ny, nx))
    simulation.advance(STEPS)
    return bits(simulation.state)


def own(where):
    """Bits of a model with fields and a term of the user's own, which is changed on the way."""
    model = own_run.simulation(where)
    model.every("2 steps", own_run.nudge)
    model.advance(STEPS)
    return bits(model.state)


ones, fours = ([function(*grid) for grid in GRIDS] for function in (one, four))
far = [float(np.abs(a[1] - b[1]).max() / np.abs(a[1]).max()) for a, b in zip(ones, fours, strict=True)]
found = {"one": [a for a, _ in ones], "four": [b for b, _ in fours], "model": [model(*grid) for grid in GRIDS]}
found["own"] = [own(where) for where in ({}, {"run.devices": 4, "run.layout": "2x2"})]
print(json.dumps(found | {"gradient": far}))
