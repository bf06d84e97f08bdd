"""The axes of spectra: wavenumbers of a sea."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

#: The axes, as endings of the names of quantities and dimensions: the size of the wavenumber, its part in x, and in y.
ALONG = {"": "", "_x": " in x", "_y": " in y"}


class Axis(NamedTuple):
    """Wavenumbers 0, step, 2 step, ..., rad m-1."""

    count: int
    step: float
    whole: int  # number of the last one that the grid resolves in every direction

    @property
    def wavenumbers(self) -> np.ndarray:
        """All wavenumbers of the axis."""
        return self.step * np.arange(self.count)


def ring_of(ratio):
    """The number of the ring nearest to a wavenumber divided by the spacing of rings; of two equally near, the larger.

    Rounding does not decide between two that are equally near.
    """
    return np.floor(ratio + (0.5 + 1e-9)).astype(np.intp)


def axes_of(grid) -> dict[str, Axis]:
    """The axes of the spectra of a sea, by ALONG.

    In x and y they are the wavenumbers of the waves: multiples of 2 pi / length on a ring, of pi / length between
    walls. The rings around zero are as wide as the larger of these steps; the last ones lie in the corners of the
    plane.

    Args:
        grid: section [grid] of the configuration.
    """
    found = {}
    for letter, cells, size, periodic in (
        ("_x", grid.nx, grid.dx, grid.periodic_x),
        ("_y", grid.ny, grid.dy, grid.periodic_y),
    ):
        count = cells // 2 + 1 if periodic else cells
        found[letter] = Axis(count, (2 if periodic else 1) * np.pi / (cells * size), count - 1)
    several = [axis for axis in found.values() if axis.count > 1] or [found["_x"]]
    step = max(axis.step for axis in several)
    ends = [axis.step * (axis.count - 1) for axis in several]
    whole = int(min(ends) / step - 0.5 + 1e-9)
    return {"": Axis(int(ring_of(np.sqrt(sum(end**2 for end in ends)) / step)) + 1, step, max(whole, 0))} | found
