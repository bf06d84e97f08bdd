"""Accumulators of the states after each step: means, largest values, harmonic sums, series at points, drifters.

accumulator   the interface Accumulator; a run's list; derived fields in programs
fields        means; largest values, their times, and first arrivals; sums for harmonic constants
series        values at points
drifters      positions of floats that the current carries
"""

from .accumulator import NO_ACCUMULATORS, Accumulator, Accumulators
from .drifters import Drifters
from .fields import Extremes, Harmonics, Mean
from .series import Series

__all__ = ["NO_ACCUMULATORS", "Accumulator", "Accumulators", "Drifters", "Extremes", "Harmonics", "Mean", "Series"]
