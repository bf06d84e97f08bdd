"""The substeps of a run: the number of equal parts of a step, chosen from the state (`time.max_substeps`).

A step of `time.dt` has 1, 2, 4, ... substeps of equal length. Records, forcing, restarts and user-defined functions
refer to whole steps. The number is chosen every `time.substeps_every_steps` steps, counted from the start of the run.
It depends only on the present state, the present coefficients and the present number, and is the same on any layout.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import TYPE_CHECKING

import jax
import numpy as np

from ..ocean.diagnostics import STRIP_CELLS, map_on_all_cores
from ..ocean.grid import as_patches
from ..ocean.patch import Patch
from ..ocean.records import params_for_substeps
from ..ocean.state import Carry
from ..setup.checks.extremes import FieldExtremes, process_rates
from ..setup.checks.stability import max_stable_dt
from .health.measures import RATES, blocks_of

if TYPE_CHECKING:
    from ..ocean.scheme import Scheme

#: Substeps are at most this fraction of the largest stable time step, if `time.max_substeps` allows it, because the
#: flow may accelerate before the next choice.
STABLE_FRACTION = 0.75
#: Rates are rounded up to one of this many values per factor of two, so that the largest time step is computed for few
#: different rates.
RATES_PER_OCTAVE = 64


class SubstepChooser:
    """The number of substeps per step, which is valid before step `valid_until`; without a model it never changes."""

    def __init__(self, model=None, substeps: int = 1):
        self.model, self.substeps = model, substeps
        self.valid_until = sys.maxsize
        if model is not None:
            self.steps_between_choices = model.config.time.substeps_every_steps
            self.valid_until = -(-model.step // self.steps_between_choices) * self.steps_between_choices
            self._cached_largest_dt = lru_cache(maxsize=1024)(self._largest_dt)

    def is_valid_at(self, step: int) -> bool:
        return step < self.valid_until

    def next_change(self, max_step: int) -> int:
        """The step at which the number may change next, at most `max_step`."""
        return min(max_step, self.valid_until)

    def choose(self) -> float:
        """Choose the number of substeps for the next steps; returns the ratio of the new number to the old one."""
        model, old_substeps = self.model, self.substeps
        self.valid_until = (model.step // self.steps_between_choices + 1) * self.steps_between_choices
        # The number is at most halved, because the memory contains only the states of the two previous substeps.
        self.substeps = max(self._substeps_for(self.max_rates()), old_substeps // 2)
        return self.substeps / old_substeps

    def apply_to_executor(self, executor, forcing) -> None:
        """Give the executor the number of substeps, and the coefficients for steps of that length."""
        model, substeps = self.model, self.substeps
        varying, time_params = model.scheme.varying, model.setup.params_of_time_step(substeps)
        executor.set_substeps(substeps)
        params = params_for_substeps(model.params, varying, substeps)
        params = params | model.transport.make_arrays(lambda block: time_params)

        def params_of_block(*arguments) -> dict:
            return params_for_substeps(forcing.params_of_block(*arguments), varying, substeps) | time_params

        executor.replace_params(params, params_of_block)

    def _substeps_for(self, rates: np.ndarray) -> int:
        """The number of substeps for these RATES of the whole domain."""
        mantissa, exponent = np.frexp(rates)
        rounded = np.ldexp(np.ceil(mantissa * (2 * RATES_PER_OCTAVE)) / (2 * RATES_PER_OCTAVE), exponent)
        allowed_dt = STABLE_FRACTION * self._cached_largest_dt(tuple(map(float, rounded)))
        max_substeps = self.model.config.time.max_substeps
        powers = (2**k for k in range(max_substeps.bit_length()))
        return next((n for n in powers if n * allowed_dt >= self.model.dt), max_substeps)

    def _largest_dt(self, rates: tuple[float, ...]) -> float:
        """The largest stable time step for these RATES, s."""
        ranges = {name: (0.0, rate) for name, rate in zip(RATES, rates, strict=True)}
        return max_stable_dt(self.model.config, FieldExtremes(ranges))[0]

    def max_rates(self) -> np.ndarray:
        """The largest RATES of the whole domain, s-1; infinite if the state is not finite.

        NumPy computes them, because its rounding does not depend on the shapes of blocks.
        """
        model, transport, static_halo = self.model, self.model.transport, self.model.scheme.static_halo
        states, params = transport.get_blocks(model.carry.state), transport.get_blocks(model.params, static_halo)
        strips: list[tuple] = []
        for state, params_of_block, (grid, shape) in zip(states, params, blocks_of(model), strict=True):
            fields = {name: Patch(field, (0, 0)) for name, field in state._asdict().items()}
            patches = as_patches(params_of_block, static_halo)
            fields |= {name: field for name, field in patches.items() if isinstance(field, Patch)}
            fields |= {"wet": grid.wet, "dx": grid.dx.centre, "dy": grid.dy.centre}
            rows = max(1, STRIP_CELLS // shape[1])
            strips += [
                (model.scheme, fields, (first, 0), (min(first + rows, shape[0]), shape[1]))
                for first in range(0, shape[0], rows)
            ]
        local_rates = np.max(map_on_all_cores(max_rates_in_rectangle, strips), axis=0)
        return transport.reduce(np.nan_to_num(local_rates, nan=np.inf, posinf=np.inf), "max")


ONE_SUBSTEP = SubstepChooser()


def max_rates_in_rectangle(
    scheme: Scheme, fields: dict[str, Patch], first: tuple[int, int], last: tuple[int, int]
) -> list[float]:
    """The largest RATES on the water of the cells `first` <= (row, column) < `last` of a block."""
    values = {name: field.cut(first, last).values for name, field in fields.items()}
    values |= {name: np.abs(values[name]) for name in "uv"}
    rates = process_rates(scheme, values, values.pop("dx"), values.pop("dy"))
    return [float(np.where(values["wet"] > 0, rates[name], 0).max()) for name in RATES]


def rescale_memory(carry: Carry, ratio: float) -> Carry:
    """The carry with memory for substeps whose length is divided by `ratio`, which is 1/2 or at least 1.

    The memory contains the states of the two previous substeps. For shorter substeps the new memory is interpolated
    linearly between the present and the previous state, which keeps thickness positive and concentrations within their
    bounds. If substeps become twice as long, the older of the two new states is extrapolated.
    """
    if ratio == 1 or not carry.memory:
        return carry
    previous, before_previous = carry.memory

    def interpolate(weight):
        return jax.tree.map(lambda new, old: new + weight * (old - new), carry.state, previous)

    if ratio > 1:
        return carry._replace(memory=(interpolate(1 / ratio), interpolate(2 / ratio)))
    extrapolated = jax.tree.map(lambda new, old: old + (old - new), carry.state, before_previous)
    extrapolated = extrapolated._replace(h=abs(extrapolated.h))
    return carry._replace(memory=(before_previous, extrapolated))
