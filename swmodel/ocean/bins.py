"""Sums of numbers in bins, over all processes, with the same bits on any layout."""

from __future__ import annotations

import numpy as np

from ..parallel.fixed_point import FixedPoint

#: Most numbers that are added in float64: the sum of their high pieces is then exact (FixedPoint).
TOGETHER = 1 << 19


def sums_in_bins(numbers, bins, count: int, transport) -> np.ndarray:
    """Sums in fixed point, one for each bin; NaN if one of its numbers is not finite.

    Args:
        numbers: arrays [sums, ...] of each block of this process.
        bins: arrays [...] of each block: the number of each number's bin, below `count`.
        count: number of bins.
        transport: called by all processes together.

    Returns:
        Array [sums, count], float64, the same on every process.
    """
    flat = [values.reshape(len(values), -1) for values in numbers]
    places = [where.ravel() for where in bins]
    bounds = np.zeros((len(flat[0]), count))
    for values, where in zip(flat, places, strict=True):
        for row, bound in zip(values, bounds, strict=True):
            np.maximum.at(bound, where, np.where(np.isfinite(row), np.abs(row), np.inf))
    scales = [[FixedPoint(bound) for bound in row] for row in transport.reduce(bounds, "max")]
    pieces = np.zeros((2, *bounds.shape), np.int64)
    for values, where in zip(flat, places, strict=True):
        for row, (summands, scale) in enumerate(zip(values, scales, strict=True)):
            exponents = np.array([each.exponent for each in scale], np.int32)
            for first in range(0, where.size, TOGETHER):
                some = slice(first, first + TOGETHER)
                pieces[:, row] += pieces_in_bins(summands[some], where[some], exponents)
    pieces = transport.reduce(pieces, "sum")
    return np.array(
        [
            [scale.value(pieces[:, row, place]) for place, scale in enumerate(of_row)]
            for row, of_row in enumerate(scales)
        ]
    ).reshape(bounds.shape)


def pieces_in_bins(numbers, places, exponents) -> list[np.ndarray]:
    """The sums of the numbers' high and low pieces in each bin, as in `FixedPoint.pieces`."""
    scaled = np.ldexp(np.where(np.isfinite(numbers), numbers, 0.0), FixedPoint.BITS - exponents[places])
    high = np.rint(scaled)
    low = np.rint((scaled - high) * 2.0**FixedPoint.BITS)
    return [np.bincount(places, weights=each, minlength=len(exponents)).astype(np.int64) for each in (high, low)]
