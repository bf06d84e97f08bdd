"""Sweeps over a trajectory, forward, and backward by its Plan, in bounded memory.

Sweeps call the compiled `Programs` for some steps at a time. In between they report progress, check signals, and
replace coefficients that vary in time.
"""

from __future__ import annotations

import math
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from checkpoint_schedules import Copy, Forward, Move, Reverse

from ..parallel.fixed_point import exact_sum
from . import corrections
from .plan import Plan
from .programs import Programs
from .trajectory import Fixed, Trajectory

#: Steps of a piece times cells of a process, about half a second of a backward sweep on one core; most steps of a
#: piece.
CELLS, MOST = 4_000_000, 2000


def length_of(config) -> int:
    """Steps of a piece, the same on all processes."""
    cells = config.grid.nx * config.grid.ny / config.run.nproc
    return max(1, min(MOST, int(CELLS / cells)))


class Sweeps:
    """Sweeps over a trajectory, in pieces of at most `length` steps; by default all steps are one piece.

    Pieces also end where coefficients are replaced. The record for the way back is a list of stacks, each with the
    first and the last step of its piece. `fixed` is the Fixed of the first step; `varying` has those of later steps, if
    they differ.
    """

    def __init__(self, trajectory: Trajectory, transport, steps: int, every: int, fixed: Fixed, varying=None):
        self.transport, self.steps, self.fixed, self.varying = transport, steps, fixed, varying
        self.trajectory, self.programs = trajectory, Programs(trajectory, transport, steps, every)
        self.length, self._after_piece = max(1, steps), None
        self._cuts = varying.forcing.cuts(steps) if varying else [0, steps]
        self._stacks, self._kept, self._shapes, self._workspaces = [], None, None, {}

    def in_pieces(self, length: int, after_piece: Callable) -> None:
        """Compute in pieces of at most `length` steps, the same on all processes.

        After each, after_piece(kind, step, computed, begin) is called, which may raise. The kind is forward, again or
        backward; the others are the present step, the result, and the begin of the piece (time.perf_counter).
        """
        self.length, self._after_piece = length, after_piece

    def start(self, x, back: bool = False):
        """The carry before the first step, and the active fields, from the controls x; `back`: for steps back, too."""
        self._shapes = shapes_of(x)
        carry, active = self.programs.start(x, self.fixed)
        self.trajectory.settle(active, self.fixed, back)
        return carry, active

    def advance(self, carry, active, first: int, last: int, series=None):
        """The carry at step `last`, from the one at `first`; and a series, if any, with the samples before `last`."""
        for span in self._spans(first, last, self.length):
            begin, fixed, numbers = time.perf_counter(), self._at(span), _numbers(span)
            if series is None:
                carry = self.programs.advance(carry, active, *numbers, fixed)
            else:
                _, carry, series = self.programs.record(None, carry, active, series, *numbers, True, fixed)
            self._done("again" if series is None else "forward", span[1], carry, begin)
        return carry if series is None else (carry, series)

    def series(self, x):
        """The observed quantities of the trajectory from the controls x, a pytree [samples, ...]."""
        carry, active = self.start(x)
        series = self.programs.blank(carry, active, self.fixed)
        carry, series = self.advance(carry, active, 0, self.steps, series)
        return self.programs.observe_last(carry, active, series, self.fixed)

    def pull_back(self, plan: Plan, x, respond: Callable):
        """An answer, and the cotangents of the controls x; respond(series) -> answer, cotangents of the series."""
        carry, active = self.start(x, back=True)
        series = self.programs.blank(carry, active, self.fixed)
        kept, stacks, cotangents, answer = {}, [], None, None
        for action in plan.actions():
            if isinstance(action, Forward):
                span, fresh = (plan.step(action.n0), plan.step(action.n1)), cotangents is None
                if action.write_ics:
                    kept[action.n0] = carry
                if action.write_adj_deps:
                    stacks, carry, series = self._record(carry, active, series, *span, fresh, plan.length)
                elif fresh:
                    carry, series = self.advance(carry, active, *span, series)
                else:
                    carry = self.advance(carry, active, *span)
            elif isinstance(action, Copy | Move):
                carry = kept[action.n] if isinstance(action, Copy) else kept.pop(action.n)
            elif isinstance(action, Reverse):
                if cotangents is None:
                    series = self.programs.observe_last(carry, active, series, self.fixed)
                    answer, series_bar = respond(series)
                    cotangents = self.programs.seed(carry, active, series_bar, self.fixed)
                cotangents = self._pull(stacks, active, cotangents, series_bar)
        shares = self.programs.finish(x, cotangents, self.fixed)
        return answer, with_sums(self.transport, shares, cotangents.spread)

    def _record(self, carry, active, series, first: int, last: int, fresh: bool, length: int):
        """As `advance`, with the steps in stacks for `length` of them; the series gets samples if `fresh`."""
        stacks, piece = [], self._equal(length)
        for span in self._spans(first, last, piece):
            begin, fixed = time.perf_counter(), self._at(span)
            self._keep(piece)
            stack = self._stacks.pop() if self._stacks else self.programs.stack(carry, active, fixed, piece)
            stack, carry, series = self.programs.record(stack, carry, active, series, *_numbers(span), fresh, fixed)
            stacks.append((stack, span))
            self._done("forward" if fresh else "again", span[1], carry, begin)
        return stacks, carry, series

    def _pull(self, stacks, active, cotangents, series_bar):
        """The Cotangents at the first recorded step, from those after the last; keeps the stacks for reuse."""
        while stacks:
            stack, span = stacks.pop()
            begin, numbers = time.perf_counter(), _numbers(span)
            stack, cotangents = self.programs.pull(stack, active, cotangents, series_bar, *numbers, self._at(span))
            self._stacks.append(stack)
            self._done("backward", span[0], cotangents, begin)
        return cotangents

    def _done(self, kind: str, step: int, computed, begin: float) -> None:
        if self._after_piece:
            self._after_piece(kind, step, jax.block_until_ready(computed), begin)

    def _at(self, span) -> Fixed:
        """The Fixed of a span of steps."""
        return self.varying.at(span[0]) if self.varying else self.fixed

    def _spans(self, first: int, last: int, length: int) -> Iterator[tuple[int, int]]:
        while first < last:
            end = min(first + length, last, self._cuts[bisect_right(self._cuts, first)])
            yield first, end
            first = end

    def _equal(self, length: int) -> int:
        """The most steps in a piece of a recorded segment, with about equal pieces to save memory."""
        pieces, longest = -(-length // self.length), max(np.diff(self._cuts), default=length)
        return min(-(-length // pieces), max(1, int(longest)))

    # The memory of a sweep; see `plan.fit`.

    def bytes_of(self, x) -> tuple[int, int, int, int]:
        """Bytes of a carry, of a step of a stack, of the rest of a stack, and of everything else."""
        held = self.transport.held_bytes
        carry, active = jax.eval_shape(self.programs.start, x, self.fixed)
        self.trajectory.settle(active, self.fixed, back=True)
        series = jax.eval_shape(self.programs.blank, carry, active, self.fixed)
        stack = self.programs.stack
        one, two = (held(jax.eval_shape(partial(stack, length=n), carry, active, self.fixed)) for n in (1, 2))
        numbers = sum(leaf.ndim == 0 for leaf in jax.tree.leaves(x))  # adjoints of numbers are spread over the cells
        spread = numbers * self.fixed.dt.dtype.itemsize * math.prod(self.transport.shape)
        return held(carry), two - one, 2 * one - two, 3 * (held((active, series)) + spread)

    def prepare(self, x, length: int) -> int:
        """Compile the programs for segments of `length` steps; returns their bytes beside these."""
        piece = self._equal(length)
        key = shapes_of(x), piece, length < self.steps  # else all steps are recorded at once
        if key not in self._workspaces:
            self.release()
            self._workspaces[key] = self.programs.prepare(x, self.fixed, *key[1:])
        starts = range(0, max(1, self.steps), length)
        pieces = max(sum(1 for _ in self._spans(n, min(n + length, self.steps), piece)) for n in starts)
        _, step, rest, _ = self.bytes_of(x)
        return self._workspaces[key] + max(0, pieces * piece - length) * step + max(0, pieces - 1) * rest

    def release(self, length: int | None = None) -> None:
        """Drop the stacks, except those for segments of `length` steps."""
        self._keep(length and self._equal(length))

    def kept_bytes(self) -> int:
        """Bytes of the stacks."""
        return self.transport.held_bytes(self._stacks)

    def _keep(self, piece: int | None) -> None:
        if piece is None or (piece, self._shapes) != self._kept:
            self._stacks, self._kept = [], (piece, self._shapes)


def shapes_of(x):
    """The structure, shapes and types of controls x, which programs depend on."""
    return tuple((leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(x))


class VaryingFixed:
    """The Fixed of a trajectory, between replacements of coefficients; `margin` is that of wide fields."""

    def __init__(self, forcing, fixed: Fixed, margin: int):
        self.forcing, self.fixed, self.margin = forcing, fixed, margin

    def at(self, step: int) -> Fixed:
        """The Fixed at a step."""
        if not self.forcing.holds(step):
            fixed, wide = self.fixed, self.fixed.wide
            params = fixed.params | self.forcing.take(step)
            wide = wide and (wide[0], wide[1] | self.forcing.take(step, self.margin))
            self.fixed = fixed._replace(params=params, wide=wide)
            numbers = records_at(self.forcing.setup, self.forcing.transport, fixed.records, step)
            self.fixed = self.fixed._replace(records=numbers)
        return self.fixed


def records_at(setup, transport, names, step: int) -> dict:
    """The numbers of the records before a step, of controls with records in time, by name."""
    return {name: transport.put(np.int32(corrections.number_at(setup, name, step))) for name in names}


def _numbers(span: tuple[int, int]):
    return map(jnp.int32, span)


def with_sums(transport, shares, spread: dict):
    """The cotangents of controls, with the sums of those of numbers that are spread over the cells."""
    parts = shares if isinstance(shares, tuple) else (shares,)
    for name, field in spread.items():
        of, control = parts[name.startswith("d.")], name.removeprefix("d.")
        of[control] = of[control] + jnp.asarray(exact_sum(transport, transport.pieces(field)), of[control].dtype)
    return shares
