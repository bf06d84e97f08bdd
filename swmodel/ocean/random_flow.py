"""Random flows without divergence, with a given spectrum, in balance with their sea level; for seas without land.

The streamfunction is a sum of plane waves of random amplitudes. Along an axis with walls it is odd about both walls:
the sea and its mirror image form a periodic axis of twice as many cells. Each bin of wavenumbers has exactly the energy
of the spectrum. Waves are numbered by how often they fit into the periodic axes, so a finer grid has the same eddies.
They are added in the same order at every point, so any block has the same bits.

All operators are those of the C-grid: a difference of neighbours over dx multiplies a wave by (e^(i theta) - 1) / dx,
where theta is its phase difference between neighbours. Products of waves are computed on the coarsest sufficient grid.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from ..config.options.grid import GridOptions

#: The numbers of the axes.
Y, X = 0, 1
#: The other neighbour of means and differences: the next one, as in operators.mx_f, or the one before, as in mx_c.
F, C = 1, -1
#: Rows summed at a time, few enough for the cache.
STRIP_ROWS = 16


class PeriodicAxis(NamedTuple):
    """The periodic axis of the waves: twice the domain if it has walls."""

    n_cells: int
    size: float  # size of a cell, m
    has_walls: bool


@dataclass(frozen=True, eq=False)
class Waves:
    """A real field on the C-grid: the sum of a e^(i (theta_y j + theta_x i)), theta = 2 pi number / cells of the axis.

    j, i are the row and column of the point's cell at any location.
    """

    a: np.ndarray  # amplitudes [waves in y, waves in x], complex
    numbers: tuple[np.ndarray, ...]  # numbers of waves along the periodic axes, in y and in x
    periodic_axes: tuple[PeriodicAxis, ...]  # in y and in x

    def phase_factor(self, axis: int, side: int) -> np.ndarray:
        """e^(i theta) to the next cell (F) or the one before (C), which broadcasts to `a`."""
        theta = 2 * np.pi / self.periodic_axes[axis].n_cells * self.numbers[axis]
        return np.expand_dims(np.exp(1j * side * theta), 1 - axis)

    def shift(self, axis: int, side: int) -> Waves:
        """The values of the next cell, or of the one before."""
        return replace(self, a=self.a * self.phase_factor(axis, side))

    def mean(self, axis: int, side: int) -> Waves:
        return replace(self, a=self.a * (1 + self.phase_factor(axis, side)) / 2)

    def slope(self, axis: int, side: int) -> Waves:
        """The difference of neighbours divided by the size of a cell."""
        return replace(self, a=self.a * (self.phase_factor(axis, side) - 1) * (side / self.periodic_axes[axis].size))

    def __add__(self, other: Waves) -> Waves:
        return replace(self, a=self.a + other.a)

    def __sub__(self, other: Waves) -> Waves:
        return replace(self, a=self.a - other.a)

    def scale(self, factor) -> Waves:
        return replace(self, a=self.a * factor)

    def product(self, other: Waves) -> Waves:
        """The product of two fields at the same points; waves too short for the grid are aliased to longer ones."""
        max_numbers = [max(np.abs(n).max() for n in pair) for pair in zip(self.numbers, other.numbers, strict=True)]
        points = [min(axis.n_cells, 4 * int(n) + 1) for axis, n in zip(self.periodic_axes, max_numbers, strict=True)]
        values = self.sample_domain(points) * other.sample_domain(points)
        numbers = (np.rint(np.fft.fftfreq(n, 1 / n)).astype(int) for n in points)
        return Waves(np.fft.fft2(values, norm="forward"), tuple(numbers), self.periodic_axes)

    def sample_domain(self, points) -> np.ndarray:
        """The values at this many points along the periodic axes."""
        a = np.zeros(points, complex)
        a[np.ix_(*(n % size for n, size in zip(self.numbers, points, strict=True)))] = self.a
        return np.fft.ifft2(a, norm="forward").real

    def evaluate(self, rows, columns) -> np.ndarray:
        """The values [rows, columns], float64; the waves are added in the same order at every point, first in x."""
        (n, m), (y_axis, x_axis) = self.numbers, self.periodic_axes
        nyquist = 2 * np.abs(n) == y_axis.n_cells
        is_kept = (n >= 0) | nyquist  # the other waves are complex conjugates of these
        a = self.a[is_kept] * np.where((n > 0) & ~nyquist, 2.0, 1.0)[is_kept, None]
        cos_x, sin_x = cosine_and_sine(x_axis.n_cells, m[:, None] * columns)
        cos_y, sin_y = cosine_and_sine(y_axis.n_cells, n[is_kept] * rows[:, None])
        even, odd = np.zeros((2, len(a), len(columns)))
        for column, (c, s) in enumerate(zip(cos_x, sin_x, strict=True)):
            real, imaginary = a.real[:, column, None], a.imag[:, column, None]
            even += real * c - imaginary * s
            odd += real * s + imaginary * c
        total = np.zeros((len(rows), len(columns)))
        for first in range(0, len(rows), STRIP_ROWS):
            strip = slice(first, first + STRIP_ROWS)
            for row in range(len(a)):
                total[strip] += cos_y[strip, row, None] * even[row] - sin_y[strip, row, None] * odd[row]
        return total


@dataclass(frozen=True)
class EnergySpectrum:
    """Kinetic energy by wavenumber K, the number of waves along the domain's longer side.

    E = x³ / (1 + x^(3 - slope)) up to 4 K0, with x = K/K0; without a slope E = exp(-16 (x - 1)²) up to 2 K0.
    """

    peak: float  # the wavenumber K0 of the main eddies
    slope: float = 0.0  # exponent of E ~ K^slope beyond K0; 0: a narrow band

    @property
    def max_wavenumber(self) -> int:
        return int((4 if self.slope else 2) * self.peak)

    def __call__(self, K: np.ndarray) -> np.ndarray:
        x = K / self.peak
        return x**3 / (1 + x ** (3 - self.slope)) if self.slope else np.exp(-16 * (x - 1) ** 2)


@dataclass(frozen=True)
class RandomFlow:
    """A random flow, determined by its attributes: two with equal attributes are the same flow."""

    grid: GridOptions  # section [grid] of the configuration
    spectrum: EnergySpectrum  # of the kinetic energy
    speed: float  # root-mean-square speed, m s-1
    seed: int  # seed of the random numbers

    @cached_property
    def streamfunction(self) -> Waves:
        """psi at corners, m2 s-1; zero on walls."""
        grid = self.grid
        axes = (grid.ny, grid.dy, grid.periodic_y), (grid.nx, grid.dx, grid.periodic_x)
        periodic_axes = tuple(
            PeriodicAxis(cells if periodic else 2 * cells, size, not periodic) for cells, size, periodic in axes
        )
        longer_side = max(grid.nx * grid.dx, grid.ny * grid.dy)
        relative_lengths = [axis.n_cells * axis.size / longer_side for axis in periodic_axes]
        spectrum_numbers = [int(self.spectrum.max_wavenumber * length + 1e-6) for length in relative_lengths]
        real, imaginary = np.random.Generator(np.random.Philox(key=self.seed)).standard_normal(
            (2, *(2 * n + 1 for n in spectrum_numbers))
        )
        max_numbers = [min(n, (axis.n_cells - 1) // 2) for n, axis in zip(spectrum_numbers, periodic_axes, strict=True)]
        resolved = tuple(slice(n - m, n + m + 1) for n, m in zip(spectrum_numbers, max_numbers, strict=True))
        a = (real + 1j * imaginary)[resolved]
        a = a + a[::-1, ::-1].conj()
        for number, axis in enumerate(periodic_axes):
            a = a - np.flip(a, number) if axis.has_walls else a
        waves = Waves(a, tuple(np.arange(-n, n + 1) for n in max_numbers), periodic_axes)
        squared_slope = sum(np.abs(waves.slope(axis, F).a) ** 2 for axis in (Y, X))
        n, m = (numbers / length for numbers, length in zip(waves.numbers, relative_lengths, strict=True))
        radial_bins = np.rint(np.hypot(n[:, None], m[None, :])).astype(int)
        energy_in_bins = np.bincount(radial_bins.ravel(), weights=0.5 * squared_slope.ravel())
        energy = np.zeros(energy_in_bins.size)
        energy[1:] = np.where(energy_in_bins[1:] > 0, self.spectrum(np.arange(1, energy_in_bins.size)), 0.0)
        energy[self.spectrum.max_wavenumber + 1 :] = 0.0
        energy *= 0.5 * self.speed**2 / max(energy.sum(), np.finfo(float).tiny)
        scale = np.sqrt(np.divide(energy, energy_in_bins, out=np.zeros(energy_in_bins.size), where=energy_in_bins > 0))
        # Random phases refer to the south-western corner of the domain; corner (0, 0) is one cell north-east of it.
        return waves.scale(scale[radial_bins]).shift(Y, F).shift(X, F)

    @property
    def u(self) -> Waves:
        """- d psi/dy on east faces, m s-1."""
        return self.streamfunction.slope(Y, C).scale(-1)

    @property
    def v(self) -> Waves:
        """d psi/dx on north faces, m s-1."""
        return self.streamfunction.slope(X, C)

    def geostrophic_eta(self, f: float, gravity: float) -> Waves:
        """eta at centres in exact geostrophic balance on the C-grid, m: f/g times the mean of psi over the corners."""
        return self.streamfunction.mean(X, C).mean(Y, C).scale(f / gravity)

    @cached_property
    def nonlinear_balance(self) -> Waves:
        """The contribution to g eta that balances the advection of momentum, m2 s-2.

        It solves g div grad eta = div(zeta v, - zeta u) - div grad K, the divergence of the tendencies of u and v with
        the vorticity flux `energy` in water of uniform thickness. The contribution is even about walls.

        Reference: Bolin, B. (1955), Numerical forecasting with the barotropic model, Tellus 7, 27-49.
        """
        u, v = self.u, self.v
        zeta = v.slope(X, F) - u.slope(Y, F)
        flux = zeta.product(v.mean(X, F)).mean(Y, C), zeta.product(u.mean(Y, F)).mean(X, C)
        K = (u.product(u).mean(X, C) + v.product(v).mean(Y, C)).scale(0.5)
        accelerations = flux[0] - K.slope(X, F), flux[1].scale(-1) - K.slope(Y, F)
        divergence = accelerations[0].slope(X, C) + accelerations[1].slope(Y, C)
        eigenvalue = -sum(
            np.abs((divergence.phase_factor(axis, F) - 1) / divergence.periodic_axes[axis].size) ** 2 for axis in (Y, X)
        )
        is_zero = eigenvalue == 0
        return replace(divergence, a=np.where(is_zero, 0, divergence.a / np.where(is_zero, 1, eigenvalue)))


@lru_cache(maxsize=4)
def reuse_equal(flow: RandomFlow) -> RandomFlow:
    """The flow itself, or an equal one whose waves are already computed."""
    return flow


def cosine_and_sine(n_cells: int, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """cos and sin of 2 pi numbers / n_cells for integers, from one table, so that any selection has the same bits."""
    angles = np.arange(n_cells) * (2 * np.pi / n_cells)
    numbers = numbers % n_cells
    return np.cos(angles)[numbers], np.sin(angles)[numbers]
