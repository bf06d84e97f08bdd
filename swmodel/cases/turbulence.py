"""Decaying turbulence: random eddies merge into fewer and larger ones.

Physics: a doubly periodic f plane is full of eddies of random phases, all about the same size and in geostrophic
balance. Energy hardly decays and moves to larger scales; enstrophy moves to smaller ones, where biharmonic viscosity
takes it up.

Reference: McWilliams, J. C. (1984), The emergence of isolated coherent vortices in turbulent flow, J. Fluid Mech. 146,
21-43.

Cost: 54 000 steps of 65 536 cells: one to two minutes.

Command: swmodel run turbulence

Known answer: the initial flow has no divergence and the mean square speed is speed² exactly, on the grid and for any
seed; `spectrum` is its energy. Values do not depend on how the grid is divided: phases come from the generator
Philox, keyed by the seed, and the sine of every point from a table of the whole ring. In the run energy decays,
enstrophy decays faster, and the mean scale grows.
"""

from typing import NamedTuple

import numpy as np

from ..config.model import Case, option


class Turbulence(Case):
    speed: float = option(0.5, "m s-1", "root-mean-square speed of the initial flow", ge=0)
    wavenumber: float = option(10.0, "1", "wavelengths of the main eddies in the domain's longer side", ge=1, le=100)
    seed: int = option(1, "", "seed of the random phases", ge=0)

    kinds = ("plane",)

    defaults = {
        "grid": {"nx": 256, "ny": 256, "dx": 5e3, "dy": 5e3, "periodic_x": True, "periodic_y": True},
        "physics": {"gravity": 9.81, "depth": 100.0, "f0": 1e-4, "biharmonic_viscosity": 1e9},
        "scheme": {"vorticity_flux": "arakawa_lamb"},
        "time": {"stepper": "ab3", "cfl": 0.3},
        "run": {"days": 20.0},
        "output": {"every": 86400.0},
    }

    def eta(self, config, at):
        # The mean of psi over the corners of a cell balances u and v on the C-grid without error.
        w, grid, physics = waves(config), config.grid, config.physics
        mean = np.cos(np.pi * w.m / grid.nx) * np.cos(np.pi * w.n / grid.ny)
        level = w._replace(amplitude=physics.f0 / physics.gravity * mean * w.amplitude)
        return sum_of(level, grid, 2 * at.i + 1, 2 * at.j + 1)

    def u(self, config, at):
        w = waves(config)
        turned = w._replace(amplitude=w.slope_y * w.amplitude, phase=w.phase - np.pi / 2)
        return sum_of(turned, config.grid, 2 * at.i + 2, 2 * at.j + 1)

    def v(self, config, at):
        w = waves(config)
        turned = w._replace(amplitude=w.slope_x * w.amplitude, phase=w.phase + np.pi / 2)
        return sum_of(turned, config.grid, 2 * at.i + 1, 2 * at.j + 2)


class Waves(NamedTuple):
    """The plane waves A cos(k x + l y + phase) whose sum is the streamfunction, [waves in y, waves in x]."""

    m: np.ndarray  # wavelengths in the length of the domain, of either sign, [1, waves in x]
    n: np.ndarray  # wavelengths in the height of the domain, not negative, [waves in y, 1]
    slope_x: np.ndarray  # (2/dx) sin(pi m/nx), the wavenumber k as differences over one cell see it, m-1
    slope_y: np.ndarray  # (2/dy) sin(pi n/ny), the same for l, m-1
    energy: np.ndarray  # mean kinetic energy, m2 s-2
    amplitude: np.ndarray  # A, m2 s-1
    phase: np.ndarray  # 0 to 2 pi


def streamfunction(config, at):
    """psi at corners, m2 s-1, of which u = - d psi/dy and v = d psi/dx are differences over one cell."""
    return sum_of(waves(config), config.grid, 2 * at.i + 2, 2 * at.j + 2)


