"""What the limits of colours are made of, for one field or for several, taken one after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: Part of the values, in per cent, that may lie beyond each end of the colours, so that a few extremes do not take all.
CLIPPED = 0.1

#: Extremes closer than this to the values that stay, as a part of their range, are not cut off.
FAR = 0.25


@dataclass(frozen=True)
class Span:
    """What limits of colours are made of, for one field or for several: all numbers are finite.

    Attributes:
        least, most: the extremes.
        low, high: the extremes, or percentiles where a few values lie far beyond them.
        size: the same upper end of the sizes, as of a field that is symmetric about zero.
        top: the same upper end of a field that is shown from zero on.
    """

    least: float
    most: float
    low: float
    high: float
    size: float
    top: float

    @classmethod
    def of(cls, field: np.ma.MaskedArray) -> Span:
        """That of a field; of one without values, that of zero."""
        values = field.compressed() if field.count() else np.zeros(1)
        low, high = np.percentile(values, (CLIPPED, 100 - CLIPPED))
        size = np.percentile(np.abs(values), 100 - CLIPPED)
        least, most, margin = float(values.min()), float(values.max()), FAR * (high - low)
        return cls(
            least=least,
            most=most,
            low=max(least, low - margin),
            high=min(most, high + margin),
            size=min(max(-least, most), (1 + FAR) * size),
            top=min(most, (1 + FAR) * high),
        )

    def __or__(self, other: Span | None) -> Span:
        """The span of both."""
        if other is None:
            return self
        lower = {name: min(getattr(self, name), getattr(other, name)) for name in ("least", "low")}
        upper = {name: max(getattr(self, name), getattr(other, name)) for name in ("most", "high", "size", "top")}
        return Span(**lower, **upper)

    def limits(self, signed: bool, positive: bool) -> tuple[float, float]:
        """Values at the ends of the colours: about zero, from zero on, or both as they are; never the same."""
        if signed:
            bound = self.size or 1.0
            return -bound, bound
        low, high = (0.0, self.top) if positive else (self.low, self.high)
        return (low, high) if low < high else (low if positive else low - 1.0, low + 1.0)
