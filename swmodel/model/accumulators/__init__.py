"""Summaries of a run's states, updated after each step: means, maxima, arrivals, harmonic sums, series, drifters."""

from .accumulator import NO_ACCUMULATORS, Accumulator, Accumulators
from .drifters import DrifterAccumulator
from .fields import ExtremesAccumulator, HarmonicsAccumulator, MeanAccumulator
from .series import SeriesAccumulator

__all__ = [
    "NO_ACCUMULATORS",
    "Accumulator",
    "Accumulators",
    "DrifterAccumulator",
    "ExtremesAccumulator",
    "HarmonicsAccumulator",
    "MeanAccumulator",
    "SeriesAccumulator",
]
