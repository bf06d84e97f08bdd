"""A model with fields of every kind and a term, made by one script on any number of processes."""

import hashlib

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
DEPTH = xr.DataArray(100 + np.cos(X / 4e4) * np.sin(Y / 3e4)[:, None], {"y": Y, "x": X}, ("y", "x")).isel(
    y=slice(None, None, -1)
)
WIND = 0.1 * np.random.default_rng(4).standard_normal((NY, NX))


def bump(at):
    return 0.1 * np.exp(-((at.x - 9e4) ** 2 + (at.y - 5e4) ** 2) / 1e9)


def drag(state, grid, t, roughness):
    return {"u": -operators.mx_f(roughness) * state.speed_u() * state.u * np.cos(t / 500)}


def simulation(where=(), **changed):
    """The model, with options for its devices, and with other fields if given."""
    fields = {"depth": DEPTH, "wind_x": WIND, "eta": bump, "roughness": 1e-3}
    return swmodel.Simulation(swmodel.Case, OPTIONS | dict(where), fields=fields | changed, terms=[drag])


def nudge(model):
    """Change the model on the way: halve the velocity in x, and set sea level on this process's part."""
    model.state = model.state._replace(u=(0.5 * model.state.u).astype("float32"))
    model.set(eta=swmodel.local(0.5 * model.field("eta")))


def gradient_of_energy(wrap=lambda step: step):
    """The gradient of the kinetic energy after some steps by the initial thickness: this process's part."""
    options = SIZES | {"run.dtype": "float64", "time.stepper": "rk3"}
    carry, static, step = swmodel.functional(swmodel.Case, options, fields={"eta": bump, "depth": DEPTH})
    one = wrap(step)

    def energy(carry):
        carry, _ = jax.lax.scan(lambda carry, t: (one(carry, static, t), None), carry, jnp.arange(3))
        return jnp.sum(carry.state.h * (carry.state.u**2 + carry.state.v**2))

    return np.asarray(jax.jit(jax.grad(energy))(carry).state.h)


def bits(state):
    return hashlib.sha256(b"".join(np.ascontiguousarray(field).tobytes() for field in state)).hexdigest()
