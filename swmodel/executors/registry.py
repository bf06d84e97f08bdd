"""Who computes a block: one class for each, made from (config, transport, grid, params), in the registry EXECUTORS.

Fields are given as `transport.make` gives them, Grid and Params with a margin of width + 1 cells.

start(state) -> carry         the carry before the first step
resume(carry) -> carry        a carry of a restart file, as the executor keeps it
advance(carry, n) -> carry    n steps; the carry given is used up. The first call, also of no steps, compiles
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from ..ocean.grid import Params
from ..ocean.dynamics import tendency
from ..ocean.grid import Grid, as_patches
from ..config.build import build_grid, build_params
from .native import kernel as native
from .native.derivative import differentiate_as
from ..ocean.operators import Patch
from .reference import Reference
from ..ocean.scheme import Scheme
from ..config.build import scheme_of
from ..ocean.state import Carry, State
from ..ocean.timestep import method_of
from ..parallel.transport.halo import pad, within


def make_step(scheme: Scheme, method, transport):
    """The function step(carry, grid, params, dt) -> carry of one block, to be jitted or differentiated.

    Args:
        scheme: the terms of the tendency.
        method: the time stepper (`timestep.method_of`).
        transport: how the block gets its halos; one exchange for each tendency.

    Grid and Params are arguments rather than constants of the program: compiling stays fast, and derivatives with
    respect to them are there for the asking.
    """
    width, shape = scheme.width, transport.shape

    def block_tendency(state: State, grid: Grid, params: Params) -> State:
        extent = transport.extent()
        padded = pad(state, width, transport.shift, extent)
        patches = State(*(Patch(field, (-width, -width)) for field in padded))
        result = tendency(patches, as_patches(grid, width), as_patches(params, width), scheme)
        return State(*(within(field.on(shape), extent) for field in result))

    def step(carry: Carry, grid: Grid, params: Params, dt) -> Carry:
        return method.step(lambda state: block_tendency(state, grid, params), carry, dt)

    return step


def make_native_step(scheme: Scheme, method, transport):
    """The step of `make_step` computed by the native step, to be jitted or differentiated: one step a call.

    Its derivatives are those of `make_step`, whose equations are the same: `make_step` is computed beside it then.
    Velocities on closed faces, which are zero in every state of a run, become zero if they are not; `make_step` leaves
    them as they are.

    Raises:
        ImportError: the native step was not compiled, or for another processor.
    """
    native.register()
    kernel = native.Kernel(scheme, method, scheme.width + 1)

    def step(carry: Carry, grid: Grid, params: Params, dt) -> Carry:
        extent = transport.extent()
        edges = native.edges_of(kernel.travelling(carry), kernel.halo, extent)
        return kernel.step(carry, edges, native.static_fields(grid, params, jnp), dt, transport.shift, extent)[0]

    return differentiate_as(make_step(scheme, method, transport), step)


class Compiled:
    """Base of the executors whose loop over steps is compiled by JAX: `loop(carry, static, dt, n)` in each block."""

    def __init__(self, config, transport, static):
        self.transport, self.static = transport, static
        self.dt = jnp.asarray(config.time.dt, config.run.dtype)
        self._loop = transport.jit(self.loop, donate_argnums=0)

    def start(self, state: State) -> Carry:
        """The carry before the first step."""
        memory = jax.tree.map(jnp.array, self.method.remember(state))
        return Carry(state, memory, jnp.zeros((), jnp.int32))

    def resume(self, carry: Carry) -> Carry:
        """The carry of a restart file."""
        return carry

    def advance(self, carry: Carry, n: int) -> Carry:
        """The carry n steps later, when it is there. The carry given is used up."""
        return jax.block_until_ready(self._loop(carry, self.static, self.dt, jnp.int32(n)))


class Xla(Compiled):
    """The dynamics in jax.numpy, compiled by XLA, on every transport."""

    name = "xla"

    def __init__(self, config, transport, grid: Grid, params: Params):
        scheme = scheme_of(config)
        self.method = method_of(config.time.stepper, config.time.ab2_epsilon, config.time.robert_asselin)
        self.step = make_step(scheme, self.method, transport)
        super().__init__(config, transport, self.static_of(grid, params))

    @staticmethod
    def static_of(grid: Grid, params: Params):
        """What of the Grid and the Params of a block the loop takes."""
        return grid, params

    def loop(self, carry: Carry, static, dt, n) -> Carry:
        """The carry n steps later.

        A turn of the loop takes as many steps as the stepper's memory needs to come round to the same buffers, so that
        XLA need not copy it: for ab2 at 3600 x 1800 45 ms a step instead of 57.
        """
        period = len(carry.memory) + 1

        def turn(steps, carry):
            for _ in range(steps):
                carry = jax.lax.optimization_barrier(self.step(carry, *static, dt))
            return carry

        carry = jax.lax.fori_loop(0, n // period, lambda _, carry: turn(period, carry), carry)
        return jax.lax.fori_loop(0, n % period, lambda _, carry: turn(1, carry), carry)


class Native(Compiled):
    """The fused step in C++, compiled when swmodel is installed: processors, every scheme and stepper, every transport.

    Makes static fields of its own, with the margin of its sweeps and masks packed.

    Args:
        levels: steps in one pass over memory; None: as many as are fastest.
        tile, threads: see `kernels.native.Kernel`.

    Raises:
        ImportError: it was not compiled, or for another processor.
        ValueError: `levels` is less than 1, or so many steps reach beyond the neighbouring block.
    """

    name = "native"

    def __init__(self, config, transport, grid: Grid, params: Params, levels=None, tile=0, threads=0):
        native.register()
        scheme, dtype = scheme_of(config), np.dtype(config.run.dtype)
        self.method = method_of(config.time.stepper, config.time.ab2_epsilon, config.time.robert_asselin)
        if levels is None:
            levels = native.choose_levels(transport.smallest, scheme.width, self.method, dtype.itemsize)
        self.levels = levels
        if levels < 1:
            raise ValueError(f"{levels} steps in a sweep: there is at least one")
        if scheme.width * levels > min(transport.smallest):
            raise ValueError(f"{levels} steps in a sweep need {scheme.width * levels} rows and columns in every block")
        margin = scheme.width * self.levels + 1

        def static(block):
            return self.static_of(*(build(config, block, dtype, margin) for build in (build_grid, build_params)))

        self.sweeps = [
            native.Kernel(scheme, self.method, margin, many, tile, threads) for many in sorted({levels, 1})[::-1]
        ]
        super().__init__(config, transport, transport.make(static, (margin, margin + native.PADDING)))

    @staticmethod
    def static_of(grid: Grid, params: Params):
        """What of the Grid and the Params of a block the loop takes, NumPy arrays with the margin of `levels` steps."""
        return native.static_fields(grid, params)

    def loop(self, carry: Carry, static, dt, n) -> Carry:
        """The carry n steps later, as many of them as can be in sweeps of `levels`."""
        extent = self.transport.extent()
        for sweep in self.sweeps:
            carry = sweep.advance(carry, static, dt, self.transport.shift, n // sweep.levels, extent)
            n = n % sweep.levels
        return carry


class NumpyReference:
    """The reference in plain NumPy, on one process."""

    name = "reference"

    def __init__(self, config, transport, grid: Grid, params: Params):
        self.model = Reference(config)
        self.dt = config.time.dt

    def start(self, state: State) -> Carry:
        """The carry before the first step."""
        return self.model.start(jax.tree.map(np.asarray, state))

    def resume(self, carry: Carry) -> Carry:
        """The carry of a restart file."""
        return jax.tree.map(np.asarray, carry)._replace(step=int(carry.step))

    def advance(self, carry: Carry, n: int) -> Carry:
        """The carry n steps later."""
        return self.model.advance(carry, n, self.dt)


EXECUTORS = {executor.name: executor for executor in (Xla, Native, NumpyReference)}
