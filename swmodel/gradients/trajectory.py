"""A trajectory as functions of arrays alone, and its tangent: the same thing for what travels beside it.

A trajectory starts from controls x, takes steps, and is observed on its way:

    c_0, a = start(x),   c_{n+1} = step(c_n, a, n),   s_k = observe(c_{k every}, a, k)

with the carry c (a State and the stepper's memory) and the fields a that stay and depend on x. All functions take as
last argument what stays and does not (`fixed`), and all their arrays are real numbers but n and k.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..executors.native import kernel as native
from ..executors.native.compile import obstacle
from ..executors.native.trace import kinds_of
from ..executors.xla import make_step
from ..ocean.grid import Grid, as_patches
from ..ocean.patch import Patch
from ..ocean.state import Carry, State
from ..parallel.transport.halo import pad
from .controls import apply, replace


class Trajectory(NamedTuple):
    """The functions of a trajectory.

    Attributes:
        start: start(x, fixed) -> carry, active.
        step: step(carry, active, n, fixed) -> carry.
        prepare: prepare(active, fixed) -> static: what `run` needs of them.
        run: run(carry, static, first, last) -> carry: the steps from `first` to `last`, as fast as can be.
        observe: observe(carry, active, k, fixed) -> sample.
    """

    start: Callable
    step: Callable
    prepare: Callable
    run: Callable
    observe: Callable


class Fixed(NamedTuple):
    """What a trajectory has besides its controls: arguments of its functions rather than constants in them."""

    state: State
    grid: Grid
    params: dict
    dt: Any


class View(NamedTuple):
    """What an observer sees of a moment.

    Attributes:
        state: State of the block, [ny, nx].
        depth: resting depth of the block, m, [ny, nx] or broadcast to it.
        grid, params: Patches with `width + 1` cells around the block.
        width: cells of a halo.
        transport: for messages.
    """

    state: State
    depth: Any
    grid: Grid
    params: dict
    width: int
    transport: Any

    def padded(self) -> State:
        """The state with its halo, a State of Patches; sends messages."""
        start, extent = (-self.width, -self.width), self.transport.extent()
        padded = pad(self.state, self.width, self.transport.shift, extent)
        return padded._make(Patch(field, start) for field in padded)


def trajectory_of(domain, method, observe) -> Trajectory:
    """The trajectory of a model run.

    Args:
        domain: a Domain whose scheme has the terms of the controls.
        method: time stepper.
        observe: function observe(view, k) -> pytree of arrays.
    """
    scheme, transport = domain.scheme, domain.transport
    width, shape = scheme.width, transport.shape
    one_step = make_step(scheme, method, transport)
    kernel = native.Kernel(scheme, method, width + 1)
    fast = domain.config.run.executor == "native"
    if fast:
        native.register()

    def start(x, fixed: Fixed):
        state, active = apply(x, fixed.state, fixed.grid, fixed.params, scheme, transport)
        return (state, method.remember(state)), active

    def step(carry, active, n, fixed: Fixed):
        return one_step(Carry(*carry, n), *replace(fixed.grid, fixed.params, active), fixed.dt)[:2]

    def prepare(active, fixed: Fixed):
        static = replace(fixed.grid, fixed.params, active)
        request = kernel.request(kinds_of(*static), fixed.dt.dtype)
        if fast and not transport.any(bool(obstacle(request))):  # all processes exchange the same messages
            return kernel.static_of(*static, shape, jnp), fixed.dt
        return static, fixed.dt

    def run(carry, static, first, last):
        fields, dt = static
        if isinstance(fields, native.Static):
            carry, extent = Carry(*carry, first), transport.extent()
            return kernel.advance(carry, fields, dt, transport.shift, last - first, extent)[:2]
        return jax.lax.fori_loop(first, last, lambda n, c: one_step(Carry(*c, n), *fields, dt)[:2], carry)

    def look(carry, active, k, fixed: Fixed):
        grid, params = replace(fixed.grid, fixed.params, active)
        patches = as_patches(grid, width), as_patches(params, width)
        return observe(View(carry[0], patches[0].depth.on(shape), *patches, width, transport), k)

    return Trajectory(start, step, prepare, run, look)


def tangent(trajectory: Trajectory) -> Trajectory:
    """The trajectory of a point and a direction: carry, active fields and samples are pairs, of the second the tangent.

    Its controls are (x, dx), and its step is the step's forward derivative; so the derivative of what it ends in, along
    x, is a second derivative.
    """

    def start(pair, fixed):
        (carry, active), (d_carry, d_active) = jax.jvp(lambda x: trajectory.start(x, fixed), pair[:1], pair[1:])
        return (carry, d_carry), (active, d_active)

    def step(carry, active, n, fixed):
        return jax.jvp(lambda c, a: trajectory.step(c, a, n, fixed), *zip(carry, active, strict=True))

    def run(carry, static, first, last):
        active, fixed = static
        return jax.lax.fori_loop(first, last, lambda n, c: step(c, active, n, fixed), carry)

    def observe(carry, active, k, fixed):
        return jax.jvp(lambda c, a: trajectory.observe(c, a, k, fixed), *zip(carry, active, strict=True))

    return Trajectory(start, step, lambda *static: static, run, observe)
