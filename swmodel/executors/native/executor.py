"""The executor `native`: the loop over steps of the generated step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...ocean.grid import Grid
from ...ocean.records import params_of
from ...ocean.state import Carry
from ...parallel.transport.programs import jitted
from ...setup.setup import Setup
from ..xla import Compiled
from . import request_of
from .calls import Calls
from .kernel import Kernel, choose_steps_per_sweep, register


def make_loop(kernel: Kernel, transport):
    """The function loop(carry, static, dt, n) -> carry n steps later, of one block; see `xla.make_loop`."""

    def loop(carry: Carry, static, dt, n, look=None, seen=()):
        return Calls(kernel, static, dt, transport).advance(carry, n, look, seen)

    return loop


def make_put(places: tuple[int, ...], transport):
    """The function (fields, some) -> the fields of one block, with `some` at their places."""
    return lambda fields, some: fields.at[np.array(places)].set(some)


class Native(Compiled):
    """The step in C++, generated from the dynamics: on CPUs, for every scheme, stepper and transport.

    Its static fields have packed masks and the margin of its sweeps.

    Args:
        steps_per_sweep: steps in one pass over memory; None: the fastest number.
        threads: see `kernel.Kernel`.
    """

    name = "native"

    def __init__(self, setup: Setup, transport, grid: Grid, params: dict, steps_per_sweep=None, threads=0):
        register()
        scheme, method, smallest = setup.scheme, setup.method, transport.smallest
        if steps_per_sweep is None:
            size = setup.dtype.itemsize
            steps_per_sweep = choose_steps_per_sweep(smallest, scheme.width, method, size, scheme.drying)
        reach = scheme.width * steps_per_sweep
        if reach > min(smallest):
            raise ValueError(f"{steps_per_sweep} steps in a sweep need {reach} rows and columns in every block")
        margin = scheme.margin_of(steps_per_sweep)
        self._begin(setup, transport, Kernel(scheme, method, margin, steps_per_sweep, threads), make_loop)

    def _begin(self, setup: Setup, transport, kernel: Kernel, make_loop):
        """Make the static fields of a kernel, and the loop over its steps."""
        self.kernel, self._setup, self.transport = kernel, setup, transport
        self._margins = kernel.margin, kernel.lead(request_of(setup).made)
        super().__init__(setup, transport, self._static(), (make_loop, kernel))
        self.watched = make_loop, kernel._replace(steps_per_sweep=1)

    def static_of(self, grid: Grid, params: dict):
        return self.kernel.static_of(grid, params, self.transport.shape)

    def exchange(self, params: dict, of) -> None:
        """See `registry.Executor`; only the static fields that change are computed again, where possible."""
        kernel, kinds = self.kernel, self.static.kinds
        named = params_of(kernel.scheme.varying)
        places = kernel.places_of(kinds, self._setup.dtype, [name for name, field in named.items() if field])
        if places is None:
            self.static = self._static(of)
            return

        def changed(block):
            given = of(block, kernel.margin)
            numbers = {name: given[name] for name in self.static.numbers if name in given}
            return numbers, kernel.fields_at(places, kinds, given, block.shape) if places else ()

        numbers, fields = self.transport.make(changed, self._margins)
        self.static = replace(self.static, numbers=self.static.numbers | numbers)
        if places:
            fields = jitted(make_put, places, self.transport, donate_argnums=0)(self.static.fields, fields)
            self.static = replace(self.static, fields=fields)

    def _static(self, of=None):
        """`static_of` the blocks of this process; `of` as in `exchange`, None: coefficients of the start."""
        setup, margin = self._setup, self.kernel.margin

        def static(block):
            return self.kernel.static_of(setup.grid(block, margin), setup.params(block, margin, of), block.shape)

        return self.transport.make(static, self._margins)
