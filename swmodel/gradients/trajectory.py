"""A trajectory as functions of arrays, and its tangent trajectory, of pairs of values and tangents.

A trajectory starts from controls x, takes steps, and is observed in samples:

    c_0, a = start(x),   c_{n+1} = step(c_n, a, n),   s_k = observe(c_{k every}, a, k)

with `every` steps between samples, the carry c (a State and the stepper's memory) and the active fields a, which
depend on x and are constant during the run. The last argument of all functions, `fixed`, does not depend on x. All
arrays are real, except n, k and the integers in `fixed`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..executors.native.generated_step import GeneratedStep
from ..executors.targets import TARGETS
from ..executors.xla import make_step
from ..ocean.grid import Grid, as_patches
from ..ocean.patch import Patch
from ..ocean.state import Carry, State
from ..parallel.transport import Transport
from ..parallel.transport.halo import add_halo, zero_beyond
from . import corrections
from .controls import apply_controls, replace_fields
from .jax_steps import JaxSteps
from .native_steps import NativeDerivatives, NativeSteps


class FixedInputs(NamedTuple):
    """The inputs of a trajectory besides its controls, as arguments of its functions."""

    state: State  # the initial state, for fields that are not controls
    grid: Grid  # with `Scheme.static_halo` cells around the block, like params
    params: dict
    adjoint_inputs: tuple[Grid, dict] | None  # for native steps: both with `Scheme.adjoint_static_halo` cells
    dt: Any  # s
    record_numbers: Any = ()  # {control with records in time: index of its last record}


class Trajectory(NamedTuple):
    """The functions of a trajectory."""

    start: Callable  # (x, fixed) -> carry, active
    step: Callable  # (carry, active, n, fixed) -> carry, in JAX
    observe: Callable  # (carry, active, k, fixed) -> sample
    native_derivatives: NativeDerivatives | None  # makes the native steps; None if the executor generates none
    expand: Callable | None = None  # (active, fixed) -> active fields of a step, with records interpolated in time

    def agree_on_backend(self, active, fixed: FixedInputs, with_adjoint: bool) -> None:
        """Agree with all processes, before tracing, on native steps or JAX; `with_adjoint`: for adjoint steps, too."""
        if self.native_derivatives:
            active = jax.eval_shape(self.expand, active, fixed) if self.expand else active
            self.native_derivatives.agree_on_backend(active, fixed, with_adjoint)

    def make_steps(self, active, fixed: FixedInputs, with_record=False, with_adjoint=False) -> JaxSteps | NativeSteps:
        """The forward steps; they can record if `with_record`, and be followed by adjoint steps if `with_adjoint`."""
        if self.native_derivatives and self.native_derivatives.is_available(active, fixed, with_record or with_adjoint):
            return self.native_derivatives.make_steps(active, fixed, with_record, with_adjoint)
        return JaxSteps(self.step, active, fixed)


class View(NamedTuple):
    """The state and the inputs of a sample on this process's block, the argument of an observer."""

    state: State  # state of the block, [ny, nx]
    depth: Any  # resting depth of the block, m, [ny, nx] or broadcastable to it
    grid: Grid  # of Patches with `Scheme.static_halo` cells around the block, like params
    params: dict[str, Any]
    halo_width: int  # cells
    transport: Transport

    @property
    def cells(self) -> Any:
        """1 in the block, 0 in cells beyond it (if devices do not divide the grid), [ny, nx]: a weight for sums."""
        return zero_beyond(jnp.ones_like(self.state.h), self.transport.extent())

    def padded(self) -> State:
        """The state with its halo, a State of Patches; exchanges messages with other blocks."""
        padded = add_halo(self.state, self.halo_width, self.transport)
        return padded._make(Patch(field, (-self.halo_width, -self.halo_width)) for field in padded)


def make_trajectory(domain, names, observe) -> Trajectory:
    """The trajectory of a run whose scheme has the controls' terms; observe(view, k) -> pytree of arrays."""
    scheme, method, transport = domain.scheme, domain.setup.method, domain.transport
    halo_width, static_halo, shape = scheme.halo_width, scheme.static_halo, transport.shape
    one_step = make_step(scheme, method, transport)

    def start(x, fixed: FixedInputs):
        state, active = apply_controls(x, fixed.state, fixed.grid, scheme, transport)
        return (state, method.initial_memory(state)), active

    def step(carry, active, n, fixed: FixedInputs):
        state, memory = carry
        grid, params = replace_fields(fixed.grid, fixed.params, active)
        return one_step(Carry(state, memory, n), grid, params, fixed.dt)[:2]

    def observe_sample(carry, active, k, fixed: FixedInputs):
        grid, params = replace_fields(fixed.grid, fixed.params, active)
        patches = as_patches(grid, static_halo), as_patches(params, static_halo)
        depth, extent = patches[0].depth.block_values(shape), transport.extent()
        depth = depth if extent is None else zero_beyond(jnp.broadcast_to(depth, shape), extent)
        return observe(View(carry[0], depth, *patches, halo_width, transport), k)

    native_derivatives, coefficient_names = None, set(names) - set(scheme.initial_fields)
    expand = corrections.make_expand(domain.setup, names)
    for name in corrections.controls_with_records(names):
        coefficient_names = coefficient_names - {name} | set(corrections.param_names(domain.setup, name))
    if (executor := domain.config.run.executor) in TARGETS:
        native_derivatives = NativeDerivatives(
            GeneratedStep(scheme, method, static_halo, rotates_planes=False),
            transport,
            tuple(sorted(coefficient_names)),
            executor,
        )
    return Trajectory(start, step, observe_sample, native_derivatives, expand)


def tangent_trajectory(trajectory: Trajectory) -> Trajectory:
    """The tangent trajectory: carry, active fields and samples are pairs of a value and its tangent.

    Its controls are (x, dx), and its step includes the tangent step, so derivatives of tangents are second derivatives.
    """

    def start(pair, fixed):
        (carry, active), (d_carry, d_active) = jax.jvp(lambda x: trajectory.start(x, fixed), pair[:1], pair[1:])
        return (carry, d_carry), (active, d_active)

    def with_tangent(function):
        def value_and_tangent(carry, active, n, fixed):
            primals, tangents = zip(carry, active, strict=True)
            return jax.jvp(lambda c, a: function(c, a, n, fixed), primals, tangents)

        return value_and_tangent

    def expand_with_tangent(expand):
        return lambda active, fixed: jax.jvp(lambda a: expand(a, fixed), active[:1], active[1:])

    native_derivatives = trajectory.native_derivatives and trajectory.native_derivatives.tangent()
    functions = start, with_tangent(trajectory.step), with_tangent(trajectory.observe)
    return Trajectory(*functions, native_derivatives, trajectory.expand and expand_with_tangent(trajectory.expand))
