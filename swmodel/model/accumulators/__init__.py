"""Accumulators of the states after each step: means, largest values, harmonic sums, series at points, drifters."""

from .accumulator import NO_ACCUMULATORS, Accumulator, Accumulators
from .drifters import Drifters
from .fields import Extremes, Harmonics, Mean
from .series import Series

__all__ = ["NO_ACCUMULATORS", "Accumulator", "Accumulators", "Drifters", "Extremes", "Harmonics", "Mean", "Series"]
