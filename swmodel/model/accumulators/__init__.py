"""Accumulators of the states after each step: means, largest values, harmonic sums, series at points, drifters."""

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
