"""The executor `native`: the loop over steps with the generated step in C++."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...ocean.grid import Grid
from ...ocean.records import record_param_kinds
from ...ocean.state import Carry
from ...parallel.transport.programs import cached_jit
from ...setup.setup import Setup
from ..xla import JaxExecutor
from . import request_of
from .calls import NativeCalls
from .generated_step import GeneratedStep, choose_steps_per_sweep, has_several_passes, register

if TYPE_CHECKING:
    from ...parallel.transport.transport import Transport


def make_loop(calls_class: type[NativeCalls], generated_step: GeneratedStep, transport: Transport):
    """Make the function loop(carry, static, dt, n) -> carry n steps later, of one block; see `xla.make_loop`."""

    def loop(carry: Carry, static, dt, n, update=None, summary=()):
        return calls_class(generated_step, static, dt, transport).advance(carry, n, update, summary)

    return loop


def make_replace_statics(indices: tuple[int, ...], transport: Transport):
    """Make the function (statics, values) -> the static fields of one block, with `values` at these indices."""
    return lambda statics, values: statics.at[np.array(indices)].set(values)


class NativeExecutor(JaxExecutor):
    """The step in C++, generated from the dynamics: on CPUs, for every stepper and transport.

    User-defined terms must run on Symbols and have no parameters. The attribute `static` is a StaticInputs, whose
    fields have the halo that a sweep needs.

    Args:
        steps_per_sweep: steps in one pass over memory; None: the result of `generated_step.choose_steps_per_sweep`.
        threads: see `generated_step.GeneratedStep`.

    Raises:
        ValueError: a block has fewer rows or columns than the halo of a sweep, or a step has several passes, which a
            sweep of several steps cannot take.
        ImportError: the foreign calls cannot be used (`generated_step.register`).
        UsageError: a term cannot be traced.
    """

    name = "native"

    def __init__(self, setup: Setup, transport: Transport, grid: Grid, params: dict, steps_per_sweep=None, threads=0):
        register()
        scheme, method, min_block_shape = setup.scheme, setup.method, transport.min_block_shape
        if steps_per_sweep is None:
            itemsize = setup.dtype.itemsize
            steps_per_sweep = choose_steps_per_sweep(
                min_block_shape, scheme.halo_width, method, itemsize, scheme.drying
            )
        if steps_per_sweep > 1 and has_several_passes(method, scheme.drying):
            raise ValueError(
                "with drying or a Runge-Kutta method, a sweep takes one step, because a step has several passes"
            )
        reach = scheme.halo_width * steps_per_sweep
        if reach > min(min_block_shape):
            raise ValueError(f"{steps_per_sweep} steps per sweep need {reach} rows and columns in every block")
        generated_step = GeneratedStep(scheme, method, scheme.static_halo_of(steps_per_sweep), steps_per_sweep, threads)
        self.set_step_and_loop(setup, transport, generated_step, NativeCalls)

    def set_step_and_loop(self, setup: Setup, transport: Transport, generated_step: GeneratedStep, calls_class):
        """Use this step, with the foreign calls of `calls_class`, NativeCalls or a subclass; for constructors."""
        self.generated_step, self._setup, self.transport = generated_step, setup, transport
        self._static_halos = generated_step.static_halo, generated_step.row_padding(request_of(setup).step_code)
        super().__init__(setup, transport, self._make_static(), (make_loop, calls_class, generated_step))
        self.single_step_loop = make_loop, calls_class, generated_step._replace(steps_per_sweep=1)

    def static_of(self, grid: Grid, params: dict):
        return self.generated_step.static_of(grid, params, self.transport.shape)

    def replace_params(self, params: dict, varying) -> None:
        """See `registry.Executor`; if possible, only the static fields that change are computed again."""
        generated_step, kinds = self.generated_step, self.static.kinds
        varying_fields = [
            name for name, is_field in record_param_kinds(generated_step.scheme.varying).items() if is_field
        ]
        indices = generated_step.static_indices_of(kinds, self._setup.dtype, varying_fields)
        if indices is None:
            self.static = self._make_static(varying)
            return

        def changed_static(block):
            params = varying(block, generated_step.static_halo)
            scalars = {name: params[name] for name in self.static.scalars if name in params}
            return scalars, generated_step.static_fields_at(indices, kinds, params, block.shape) if indices else ()

        scalars, values = self.transport.make_arrays(changed_static, self._static_halos)
        self.static = replace(self.static, scalars=self.static.scalars | scalars)
        if indices:
            program = cached_jit(make_replace_statics, indices, self.transport, donate_argnums=0)
            self.static = replace(self.static, statics=program(self.static.statics, values))

    def _make_static(self, varying=None):
        """`static_of` for the blocks of this process; `varying` as in `replace_params`; None: values at the start."""
        setup, generated_step, halo = self._setup, self.generated_step, self.generated_step.static_halo

        def static(block):
            grid, params = setup.grid(block, halo), setup.params(block, halo, varying)
            return generated_step.static_of(grid, params, block.shape)

        return self.transport.make_arrays(static, self._static_halos)
