"""Smoothing by Fourier transforms: the square root of a Gaussian correlation operator in seas without land.

F multiplies a wave of wavenumbers (k, l) by exp(-(k² + l²) L² / 4), so that F F has the spectrum of

    c(r) = exp(-r² / (2 L²)),

plus its mirror images beyond walls: with the same sign if the field's points lie next to the wall, with the opposite
sign if they lie on it. F is linear and its own transpose, because its waves are orthogonal. Smoothed white noise has
the variance

    diag(F²) = sum over k, l of exp(-(k² + l²) L² / 2) (the wave, of norm 1, at the point)²,

a sum along y times a sum along x. So the diagonal of C = N F F N is exactly 1, even at walls.

Reference: Courtier et al. (1998), The ECMWF implementation of three-dimensional variational assimilation, Q. J. R.
Meteorol. Soc. 124, 1783-1807.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import jax.numpy as jnp
import numpy as np

from ..ocean.random_flow import cosine_and_sine
from ..parallel.fourier import Fourier

if TYPE_CHECKING:
    from ..config.options.grid import GridOptions
    from ..parallel.transport.transport import Transport


class SpectralFilters(NamedTuple):
    """F for several fields, each with its location and its L in m; `grid`: the section [grid] of the configuration."""

    locations_and_lengths: tuple[tuple[str, float], ...]
    grid: GridOptions

    def smooth(self, fields, transport: Transport):
        """F of the fields [fields, ny, nx] of a block, not normalised; for use in a jitted program."""
        return jnp.stack(
            [
                self._smooth_field(field, location, length, transport)
                for field, (location, length) in zip(fields, self.locations_and_lengths, strict=True)
            ]
        )

    def _smooth_field(self, field, location: str, length: float, transport: Transport):
        fourier = make_fourier(location, self.grid, transport)
        wavenumbers = fourier.wavenumbers(self.grid.dy, self.grid.dx)
        along_y, along_x = (np.exp(-((0.5 * length * k) ** 2)).astype(field.dtype) for k in wavenumbers)
        coefficients = fourier.forward(field)
        factor = jnp.asarray(along_y[:, None]) * fourier.block_part(along_x[None])
        return fourier.backward(coefficients * factor.astype(coefficients.dtype))


def make_fourier(location: str, grid, transport: Transport) -> Fourier:
    """The Fourier transforms of fields at a location. UsageError: there are more blocks than lines."""
    return Fourier.for_location(transport, location, (grid.periodic_y, grid.periodic_x))


def variance(location: str, length: float, grid, transport: Transport) -> np.ndarray:
    """diag(F²) on this process's block, [ny, nx], float64; positive everywhere, but without meaning on walls."""
    fourier, sizes = make_fourier(location, grid, transport), (grid.dy, grid.dx)
    spans = transport.block.y, transport.block.x
    axis_variances = [
        axis_variance(kind, size, span, length)
        for kind, size, span in zip((fourier.kind_y, fourier.kind_x), sizes, spans, strict=True)
    ]
    return np.maximum(axis_variances[0][:, None] * axis_variances[1], np.finfo(float).tiny)


def axis_variance(kind: str, size: float, span, length: float) -> np.ndarray:
    """The factor of diag(F²) along one axis, at the cells of a span; `size`: length of a cell, m.

    Every cell sums in the same order, so that the bits do not depend on the layout.
    """
    n, cells = span.axis_size, np.arange(span.start, span.stop)
    total = np.zeros(cells.size)
    for m in range(n):
        k = np.pi * m / (n * size)
        if kind == "periodic":
            k, square = 2 * np.pi * min(m, n - m) / (n * size), 1 / n
        elif kind == "cosine":
            square = cosine_and_sine(4 * n, m * (2 * cells + 1))[0] ** 2 * (2 if m else 1) / n
        else:
            square = cosine_and_sine(2 * n, m * (cells + 1))[1] ** 2 * 2 / n
        total += np.exp(-0.5 * (length * k) ** 2) * square
    return total
