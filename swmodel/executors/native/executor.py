"""The executor `native`: the loop over steps with the generated step in C++."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...ocean.grid import Grid
from ...ocean.records import record_param_kinds
from ...ocean.state import Carry
from ...parallel.transport.programs import cached_jit
from ...setup.setup import Setup
from ..xla import JaxExecutor
from . import request_of
from .calls import NativeCalls
from .kernel import StepKernel, choose_steps_per_sweep, register


def make_loop(kernel: StepKernel, transport):
    """Make the function loop(carry, static, dt, n) -> carry n steps later, of one block; see `xla.make_loop`."""

    def loop(carry: Carry, static, dt, n, update=None, summary=()):
        return NativeCalls(kernel, static, dt, transport).advance(carry, n, update, summary)

    return loop


def make_replace_fields(indices: tuple[int, ...], transport):
    """Make the function (fields, values) -> the fields of one block, with `values` at these indices."""
    return lambda fields, values: fields.at[np.array(indices)].set(values)


class NativeExecutor(JaxExecutor):
    """The step in C++, generated from the dynamics: on CPUs, for every scheme, stepper and transport.

    Its static fields have packed masks and the halo of its sweeps.

    Args:
        steps_per_sweep: steps in one pass over memory; None: the fastest number.
        threads: see `kernel.StepKernel`.
    """

    name = "native"

    def __init__(self, setup: Setup, transport, grid: Grid, params: dict, steps_per_sweep=None, threads=0):
        register()
        scheme, method, smallest = setup.scheme, setup.method, transport.min_block_shape
        if steps_per_sweep is None:
            size = setup.dtype.itemsize
            steps_per_sweep = choose_steps_per_sweep(smallest, scheme.halo_width, method, size, scheme.drying)
        reach = scheme.halo_width * steps_per_sweep
        if reach > min(smallest):
            raise ValueError(f"{steps_per_sweep} steps per sweep need {reach} rows and columns in every block")
        kernel = StepKernel(scheme, method, scheme.static_halo_of(steps_per_sweep), steps_per_sweep, threads)
        self.set_kernel_and_loop(setup, transport, kernel, make_loop)

    def set_kernel_and_loop(self, setup: Setup, transport, kernel: StepKernel, make_loop):
        self.kernel, self._setup, self.transport = kernel, setup, transport
        self._static_halos = kernel.static_halo, kernel.row_padding(request_of(setup).step_code)
        super().__init__(setup, transport, self._make_static(), (make_loop, kernel))
        self.single_step_loop = make_loop, kernel._replace(steps_per_sweep=1)

    def static_of(self, grid: Grid, params: dict):
        return self.kernel.static_of(grid, params, self.transport.shape)

    def replace_params(self, params: dict, varying) -> None:
        """See `registry.Executor`; only the static fields that change are computed again, where possible."""
        kernel, kinds = self.kernel, self.static.kinds
        varying_fields = [name for name, is_field in record_param_kinds(kernel.scheme.varying).items() if is_field]
        indices = kernel.static_indices_of(kinds, self._setup.dtype, varying_fields)
        if indices is None:
            self.static = self._make_static(varying)
            return

        def changed_static(block):
            params = varying(block, kernel.static_halo)
            scalars = {name: params[name] for name in self.static.scalars if name in params}
            return scalars, kernel.static_fields_at(indices, kinds, params, block.shape) if indices else ()

        scalars, fields = self.transport.make_arrays(changed_static, self._static_halos)
        self.static = replace(self.static, scalars=self.static.scalars | scalars)
        if indices:
            program = cached_jit(make_replace_fields, indices, self.transport, donate_argnums=0)
            self.static = replace(self.static, fields=program(self.static.fields, fields))

    def _make_static(self, varying=None):
        """`static_of` the blocks of this process; `varying` as in `replace_params`, None: coefficients at the start."""
        setup, halo = self._setup, self.kernel.static_halo

        def static(block):
            return self.kernel.static_of(setup.grid(block, halo), setup.params(block, halo, varying), block.shape)

        return self.transport.make_arrays(static, self._static_halos)
