"""Sums over cells and processes with the same bits in any order, on any layout."""

from __future__ import annotations

import math

import numpy as np


class FixedPoint:
    """Sums in integers: numbers become multiples of 2^-66 of a power of two above `bound`.

    Each number is split into two pieces of BITS bits, with the same rounding on every process; sums of pieces are
    exact. Numbers larger than 2^-12 of the bound are exact. Smaller ones lose at most 2^-65 of the bound, or 2^-1027
    with a bound below 2^-962. A sum too large for a float is infinite. No number may exceed the bound in size, apart
    from rounding.
    """

    BITS = 33
    LEAST_EXPONENT = -960  # of the power of two; with less, scaling would overflow

    def __init__(self, bound: float):
        self.valid = math.isfinite(bound)
        self.exponent = max(math.frexp(bound)[1] + 1, self.LEAST_EXPONENT) if self.valid and bound else 0

    def pieces(self, numbers: np.ndarray) -> tuple[int, int]:
        """The sums of the numbers' high and low pieces, which can be added over calls and processes.

        At most 2^19 numbers in a call, for exact sums in float64; at most 2^29 in all, for int64.
        """
        if not self.valid:
            return 0, 0
        scaled = numbers * 2.0 ** (self.BITS - self.exponent)
        high = np.rint(scaled)
        low = np.rint((scaled - high) * 2.0**self.BITS)
        return int(high.sum()), int(low.sum())

    def value(self, pieces) -> float:
        """The sum, rounded once, from its pieces added over all processes."""
        if not self.valid:
            return math.nan
        high, low = map(int, pieces)
        total = float((high << self.BITS) + low)
        try:
            return math.ldexp(total, self.exponent - 2 * self.BITS)
        except OverflowError:
            return math.copysign(math.inf, total)
