"""Sweeps in pieces so short that a user can be told of them, and heard, in between."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp

from .sweeps import Sweeps

#: Steps of a piece times cells of a process: about half a second of a backward sweep on one core; and most steps.
CELLS, MOST = 4_000_000, 2000


def length_of(config) -> int:
    """Steps of a piece, the same on all processes."""
    cells = config.grid.nx * config.grid.ny / config.run.nproc
    return max(1, min(MOST, int(CELLS / cells)))


class Pieces:
    """Sweeps whose longer parts are made in pieces of at most `length` steps; in all else the Sweeps themselves.

    What is recorded for the way back is a list of stacks, one for each piece.

    Args:
        sweeps: Sweeps.
        length: most steps of a piece, the same on all processes.
        between: called after each piece with its kind (forward, again or backward), the step that it has come to,
            what it has computed, and when it began on the clock time.perf_counter. May raise.
    """

    def __init__(self, sweeps: Sweeps, length: int, between: Callable):
        self.sweeps, self.length, self.between = sweeps, length, between

    def __getattr__(self, name: str):
        return getattr(self.sweeps, name)

    def prepare(self, x, fixed, length: int) -> int:
        """See `Sweeps.prepare`."""
        pieces, piece = self._equal(length)
        step, besides = self.sweeps.stack_bytes(x, fixed)
        missing = (pieces * piece - length) * step + (pieces - 1) * besides
        return self.sweeps.prepare(x, fixed, piece) + missing

    def release(self, length: int | None = None) -> None:
        """See `Sweeps.release`."""
        self.sweeps.release(length and self._equal(length)[1])

    def forward(self, carry, active, series, first, last, fixed):
        """See `Sweeps._forward`."""
        for span in self._spans(first, last, self.length):
            begin = time.perf_counter()
            carry, series = self.sweeps.forward(carry, active, series, *span, fixed)
            self._tell("forward", span[1], carry, begin)
        return carry, series

    def advance(self, carry, active, first, last, fixed):
        """See `Sweeps._advance`."""
        for span in self._spans(first, last, self.length):
            begin = time.perf_counter()
            carry = self.sweeps.advance(carry, active, *span, fixed)
            self._tell("again", span[1], carry, begin)
        return carry

    def record(self, carry, active, series, first, last, fresh, fixed, length: int):
        """See `Sweeps._record`; the stacks in a list, each with its span."""
        stacks, piece = [], self._equal(length)[1]
        for span in self._spans(first, last, piece):
            begin = time.perf_counter()
            stack, carry, series = self.sweeps.record(carry, active, series, *span, fresh, fixed, piece)
            stacks.append((stack, span))
            self._tell("forward" if fresh else "again", span[1], carry, begin)
        return stacks, carry, series

    def pull(self, stacks, active, cotangents, series_bar, first, last, fixed):
        """See `Sweeps._pull`."""
        while stacks:
            stack, span = stacks.pop()
            begin = time.perf_counter()
            cotangents = self.sweeps.pull(stack, active, cotangents, series_bar, *span, fixed)
            self._tell("backward", span[0], cotangents, begin)
        return cotangents

    def _tell(self, kind: str, step, computed, begin: float):
        self.between(kind, int(step), jax.block_until_ready(computed), begin)

    def _equal(self, length: int) -> tuple[int, int]:
        """Into how many pieces a recorded segment is cut, and their steps: equal, so that hardly any room is left."""
        pieces = -(-length // self.length)
        return pieces, -(-length // pieces)

    def _spans(self, first, last, length: int) -> Iterator[tuple]:
        for start in range(int(first), int(last), length):
            yield jnp.int32(start), jnp.int32(min(start + length, int(last)))
