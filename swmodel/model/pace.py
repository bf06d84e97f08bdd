"""The pace of a run: how many shorter steps it takes in each step, chosen from the state (`time.halvings`).

A step of `time.dt` has 1, 2, 4, ... substeps of equal length. Records, forcing, restarts and functions of the user keep
to whole steps. The choice holds for `time.halve_every_steps` steps, counted from the start of the run. It is a function
of the state at their begin alone, with the same bits on any layout.
"""

from __future__ import annotations

import math
from functools import lru_cache

import jax
import numpy as np

from ..ocean.diagnostics import STRIP_CELLS, on_all_cores
from ..ocean.grid import as_patches
from ..ocean.patch import Patch
from ..ocean.records import divided
from ..ocean.state import Carry
from ..setup.checks.extremes import Extremes, rates_of
from ..setup.checks.stability import largest_dt
from .health.measures import RATES, blocks_of

#: The largest part of a stable time step that is taken: the flow may grow faster until the next look.
SHARE = 0.75
#: Rates are rounded up to this many numbers in each factor of two, so that limits are computed for few of them.
NUMBERS = 64


class Pace:
    """The number of substeps of a run, for steps before `last`; without a model it is 1 for ever."""

    def __init__(self, model=None, substeps: int = 1):
        self.model, self.substeps = model, substeps
        self.last = math.inf
        if model is not None:
            self.every = model.config.time.halve_every_steps
            self.last = -(-model.step // self.every) * self.every
            self._limit = lru_cache(maxsize=1024)(self._largest_dt)

    def holds(self, step: int) -> bool:
        """Whether the present number holds for the step after `step` steps."""
        return step < self.last

    def until(self, step: int) -> int:
        """The step until which it holds, at most `step`."""
        return min(step, self.last)

    def choose(self) -> float:
        """Choose the number for the next steps; returns the length of the old substeps over that of the new ones."""
        model, before = self.model, self.substeps
        self.last = (model.step // self.every + 1) * self.every
        self.substeps = max(self._number(self.rates()), before // 2)  # the memory reaches two substeps back
        return self.substeps / before

    def divide(self, executor, forcing) -> None:
        """Give the executor the number of substeps, and the coefficients for them."""
        model, substeps = self.model, self.substeps
        varying, numbers = model.scheme.varying, model.setup.numbers_of_time(substeps)
        executor.divide(substeps)
        params = divided(model.params, varying, substeps) | model.transport.make(lambda block: numbers)
        executor.exchange(params, lambda *at: divided(forcing.of(*at), varying, substeps) | numbers)

    def _number(self, rates: np.ndarray) -> int:
        """The number of substeps at these RATES of the whole domain."""
        mantissa, exponent = np.frexp(rates)
        rounded = np.ldexp(np.ceil(mantissa * (2 * NUMBERS)) / (2 * NUMBERS), exponent)
        largest, most = SHARE * self._limit(tuple(map(float, rounded))), 2**self.model.config.time.halvings
        powers = (2**k for k in range(most.bit_length()))
        return next((n for n in powers if n * largest >= self.model.dt), most)

    def _largest_dt(self, rates: tuple[float, ...]) -> float:
        """The largest stable time step, s."""
        ranges = {name: (0.0, rate) for name, rate in zip(RATES, rates, strict=True)}
        return largest_dt(self.model.config, Extremes(ranges))[0]

    def rates(self) -> np.ndarray:
        """The largest RATES of the whole domain, s-1; infinite where the state is not finite.

        NumPy computes them, as its rounding does not depend on the shapes of blocks.
        """
        model, transport, margin = self.model, self.model.transport, self.model.scheme.margin
        states, params = transport.pieces(model.carry.state), transport.pieces(model.params, margin)
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
        found = np.nan_to_num(np.max(on_all_cores(rates_between, strips), axis=0), nan=np.inf, posinf=np.inf)
        return transport.reduce(found, "max")


#: The pace of runs without halvings.
FIXED = Pace()


def rates_between(scheme, fields: dict[str, Patch], first: tuple[int, int], last: tuple[int, int]) -> list[float]:
    """The largest RATES on the water of the cells `first` <= (row, column) < `last` of a block."""
    values = {name: field.cut(first, last).values for name, field in fields.items()}
    values |= {name: np.abs(values[name]) for name in "uv"}
    found = rates_of(scheme, values, values.pop("dx"), values.pop("dy"))
    return [float(np.where(values["wet"] > 0, found[name], 0).max()) for name in RATES]


def rescaled(carry: Carry, ratio: float) -> Carry:
    """The carry with memory for steps 1 / ratio as long.

    States in memory lie 1 and 2 steps back. Those between are interpolated, linearly: so thickness stays positive, and
    concentrations within their bounds. For a step twice as long the one further back is extrapolated.
    """
    if ratio == 1 or not carry.memory:
        return carry
    last, before = carry.memory

    def between(part):
        return jax.tree.map(lambda new, old: new + part * (old - new), carry.state, last)

    if ratio > 1:
        return carry._replace(memory=(between(1 / ratio), between(2 / ratio)))
    further = jax.tree.map(lambda new, old: old + (old - new), carry.state, before)
    further = further._replace(h=abs(further.h))
    return carry._replace(memory=(before, further))
