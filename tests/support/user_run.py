"""A model with fields of every kind and a user term, made by one script on any number of processes."""

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

import swmodel
from swmodel import operators

NY, NX = 11, 23
SIZES = {"grid.nx": NX, "grid.ny": NY, "grid.dx": 1e4, "grid.dy": 1e4, "grid.periodic_x": False, "time.dt": 20.0}
OPTIONS = SIZES | {"run.executor": "native", "run.steps": 9, "restart.every_steps": 4, "output.every_steps": 3}
X, Y = (np.arange(NX) + 0.5) * 1e4, (np.arange(NY) + 0.5) * 1e4
DEPTH = xr.DataArray(100 + np.cos(X / 4e4) * np.sin(Y / 3e4)[:, None], {"y": Y, "x": X}, ("y", "x"))[::-1]
WIND = 0.1 * np.random.default_rng(4).standard_normal((NY, NX))


def bump(at):
    return 0.1 * np.exp(-((at.x - 9e4) ** 2 + (at.y - 5e4) ** 2) / 1e9)


def drag(state, grid, t, roughness):
    return {"u": -operators.mx_f(roughness) * state.speed_u() * state.u * np.cos(t / 500)}


def simulation(layout_options=(), **changed):
    """The model; `layout_options` choose its blocks and devices, `changed` replaces fields."""
    fields = {"depth": DEPTH, "wind_x": WIND, "eta": bump, "roughness": 1e-3}
    return swmodel.Simulation(swmodel.Case, OPTIONS | dict(layout_options), fields=fields | changed, terms=[drag])


def change_state(model):
    """A callback that halves the velocity along x, and the sea level on this process's block."""
    model.state = model.state._replace(u=(0.5 * model.state.u).astype("float32"))
    model.set(eta=swmodel.local(0.5 * model.field("eta")))


def loss_and_gradient(layout_options=(), depth=0.0, viscosity=0.0):
    """A loss, and its derivatives with respect to initial thickness, depth, viscosity and an amplitude.

    The loss and the numbers are the same on all processes; fields are this process's part. `depth` and `viscosity` are
    added to those of the run.
    """
    options = SIZES | {"run.dtype": "float64", "time.stepper": "ab2", "physics.viscosity": 500.0}
    fields = {"eta": bump, "depth": DEPTH}
    carry, static, step = swmodel.functional(swmodel.Case, options | dict(layout_options), fields=fields)
    transport, block = step.transport, step.transport.block
    whole = (DEPTH.values[::-1] + depth)[block.y.start : block.y.stop, block.x.start : block.x.stop]
    values = {"depth": transport.put(whole), "viscosity": static.params["viscosity"] + viscosity}
    values["amplitude"] = jnp.ones_like(values["viscosity"])

    def loss(carry, static, values):
        amplitude = step.shared(values["amplitude"])
        static = step.with_values(static, depth=amplitude * values["depth"], viscosity=values["viscosity"])
        carry, _ = jax.lax.scan(lambda carry, t: (step(carry, static, t), None), carry, jnp.arange(3))
        h, u, v = carry.state
        return step.total(h * (u**2 + v**2)) ** 2

    if step.mesh is not None:
        specs = step.specs((carry, static, values))
        loss = jax.shard_map(loss, mesh=step.mesh, in_specs=specs, out_specs=jax.sharding.PartitionSpec())
    found, (start, derivatives) = jax.jit(jax.value_and_grad(loss, argnums=(0, 2)))(carry, static, values)
    numbers = derivatives["viscosity"], derivatives["amplitude"]
    return float(found), transport.get(start.state.h), transport.get(derivatives["depth"]), *map(float, numbers)


def second_derivative():
    """The second derivative of a loss with respect to a number, from reverse over reverse, and the loss at 1."""
    carry, _, step = swmodel.functional("double_gyre", {"grid.nx": 8, "grid.ny": 8, "run.dtype": "float64"})

    def loss(number):
        return step.total((step.shared(number) * carry.state.h) ** 2) ** 2

    return float(jax.grad(jax.grad(loss))(jnp.float64(1.0))), float(loss(jnp.float64(1.0)))
