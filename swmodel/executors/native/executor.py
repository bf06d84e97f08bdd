"""The executor `native`: the loop over steps of the fused step in C++."""

from __future__ import annotations

import numpy as np

from ...config.build import build_grid, build_params, scheme_of
from ...errors import UsageError
from ...ocean.grid import Grid
from ...ocean.state import Carry
from ...ocean.timestep import method_of
from ..xla import Compiled
from . import kernel, unable


def make_loop(sweeps, transport):
    """The function loop(carry, static, dt, n) -> carry n steps later, of one block.

    Args:
        sweeps: Kernels, of which each takes as many of the steps as it can: the one of the longest sweep first.
    """

    def loop(carry: Carry, static, dt, n) -> Carry:
        extent = transport.extent()
        for sweep in sweeps:
            carry = sweep.advance(carry, static, dt, transport.shift, n // sweep.steps_per_sweep, extent)
            n = n % sweep.steps_per_sweep
        return carry

    return loop


class Native(Compiled):
    """The fused step in C++, compiled when swmodel is installed: processors, every scheme and stepper, every transport.

    Makes static fields of its own, with the margin of its sweeps and masks packed.

    Args:
        steps_per_sweep: steps in one pass over memory; None: as many as are fastest.
        tile, threads: see `kernel.Kernel`.

    Raises:
        ImportError: it was not compiled, or for another processor.
        UsageError: the configuration has a term, or a field of a coefficient, that it does not have.
        ValueError: `steps_per_sweep` is less than 1, or so many steps reach beyond the neighbouring block.
    """

    name = "native"

    def __init__(self, config, transport, grid: Grid, params: dict, steps_per_sweep=None, tile=0, threads=0):
        kernel.register()
        if reason := unable(config):
            raise UsageError(f"run.executor: native {reason}; take xla")
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
            return self.static_of(build_grid(config, block, dtype, margin), build_params(config, block, dtype, margin))

        sweeps = tuple(
            kernel.Kernel(scheme, self.method, margin, many, tile, threads)
            for many in sorted({steps_per_sweep, 1})[::-1]
        )
        made = transport.make(static, (margin, margin + kernel.PADDING))
        super().__init__(config, transport, made, (make_loop, sweeps))

    @staticmethod
    def static_of(grid: Grid, params: dict):
        """What of the Grid and the Params of a block the loop takes, NumPy arrays with the margin of a sweep."""
        return kernel.static_fields(grid, params)
