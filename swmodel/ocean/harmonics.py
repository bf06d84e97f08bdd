"""Harmonic constants of a series by least squares: x(t) = mean + sum of f H cos(2 pi t / period + V + u - G).

The basis functions are 1, and f cos and f sin for each constituent; memory holds only sums of their products with the
series. H is the amplitude, G the phase lag behind Greenwich.

Reference: Foreman, M. G. G. (1977), Manual for tidal heights analysis and prediction, Pac. Mar. Sci. Rep. 77-10.
"""

from __future__ import annotations

import numpy as np

from .constituents import Constituent
from .instant import WORD, turns_of

#: Most steps whose basis functions are in memory at a time.
CHUNK = 2**16


def basis(constituents: list[Constituent], dt: float, steps) -> np.ndarray:
    """The basis functions after the given numbers of steps, [2 constituents + 1, steps] float64.

    Phases are counted in integers, without loss of precision after many steps.
    """
    steps = np.asarray(steps, np.uint64)
    found = [np.ones(steps.shape)]
    for each in constituents:
        high, low = (word.astype(np.uint64) for word in turns_of(dt, each.period))
        passed = steps * ((high << np.uint64(WORD)) | low)[0, 0]
        phase = 2 * np.pi * (passed * 2.0 ** (-2 * WORD)) + each.phase
        found += [each.factor * np.cos(phase), each.factor * np.sin(phase)]
    return np.array(found)


def normal_matrix(constituents: list[Constituent], dt: float, steps: range) -> np.ndarray:
    """Sums over the steps of the products of the basis functions with each other."""
    size = 2 * len(constituents) + 1
    total = np.zeros((size, size))
    for first in range(0, len(steps), CHUNK):
        part = basis(constituents, dt, steps[first : first + CHUNK])
        total += part @ part.T
    return total


def constants(matrix: np.ndarray, sums: np.ndarray) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """The mean, and amplitude H and phase lag G in degrees, within [0, 360), of each constituent.

    `matrix` is the normal matrix, `sums` the sums of basis functions times the series, [basis functions, ...].
    """
    flat = np.linalg.solve(matrix, sums.reshape(len(matrix), -1).astype(np.float64))
    mean, *parts = flat.reshape(sums.shape)
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return mean, [(np.hypot(a, b), np.degrees(np.arctan2(b, a)) % 360) for a, b in pairs]


def too_close(constituents: list[Constituent], seconds: float) -> list[tuple[str, str, float]]:
    """Pairs of constituents that a series of this length cannot separate, and the length that they need, s.

    Rayleigh's criterion: their frequencies differ by less than one cycle in the series. The mean counts, too.
    """
    known = [("the mean", 0.0), *((each.name, each.frequency) for each in constituents)]
    found = []
    for number, (one, frequency) in enumerate(known):
        for other, beside in known[number + 1 :]:
            apart = abs(frequency - beside)
            if apart * seconds < 1:
                found.append((other, one, 1 / apart if apart else np.inf))
    return found
