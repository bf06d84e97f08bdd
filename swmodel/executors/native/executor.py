"""The executor `native`: the loop over steps of the fused step in C++."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from ...config.build import build_grid, build_params, scheme_of
from ...ocean.grid import Grid, Params
from ...ocean.scheme import Scheme
from ...ocean.state import Carry
from ...ocean.timestep import method_of
from ..xla import Compiled, make_step
from . import kernel
from .derivative import differentiate_as


def make_native_step(scheme: Scheme, method, transport):
    """The step of `make_step` computed by the native step, to be jitted or differentiated: one step a call.

    Its derivatives are those of `make_step`, whose equations are the same: `make_step` is computed beside it then.
    Velocities on closed faces, which are zero in every state of a run, become zero if they are not; `make_step` leaves
    them as they are.

    Raises:
        ImportError: the native step was not compiled, or for another processor.
    """
    kernel.register()
    call = kernel.Kernel(scheme, method, scheme.width + 1)

    def step(carry: Carry, grid: Grid, params: Params, dt) -> Carry:
        extent = transport.extent()
        edges = kernel.edges_of(call.travelling(carry), call.halo, extent)
        return call.step(carry, edges, kernel.static_fields(grid, params, jnp), dt, transport.shift, extent)[0]

    return differentiate_as(make_step(scheme, method, transport), step)


class Native(Compiled):
    """The fused step in C++, compiled when swmodel is installed: processors, every scheme and stepper, every transport.

    Makes static fields of its own, with the margin of its sweeps and masks packed.

    Args:
        steps_per_sweep: steps in one pass over memory; None: as many as are fastest.
        tile, threads: see `kernel.Kernel`.

    Raises:
        ImportError: it was not compiled, or for another processor.
        ValueError: `steps_per_sweep` is less than 1, or so many steps reach beyond the neighbouring block.
    """

    name = "native"

    def __init__(self, config, transport, grid: Grid, params: Params, steps_per_sweep=None, tile=0, threads=0):
        kernel.register()
        scheme, dtype = scheme_of(config), np.dtype(config.run.dtype)
        self.method = method_of(config.time.stepper, config.time.ab2_epsilon, config.time.robert_asselin)
        if steps_per_sweep is None:
            steps_per_sweep = kernel.choose_steps_per_sweep(
                transport.smallest, scheme.width, self.method, dtype.itemsize
            )
        self.steps_per_sweep = steps_per_sweep
        if steps_per_sweep < 1:
            raise ValueError(f"{steps_per_sweep} steps in a sweep: there is at least one")
        reach = scheme.width * steps_per_sweep
        if reach > min(transport.smallest):
            raise ValueError(f"{steps_per_sweep} steps in a sweep need {reach} rows and columns in every block")
        margin = reach + 1

        def static(block):
            return self.static_of(*(build(config, block, dtype, margin) for build in (build_grid, build_params)))

        self.sweeps = [
            kernel.Kernel(scheme, self.method, margin, many, tile, threads)
            for many in sorted({steps_per_sweep, 1})[::-1]
        ]
        super().__init__(config, transport, transport.make(static, (margin, margin + kernel.PADDING)))

    @staticmethod
    def static_of(grid: Grid, params: Params):
        """What of the Grid and the Params of a block the loop takes, NumPy arrays with the margin of a sweep."""
        return kernel.static_fields(grid, params)

    def loop(self, carry: Carry, static, dt, n) -> Carry:
        """The carry n steps later, as many of them as can be in sweeps of `steps_per_sweep`."""
        extent = self.transport.extent()
        for sweep in self.sweeps:
            carry = sweep.advance(carry, static, dt, self.transport.shift, n // sweep.steps_per_sweep, extent)
            n = n % sweep.steps_per_sweep
        return carry
