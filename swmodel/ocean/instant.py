"""A moment of a run, counted in integers: forcing that varies in time has the same bits after any restart."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

WORD = 32
HALF = 16


class Instant(NamedTuple):
    """`step` whole time steps and the fraction `stage` of one: the time of a tendency is (step + stage) dt."""

    step: Any  # int32
    stage: float = 0.0


class PhaseIncrement(NamedTuple):
    """A time step as a fraction of a period, in fixed point: (high + low / 2^32) / 2^32; uint32 [1, 1]."""

    high: Any
    low: Any


def turns_of(dt: float, period: float) -> PhaseIncrement:
    """The PhaseIncrement of a time step dt in a period, both in s."""
    fraction = Fraction(dt) / Fraction(period)
    whole = round(fraction * 2 ** (2 * WORD)) % 2 ** (2 * WORD)
    return PhaseIncrement(*(np.full((1, 1), word, np.uint32) for word in (whole >> WORD, whole % 2**WORD)))


def angle(turns: PhaseIncrement, now: Instant, dtype):
    """2 pi times the elapsed fraction of the period at an Instant, in [0, 2 pi) except for rounding, in `dtype`.

    step (high + low / 2^32) is reduced modulo one turn in integers, without loss of precision after many steps.
    """
    step, turns = now.step.astype(np.uint32), PhaseIncrement(*(word.astype(np.uint32) for word in turns))
    high = step * turns.high + high_word(step, turns.low)
    low = step * turns.low
    passed = high.astype(dtype) * dtype.type(2.0**-WORD) + low.astype(dtype) * dtype.type(2.0 ** (-2 * WORD))
    if now.stage:
        passed = passed + turns.high.astype(dtype) * dtype.type(now.stage * 2.0**-WORD)
        passed = passed + turns.low.astype(dtype) * dtype.type(now.stage * 2.0 ** (-2 * WORD))
    return passed * dtype.type(2 * math.pi)


def high_word(a, b):
    """The upper 32 bits of the product of two uint32."""
    mask = np.uint32(2**HALF - 1)
    a_high, a_low, b_high, b_low = a >> HALF, a & mask, b >> HALF, b & mask
    middle = a_high * b_low + (a_low * b_low >> HALF)
    other = a_low * b_high + (middle & mask)
    return a_high * b_high + (middle >> HALF) + (other >> HALF)
