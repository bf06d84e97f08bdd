"""A trajectory as functions of arrays, and its tangent: a trajectory of pairs of values and tangents.

A trajectory has a start from controls x, steps, and observed samples:

    c_0, a = start(x),   c_{n+1} = step(c_n, a, n),   s_k = observe(c_{k every}, a, k)

with the carry c (a State and the stepper's memory) and the active fields a, which depend on x and are constant during
the run. The last argument of all functions, `fixed`, depends neither on x nor on the step. All arrays are real numbers,
except n and k.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..executors.native.kernel import Kernel
from ..executors.targets import TARGETS
from ..executors.xla import make_step
from ..ocean.grid import Grid, as_patches
from ..ocean.patch import Patch
from ..ocean.state import Carry, State
from ..parallel.transport import Transport
from ..parallel.transport.halo import pad, within
from . import corrections
from .controls import apply, replace
from .native_steps import Native, NativeSteps
from .steps import InJax


class Fixed(NamedTuple):
    """The inputs of a trajectory besides its controls, as arguments of its functions."""

    state: State  # the initial state, for fields that are no controls
    grid: Grid  # with `Scheme.margin` cells around the block, as params
    params: dict
    wide: tuple[Grid, dict] | None  # grid and params with `reach_back` cells around it, for native steps
    dt: Any  # s
    records: Any = ()  # {control with records in time: number of its record before the step}


class Trajectory(NamedTuple):
    """The functions of a trajectory."""

    start: Callable  # (x, fixed) -> carry, active
    step: Callable  # (carry, active, n, fixed) -> carry, in JAX
    observe: Callable  # (carry, active, k, fixed) -> sample
    native: Native | None  # makes the native steps, if the run is native
    expand: Callable | None = None  # (active, fixed) -> active fields of a step, from those with records in time

    def settle(self, active, fixed: Fixed, back: bool) -> None:
        """Agree with all processes on native steps or JAX, forward and `back`, before a program is traced."""
        if self.native:
            active = jax.eval_shape(self.expand, active, fixed) if self.expand else active
            self.native.settle(active, fixed, back)

    def steps(self, active, fixed: Fixed, recorded=False, back=False) -> InJax | NativeSteps:
        """The steps forward, with a record if `recorded`, and with steps back along it if `back`."""
        if self.native and self.native.available(active, fixed, recorded or back):
            return self.native.steps(active, fixed, recorded, back)
        return InJax(self.step, active, fixed)


class View(NamedTuple):
    """The view of an observer on a sample."""

    state: State  # state of the block, [ny, nx]
    depth: Any  # resting depth of the block, m, [ny, nx] or broadcast to it
    grid: Grid  # of Patches with `Scheme.margin` cells around the block, as params
    params: dict[str, Any]
    width: int  # of a halo, cells
    transport: Transport  # for messages

    @property
    def cells(self) -> Any:
        """1 in cells of the block, 0 in those beyond it [ny, nx]: a weight of sums.

        Devices have some beyond where their number does not divide the grid.
        """
        return within(jnp.ones_like(self.state.h), self.transport.extent())

    def padded(self) -> State:
        """The state with its halo, a State of Patches; sends messages."""
        padded = pad(self.state, self.width, self.transport)
        return padded._make(Patch(field, (-self.width, -self.width)) for field in padded)


def trajectory_of(domain, names, observe) -> Trajectory:
    """The trajectory of a run whose scheme has the terms of the controls; observe(view, k) -> pytree of arrays."""
    scheme, method, transport = domain.scheme, domain.setup.method, domain.transport
    width, margin, shape = scheme.width, scheme.margin, transport.shape
    one_step = make_step(scheme, method, transport)

    def start(x, fixed: Fixed):
        state, active = apply(x, fixed.state, fixed.grid, fixed.params, scheme, transport)
        return (state, method.remember(state)), active

    def step(carry, active, n, fixed: Fixed):
        return one_step(Carry(*carry, n), *replace(fixed.grid, fixed.params, active), fixed.dt)[:2]

    def look(carry, active, k, fixed: Fixed):
        grid, params = replace(fixed.grid, fixed.params, active)
        patches = as_patches(grid, margin), as_patches(params, margin)
        depth, extent = patches[0].depth.on(shape), transport.extent()
        depth = depth if extent is None else within(jnp.broadcast_to(depth, shape), extent)
        return observe(View(carry[0], depth, *patches, width, transport), k)

    native, steady = None, set(names) - set(scheme.initial)
    expand = corrections.expansion(domain.setup, names)
    for name in corrections.with_records(names):
        steady = steady - {name} | set(corrections.fields_of(domain.setup, name))
    if (executor := domain.config.run.executor) in TARGETS:
        native = Native(Kernel(scheme, method, margin, moving=False), transport, tuple(sorted(steady)), executor)
    return Trajectory(start, step, look, native, expand)


def tangent(trajectory: Trajectory) -> Trajectory:
    """The tangent trajectory: carry, active fields and samples are pairs of a value and its tangent.

    Its controls are (x, dx), and its step includes the forward derivative. So the derivative of its tangent with
    respect to x is a second derivative.
    """

    def start(pair, fixed):
        (carry, active), (d_carry, d_active) = jax.jvp(lambda x: trajectory.start(x, fixed), pair[:1], pair[1:])
        return (carry, d_carry), (active, d_active)

    def along(function):
        def both(carry, active, n, fixed):
            return jax.jvp(lambda c, a: function(c, a, n, fixed), *zip(carry, active, strict=True))

        return both

    def expand(active, fixed):
        return jax.jvp(lambda a: trajectory.expand(a, fixed), active[:1], active[1:])

    native = trajectory.native and trajectory.native.tangent()
    made = start, along(trajectory.step), along(trajectory.observe), native
    return Trajectory(*made, expand if trajectory.expand else None)
