"""Sweeps in short pieces: in between, progress is reported and signals are obeyed."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np

from .sweeps import Sweeps

#: Steps of a piece times cells of a process, about half a second of a backward sweep on one core; most steps of a
#: piece.
CELLS, MOST = 4_000_000, 2000


def length_of(config) -> int:
    """Steps of a piece, the same on all processes."""
    cells = config.grid.nx * config.grid.ny / config.run.nproc
    return max(1, min(MOST, int(CELLS / cells)))


class Pieces:
    """Sweeps whose longer parts are computed in pieces of at most `length` steps; all else is that of the Sweeps.

    No piece goes beyond a step at which coefficients are replaced. The record for the way back is a list of stacks, one
    for each piece.

    Args:
        sweeps: Sweeps.
        length: most steps of a piece, the same on all processes.
        between: called after each piece with its kind (forward, again or backward), the step that it has reached,
            what it has computed, and when it began on the clock time.perf_counter. May raise.
        held: what is fixed, and from which step on; None: it is the same at all steps.
    """

    def __init__(self, sweeps: Sweeps, length: int, between: Callable, held: Held | None = None):
        self.sweeps, self.length, self.between, self.held = sweeps, length, between, held
        self._cuts = held.cuts(sweeps.steps) if held else [0, sweeps.steps]

    def __getattr__(self, name: str):
        return getattr(self.sweeps, name)

    def prepare(self, x, fixed, length: int) -> int:
        """See `Sweeps.prepare`."""
        piece, steps = self._equal(length), self.sweeps.steps
        starts = range(0, max(1, steps), length)
        pieces = max(len(list(self._spans(start, min(start + length, steps), piece))) for start in starts)
        step, besides = self.sweeps.stack_bytes(x, fixed)
        missing = max(0, pieces * piece - length) * step + max(0, pieces - 1) * besides
        return self.sweeps.prepare(x, fixed, piece, length) + missing

    def release(self, length: int | None = None) -> None:
        """See `Sweeps.release`."""
        self.sweeps.release(length and self._equal(length))

    def forward(self, carry, active, series, first, last, fixed):
        """See `Sweeps._forward`."""
        for span in self._spans(first, last, self.length):
            begin = time.perf_counter()
            carry, series = self.sweeps.forward(carry, active, series, *span, self._at(span, fixed))
            self._tell("forward", span[1], carry, begin)
        return carry, series

    def advance(self, carry, active, first, last, fixed):
        """See `Sweeps._advance`."""
        for span in self._spans(first, last, self.length):
            begin = time.perf_counter()
            carry = self.sweeps.advance(carry, active, *span, self._at(span, fixed))
            self._tell("again", span[1], carry, begin)
        return carry

    def record(self, carry, active, series, first, last, fresh, fixed, length: int):
        """See `Sweeps._record`; the stacks in a list, each with its span."""
        stacks, piece = [], self._equal(length)
        for span in self._spans(first, last, piece):
            begin = time.perf_counter()
            held = self._at(span, fixed)
            stack, carry, series = self.sweeps.record(carry, active, series, *span, fresh, held, piece)
            stacks.append((stack, span))
            self._tell("forward" if fresh else "again", span[1], carry, begin)
        return stacks, carry, series

    def pull(self, stacks, active, cotangents, series_bar, first, last, fixed):
        """See `Sweeps._pull`."""
        while stacks:
            stack, span = stacks.pop()
            begin = time.perf_counter()
            cotangents = self.sweeps.pull(stack, active, cotangents, series_bar, *span, self._at(span, fixed))
            self._tell("backward", span[0], cotangents, begin)
        return cotangents

    def _tell(self, kind: str, step, computed, begin: float):
        self.between(kind, int(step), jax.block_until_ready(computed), begin)

    def _at(self, span, fixed):
        """What is fixed during a span of steps."""
        return self.held.at(int(span[0])) if self.held else fixed

    def _equal(self, length: int) -> int:
        """The most steps in a piece of a recorded segment: pieces are about equal, so that little memory is wasted."""
        pieces, longest = -(-length // self.length), max(np.diff(self._cuts), default=length)
        return min(-(-length // pieces), max(1, int(longest)))

    def _spans(self, first, last, length: int) -> Iterator[tuple]:
        start, last = int(first), int(last)
        while start < last:
            cut = self._cuts[bisect_right(self._cuts, start)]
            end = min(start + length, last, cut)
            yield jnp.int32(start), jnp.int32(end)
            start = end


class Held:
    """What a trajectory has besides its controls, from one replacement of coefficients to the next.

    Args:
        forcing: a Forcing.
        fixed: a `trajectory.Fixed` of any step.
        margin: that of its wide fields.
    """

    def __init__(self, forcing, fixed, margin: int):
        self.forcing, self.fixed, self.margin = forcing, fixed, margin

    def cuts(self, steps: int) -> list[int]:
        """The steps at which coefficients are replaced, with the first and the last step."""
        return self.forcing.cuts(steps)

    def at(self, step: int):
        """The Fixed at a step."""
        if not self.forcing.holds(step):
            fixed, wide = self.fixed, self.fixed.wide
            params = fixed.params | self.forcing.take(step)
            wide = wide and (wide[0], wide[1] | self.forcing.take(step, self.margin))
            self.fixed = fixed._replace(params=params, wide=wide)
        return self.fixed
