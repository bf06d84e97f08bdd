"""Sums over cells and processes that have the same bits in any order and on any layout."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .transport.transport import Transport


class FixedPoint:
    """Integer sums of numbers that are rounded to multiples of 2^-66 times a power of two above `bound`.

    Each number is split into two pieces of BITS bits, with the same rounding on every process; sums of pieces are
    exact. Numbers larger than 2^-12 times the bound are not rounded, and smaller ones change by at most 2^-65 times the
    bound. If the bound is below 2^-962, numbers change by at most 2^-1027. A sum too large for a float is infinite.
    Apart from rounding, no number may be larger than the bound in magnitude. Without a finite bound the sum is NaN.
    """

    BITS = 33
    MAX_NUMBERS = 2**19  # largest count of numbers in a call, so small that sums of their pieces are exact in float64
    MIN_EXPONENT = -960  # of the power of two; with one below -990, scaling would overflow

    def __init__(self, bound: float):
        self.is_valid = math.isfinite(bound)
        self.exponent = max(math.frexp(bound)[1] + 1, self.MIN_EXPONENT) if self.is_valid and bound else 0

    def high_and_low_sums(self, numbers: np.ndarray) -> tuple[int, int]:
        """The sums of the numbers' high and low pieces, which can be added over calls and processes.

        A call takes at most MAX_NUMBERS numbers, so that sums in float64 are exact; int64 allows 2^29 numbers in all.
        """
        if not self.is_valid:
            return 0, 0
        scaled = numbers * 2.0 ** (self.BITS - self.exponent)
        high = np.rint(scaled)
        low = np.rint((scaled - high) * 2.0**self.BITS)
        return int(high.sum()), int(low.sum())

    def value(self, sums) -> float:
        """The sum, rounded once, from its pieces added over all processes."""
        if not self.is_valid:
            return math.nan
        high, low = map(int, sums)
        total = float((high << self.BITS) + low)
        try:
            return math.ldexp(total, self.exponent - 2 * self.BITS)
        except OverflowError:
            return math.copysign(math.inf, total)


def exact_sum(transport: Transport, arrays: Iterable[np.ndarray]) -> float:
    """The sum of all numbers in the arrays of all processes; NaN if a number is not finite.

    All processes call this function together and get the same bits.
    """
    arrays = [np.asarray(array, np.float64).ravel() for array in arrays]
    local = np.max([np.abs(array).max(initial=0.0) for array in arrays], initial=0.0)
    is_finite = np.isfinite(local)
    largest, has_nonfinite = transport.reduce(np.array([local if is_finite else 0.0, not is_finite]), "max")
    fixed_point, sums = FixedPoint(math.nan if has_nonfinite else float(largest)), np.zeros(2, np.int64)
    for array in arrays:
        for first in range(0, array.size, FixedPoint.MAX_NUMBERS):
            sums += fixed_point.high_and_low_sums(array[first : first + FixedPoint.MAX_NUMBERS])
    return fixed_point.value(transport.reduce(sums, "sum"))


def inner_product(transport: Transport, pairs: Iterable[tuple]) -> float:
    """The sum of products a * b of pairs of arrays over all processes, which call this function together.

    Arrays with fewer than two axes are the same on all processes and count once.
    """
    counted_pairs = (pair for pair in pairs if np.ndim(pair[0]) > 1 or transport.rank == 0)
    return exact_sum(transport, (np.asarray(a, np.float64) * np.asarray(b, np.float64) for a, b in counted_pairs))


def exact_product(a: np.ndarray, b: np.ndarray, bounds: tuple[float, float]) -> np.ndarray:
    """The matrix product a @ b; an element has the same bits if only some rows or columns are computed.

    `bounds`: upper bounds of the magnitudes in a and in b, the same for all parts of a product. Each number is split
    into three integers with so few bits that sums of their products are exact in float64. With up to 2^17 columns of a,
    the error of a product of two numbers is at most 2^-48 times the product of the bounds.
    """
    bits, scale, pieces_of_factors = (53 - a.shape[1].bit_length()) // 2, 1.0, []
    for factor, bound in zip((a, b), bounds, strict=True):
        unit, pieces = 2.0 ** math.frexp(bound)[1], []
        rest = factor / unit
        for _ in range(3):
            rest = rest * 2.0**bits
            pieces.append(np.rint(rest))
            rest -= pieces[-1]
        pieces_of_factors.append(pieces)
        scale *= unit
    total = np.zeros((len(a), b.shape[1]))
    for order in (2, 1, 0):  # the smallest products first; those of higher order are part of the error
        for i in range(order + 1):
            total += pieces_of_factors[0][i] @ pieces_of_factors[1][order - i] * (scale * 2.0 ** (-(order + 2) * bits))
    return total
