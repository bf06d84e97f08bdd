"""A trajectory swept forward, and backward according to its Plan."""

from __future__ import annotations

import math
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from checkpoint_schedules import Copy, Forward, Move, Reverse

from ..parallel.fixed_point import FixedPoint
from .plan import Plan
from .sweeps import Sweeps

#: Most numbers that `FixedPoint` adds in a call.
MOST = 2**19


def series_of(sweeps: Sweeps, x, fixed):
    """What is observed of the trajectory from the controls x, a pytree [samples, ...]."""
    carry, active = sweeps.start(x, fixed)
    series = sweeps.blank(carry, active, fixed)
    carry, series = sweeps.forward(carry, active, series, jnp.int32(0), jnp.int32(sweeps.steps), fixed)
    return sweeps.observe_last(carry, active, series, fixed)


def pull_back(sweeps: Sweeps, plan: Plan, x, fixed, respond: Callable):
    """The answer of `respond` to the series, and the cotangents of the controls x.

    Args:
        respond: function of the series that returns (an answer, the cotangents of the series).
    """
    carry, active = sweeps.start(x, fixed)
    series = sweeps.blank(carry, active, fixed)
    kept, stack, cotangents, answer = {}, None, None, None

    def bounds(first: int, last: int):
        return tuple(jnp.int32(plan.step(n)) for n in (first, last))

    for action in plan.actions():
        if isinstance(action, Forward):
            span, fresh = bounds(action.n0, action.n1), cotangents is None
            if action.write_ics:
                kept[action.n0] = carry
            if action.write_adj_deps:
                stack, carry, series = sweeps.record(carry, active, series, *span, fresh, fixed, plan.length)
            elif fresh:
                carry, series = sweeps.forward(carry, active, series, *span, fixed)
            else:
                carry = sweeps.advance(carry, active, *span, fixed)
        elif isinstance(action, Copy | Move):
            carry = kept[action.n] if isinstance(action, Copy) else kept.pop(action.n)
        elif isinstance(action, Reverse):
            if cotangents is None:
                series = sweeps.observe_last(carry, active, series, fixed)
                answer, series_bar = respond(series)
                cotangents = sweeps.seed(carry, active, series_bar, fixed)
            cotangents = sweeps.pull(stack, active, cotangents, series_bar, *bounds(action.n0, action.n1), fixed)
            stack = None
    return answer, with_sums(sweeps.transport, sweeps.finish(x, cotangents, fixed), cotangents.spread)


def with_sums(transport, shares, spread: dict):
    """The cotangents of controls; those of numbers, spread over the cells, are summed and added."""
    parts = shares if isinstance(shares, tuple) else (shares,)
    for name, field in spread.items():
        of, control = parts[name.startswith("d.")], name.removeprefix("d.")
        of[control] = of[control] + jnp.asarray(exact_sum(transport, field), of[control].dtype)
    return shares


def exact_sum(transport, field) -> float:
    """The sum of a field over all cells, with the same bits on every layout; NaN if a value is not finite."""
    pieces = [np.asarray(piece, np.float64) for piece in transport.pieces(field)]
    if transport.any(not all(np.isfinite(piece).all() for piece in pieces)):
        return math.nan
    sums = FixedPoint(float(transport.reduce(np.max([np.abs(piece).max() for piece in pieces]), "max")))
    parts = np.zeros(2, np.int64)
    for piece in pieces:
        for strip in np.array_split(piece.ravel(), 1 + piece.size // MOST):
            parts += sums.pieces(strip)
    return sums.value(transport.reduce(parts, "sum"))