def wavenumbers(grid, m, n):
    """Wavelengths in the longer side of the domain, of waves with m in its length and n in its height."""
    longer = max(grid.nx * grid.dx, grid.ny * grid.dy)
    return np.hypot(m * longer / (grid.nx * grid.dx), n * longer / (grid.ny * grid.dy))


def waves(config) -> Waves:
    """The waves of the initial state: those that the grid resolves up to twice `wavenumber`.

    Energy is distributed as exp(-16 (K/wavenumber - 1)²) over the wavenumber K, evenly over directions, and its sum
    is speed²/2. The phase of a wave depends on the seed and on `wavenumber` only, so that a finer grid has the same
    eddies.
    """
    grid, strongest = config.grid, config.case.wavenumber
    most = int(2 * strongest)
    raw = np.random.Philox(key=config.case.seed).random_raw((most + 1) * (2 * most + 1)).reshape(most + 1, -1)
    M, N = min(most, (grid.nx - 1) // 2), min(most, (grid.ny - 1) // 2)
    m, n = np.arange(-M, M + 1)[None, :], np.arange(N + 1)[:, None]
    slope_x, slope_y = 2 / grid.dx * np.sin(np.pi * m / grid.nx), 2 / grid.dy * np.sin(np.pi * n / grid.ny)
    K, slope = wavenumbers(grid, m, n), np.hypot(slope_x, slope_y)
    half = (n > 0) | (m > 0)  # a wave and its opposite are one
    K, slope = np.where(half, K, 1.0), np.where(half, slope, 1.0)
    share = half * np.exp(-16 * (K / strongest - 1) ** 2) / K
    energy = 0.5 * config.case.speed**2 * share / max(share.sum(), np.finfo(float).tiny)
    phase = raw[: N + 1, most - M : most + M + 1] * (2 * np.pi / 2**64)
    return Waves(m, n, slope_x, slope_y, energy, 2 * np.sqrt(energy) / slope, phase)


def sum_of(w: Waves, grid, x, y):
    """Sum of A cos(k x + l y + phase), [rows, columns].

    The waves are added in the same order at every point, first in x, then in y; rows go by strips that stay in cache.

    Args:
        w: the waves.
        grid: section of the configuration.
        x, y: integers [1, columns] and [rows, 1], half cells from the south-western corner of the domain.
    """
    cos_x, sin_x = ring(grid.nx, w.m.T * x)
    cos_y, sin_y = ring(grid.ny, w.n.T * y)
    even, odd = np.zeros((2, w.n.size, x.size))
    for column, (c, s) in enumerate(zip(cos_x, sin_x, strict=True)):
        a = w.amplitude[:, column, None] * np.cos(w.phase[:, column, None])
        b = w.amplitude[:, column, None] * np.sin(w.phase[:, column, None])
        even += a * c - b * s
        odd += a * s + b * c
    total, strip = np.zeros((y.size, x.size)), 16
    for first in range(0, y.size, strip):
        rows = slice(first, first + strip)
        for row in range(w.n.size):
            total[rows] += cos_y[rows, row, None] * even[row] - sin_y[rows, row, None] * odd[row]
    return total


def ring(size, turns):
    """cos and sin of pi turns/size for integers, from a table of the whole ring: the same bits for any selection."""
    angles = np.arange(2 * size) * (np.pi / size)
    turns = turns % (2 * size)
    return np.cos(angles)[turns], np.sin(angles)[turns]


def spectrum(config):
    """Initial kinetic energy by wavenumber.

    Returns:
        K = 1, 2, ... in wavelengths per longer side of the domain, and the mean kinetic energy of the waves within
        K - 1/2 to K + 1/2, m2 s-2.
    """
    w = waves(config)
    return energy_by_wavenumber(wavenumbers(config.grid, w.m, w.n), w.energy)


def energy_by_wavenumber(K, energy):
    """Sum of the energy of waves of wavenumbers K within 1/2 of 1, 2, ...; returns those and the sums."""
    sums = np.bincount(np.rint(K).astype(int).ravel(), weights=np.ravel(energy))
    return np.arange(1, sums.size), sums[1:]
