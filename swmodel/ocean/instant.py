"""A time in a run, counted in integers, so that time-dependent forcing has the same bits after any restart."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from .patch import Patch

WORD_BITS = 32
HALF_WORD_BITS = 16


class Instant(NamedTuple):
    """`step` whole time steps and the fraction `stage` of one: the time of a tendency is (step + stage) dt."""

    step: Any  # int32
    stage: float = 0.0


class PhaseIncrement(NamedTuple):
    """A time step as a fraction of a period, in fixed point: (high + low / 2^32) / 2^32; uint32 [1, 1]."""

    high: Any
    low: Any


def phase_increment(dt: float, period: float) -> PhaseIncrement:
    """The PhaseIncrement of a time step dt in a period, both in s."""
    fraction = Fraction(dt) / Fraction(period)
    fixed_point = round(fraction * 2 ** (2 * WORD_BITS)) % 2 ** (2 * WORD_BITS)
    return PhaseIncrement(
        *(np.full((1, 1), word, np.uint32) for word in (fixed_point >> WORD_BITS, fixed_point % 2**WORD_BITS))
    )


def phase_angle(increment: PhaseIncrement, now: Instant, dtype):
    """2 pi times the elapsed fraction of the period at an Instant, in `dtype`, without whole periods before its step.

    step (high + low / 2^32) is reduced modulo one period in integers, so that no precision is lost after many steps.
    """
    step, increment = now.step.astype(np.uint32), PhaseIncrement(*(word.astype(np.uint32) for word in increment))
    high = step * increment.high + high_word(step, increment.low)
    low = step * increment.low
    elapsed = high.astype(dtype) * dtype.type(2.0**-WORD_BITS) + low.astype(dtype) * dtype.type(2.0 ** (-2 * WORD_BITS))
    if now.stage:
        elapsed = elapsed + increment.high.astype(dtype) * dtype.type(now.stage * 2.0**-WORD_BITS)
        elapsed = elapsed + increment.low.astype(dtype) * dtype.type(now.stage * 2.0 ** (-2 * WORD_BITS))
    return elapsed * dtype.type(2 * math.pi)


def phase_cosine_and_sine(high: Patch, low: Patch, now: Instant, dtype) -> tuple:
    """Cosine and sine of the `phase_angle` of a PhaseIncrement in the params."""
    angle = phase_angle(PhaseIncrement(high.values, low.values), now, dtype)
    xp = angle.__array_namespace__()
    return xp.cos(angle), xp.sin(angle)


def high_word(a, b):
    """The upper 32 bits of the product of two uint32."""
    mask = np.uint32(2**HALF_WORD_BITS - 1)
    a_high, a_low, b_high, b_low = a >> HALF_WORD_BITS, a & mask, b >> HALF_WORD_BITS, b & mask
    middle = a_high * b_low + (a_low * b_low >> HALF_WORD_BITS)
    other = a_low * b_high + (middle & mask)
    return a_high * b_high + (middle >> HALF_WORD_BITS) + (other >> HALF_WORD_BITS)
