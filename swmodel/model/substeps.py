"""The substeps of a run: how many equal parts each step has, chosen from the state (`time.max_substeps`).

A step of `time.dt` has 1, 2, 4, ... substeps of equal length. Records, forcing, restarts and functions of the user keep
to whole steps. The choice holds for `time.halve_every_steps` steps, counted from the start of the run. It is a function
of the state at their begin alone, with the same bits on any layout.
"""

from __future__ import annotations

import math
from functools import lru_cache

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

#: The largest part of a stable time step that is taken: the flow may grow faster until the next look.
STABLE_FRACTION = 0.75
#: Rates are rounded up to this many numbers in each factor of two, so that limits are computed for few of them.
RATES_PER_OCTAVE = 64


class SubstepChooser:
    """The number of substeps of a run, for steps before `valid_until`; without a model it is 1 for ever."""

    def __init__(self, model=None, substeps: int = 1):
        self.model, self.substeps = model, substeps
        self.valid_until = math.inf
        if model is not None:
            self.interval_steps = model.config.time.halve_every_steps
            self.valid_until = -(-model.step // self.interval_steps) * self.interval_steps
            self._limit = lru_cache(maxsize=1024)(self._largest_dt)

    def is_valid_at(self, step: int) -> bool:
        """Whether the present number holds for the step after `step` steps."""
        return step < self.valid_until

    def next_change(self, max_step: int) -> int:
        """The step until which it holds, at most `max_step`."""
        return min(max_step, self.valid_until)

    def choose(self) -> float:
        """Choose the number for the next steps; returns the length of the old substeps over that of the new ones."""
        model, old_substeps = self.model, self.substeps
        self.valid_until = (model.step // self.interval_steps + 1) * self.interval_steps
        self.substeps = max(
            self._substeps_for(self.max_rates()), old_substeps // 2
        )  # the memory reaches two substeps back
        return self.substeps / old_substeps

    def apply_to_executor(self, executor, forcing) -> None:
        """Give the executor the number of substeps, and the coefficients for them."""
        model, substeps = self.model, self.substeps
        varying, time_params = model.scheme.varying, model.setup.params_of_time_step(substeps)
        executor.set_substeps(substeps)
        params = params_for_substeps(model.params, varying, substeps) | model.transport.make_arrays(
            lambda block: time_params
        )
        executor.replace_params(
            params, lambda *at: params_for_substeps(forcing.params_of_block(*at), varying, substeps) | time_params
        )

    def _substeps_for(self, rates: np.ndarray) -> int:
        """The number of substeps at these RATES of the whole domain."""
        mantissa, exponent = np.frexp(rates)
        rounded = np.ldexp(np.ceil(mantissa * (2 * RATES_PER_OCTAVE)) / (2 * RATES_PER_OCTAVE), exponent)
        largest, max_substeps = (
            STABLE_FRACTION * self._limit(tuple(map(float, rounded))),
            self.model.config.time.max_substeps,
        )
        powers = (2**k for k in range(max_substeps.bit_length()))
        return next((n for n in powers if n * largest >= self.model.dt), max_substeps)

    def _largest_dt(self, rates: tuple[float, ...]) -> float:
        """The largest stable time step, s."""
        ranges = {name: (0.0, rate) for name, rate in zip(RATES, rates, strict=True)}
        return max_stable_dt(self.model.config, FieldExtremes(ranges))[0]

    def max_rates(self) -> np.ndarray:
        """The largest RATES of the whole domain, s-1; infinite where the state is not finite.

        NumPy computes them, as its rounding does not depend on the shapes of blocks.
        """
        model, transport, margin = self.model, self.model.transport, self.model.scheme.margin
        states, params = transport.get_blocks(model.carry.state), transport.get_blocks(model.params, margin)
        strips: list[tuple] = []
        for state, given, (grid, shape) in zip(states, params, blocks_of(model), strict=True):
            fields = {name: Patch(field, (0, 0)) for name, field in state._asdict().items()}
            fields |= {name: field for name, field in as_patches(given, margin).items() if isinstance(field, Patch)}
            fields |= {"wet": grid.wet, "dx": grid.dx.centre, "dy": grid.dy.centre}
            rows = max(1, STRIP_CELLS // shape[1])
            strips += [
                (model.scheme, fields, (first, 0), (min(first + rows, shape[0]), shape[1]))
                for first in range(0, shape[0], rows)
            ]
        local_rates = np.nan_to_num(
            np.max(map_on_all_cores(max_rates_between, strips), axis=0), nan=np.inf, posinf=np.inf
        )
        return transport.reduce(local_rates, "max")


#: For runs whose steps have one length.
ONE_SUBSTEP = SubstepChooser()


def max_rates_between(scheme, fields: dict[str, Patch], first: tuple[int, int], last: tuple[int, int]) -> list[float]:
    """The largest RATES on the water of the cells `first` <= (row, column) < `last` of a block."""
    values = {name: field.cut(first, last).values for name, field in fields.items()}
    values |= {name: np.abs(values[name]) for name in "uv"}
    found = process_rates(scheme, values, values.pop("dx"), values.pop("dy"))
    return [float(np.where(values["wet"] > 0, found[name], 0).max()) for name in RATES]


def rescale_memory(carry: Carry, ratio: float) -> Carry:
    """The carry with memory for steps 1 / ratio as long.

    States in memory lie 1 and 2 steps back. Those between are interpolated, linearly: so thickness stays positive, and
    concentrations within their bounds. For a step twice as long the one further back is extrapolated.
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
