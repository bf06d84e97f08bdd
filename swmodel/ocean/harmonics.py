"""Harmonic constants of a series by least squares: x(t) = mean + sum of f H cos(2 pi t / period + V + u - G).

H is the amplitude and G the Greenwich phase lag. The basis functions are 1, and f cos and f sin of each constituent;
only the sums of their products with the series are kept in memory. f, V and u are those of `constituents`.

Reference: Foreman, M. G. G. (1977), Manual for tidal heights analysis and prediction, Pac. Mar. Sci. Rep. 77-10.
"""

from __future__ import annotations

import numpy as np

from .constituents import Constituent
from .instant import WORD_BITS, phase_increment

#: Largest number of steps whose basis functions are in memory at the same time.
MAX_STEPS_IN_MEMORY = 2**16


def basis_functions(constituents: list[Constituent], dt: float, steps) -> np.ndarray:
    """The basis functions after the given numbers of steps of dt, s: [2 len(constituents) + 1, len(steps)] float64.

    Phases are counted in integers, so that no precision is lost after many steps.
    """
    steps = np.asarray(steps, np.uint64)
    functions = [np.ones(steps.shape)]
    for constituent in constituents:
        high, low = (word.astype(np.uint64) for word in phase_increment(dt, constituent.period))
        elapsed = steps * ((high << np.uint64(WORD_BITS)) | low)[0, 0]
        phase = 2 * np.pi * (elapsed * 2.0 ** (-2 * WORD_BITS)) + constituent.phase
        functions += [constituent.nodal_factor * np.cos(phase), constituent.nodal_factor * np.sin(phase)]
    return np.array(functions)


def normal_matrix(constituents: list[Constituent], dt: float, steps: range) -> np.ndarray:
    """Sums over the steps of the products of all pairs of basis functions, [basis functions, basis functions]."""
    size = 2 * len(constituents) + 1
    total = np.zeros((size, size))
    for first in range(0, len(steps), MAX_STEPS_IN_MEMORY):
        part = basis_functions(constituents, dt, steps[first : first + MAX_STEPS_IN_MEMORY])
        total += part @ part.T
    return total


def harmonic_constants(matrix: np.ndarray, sums: np.ndarray) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """The mean [...], and amplitude H and phase lag G in degrees, from 0 to 360, of each constituent, both [...].

    `matrix` is the normal matrix, `sums` the sums of basis functions times the series, [basis functions, ...].
    """
    solution = np.linalg.solve(matrix, sums.reshape(len(matrix), -1).astype(np.float64))
    mean, *coefficients = solution.reshape(sums.shape)
    pairs = zip(coefficients[::2], coefficients[1::2], strict=True)
    return mean, [(np.hypot(a, b), np.degrees(np.arctan2(b, a)) % 360) for a, b in pairs]


def inseparable_pairs(constituents: list[Constituent], duration: float) -> list[tuple[str, str, float]]:
    """Pairs of constituents that a series of this duration, s, cannot separate, and the duration that they need, s.

    The criterion is Rayleigh's: the frequencies differ by less than one cycle over the series. The mean counts as
    frequency 0.
    """
    frequencies = [("the mean", 0.0), *((each.name, each.frequency) for each in constituents)]
    pairs = []
    for index, (name, frequency) in enumerate(frequencies):
        for other_name, other_frequency in frequencies[index + 1 :]:
            difference = abs(frequency - other_frequency)
            if difference * duration < 1:
                pairs.append((other_name, name, 1 / difference if difference else np.inf))
    return pairs
