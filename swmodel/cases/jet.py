"""The published benchmark: a barotropic jet in a channel that rolls up into eddies within ten model days.

Physics: a Gaussian jet of 10 m/s, 36 km wide, in geostrophic balance on a beta plane, in a channel 1800 km long with
walls in the south and in the north, 100 m deep, with a small wave to start the instability. Lateral viscosity 5 m2 s-1.

Reference: the shallow-water example of mpi4jax (Haefner and Vicentini 2021, J. Open Source Softw. 6, 3419), which
measures 770 s with NumPy and 16 s on 16 processes for 500 steps at 3600 x 1800. That code takes differences of v - u in
the friction of v, an error; here the friction of v is that of v.

Cost: 43 000 steps of 64 800 cells for the ten days: under a minute. The published size is
`-s grid.nx=3600 -s grid.ny=1800 --days 0.1`.

Command: swmodel run jet --nproc 2

Known answer: the thickness balances the jet, g dh/dy = - f u, so that a jet without the wave stays as it is except for
friction.
"""

import math

import numpy as np

from ..config.options.case import Case, option
from ..errors import ConfigError
from ..ocean.coordinates import points


class Jet(Case):
    speed: float = option(10.0, "m s-1", "speed of the jet")
    width: float = option(0.02, "1", "half-width of the jet as a part of the channel's length", gt=0)
    perturbation: float = option(0.2, "m", "height of the wave that starts the instability")

    kinds = ("plane",)

    defaults = {
        "grid": {"nx": 360, "ny": 180, "dx": 5e3, "dy": 5e3, "origin": "centre"},
        "physics": {"gravity": 9.81, "depth": 100.0, "f0": 2e-4, "beta": 2e-11, "viscosity": 5.0},
        "time": {"stepper": "ab2", "dt": 0.125 * 5e3 / math.sqrt(9.81 * 100.0)},
        "run": {"days": 10.0},
        "output": {"every": 86400.0},
    }

    def eta(self, config, at):
        return balance(config)[at.j % config.grid.ny, 0] + wave(config, at)

    def u(self, config, at):
        return jet(config, at.y)


def jet(config, y):
    """u = speed exp(-(y - Ly/2)² / (width Lx)²)."""
    Lx, Ly = lengths(config)
    return config.case.speed * np.exp(-(((y - Ly / 2) / (config.case.width * Lx)) ** 2))


def balance(config):
    """Sea level in balance with the jet, for every row, m: sum from the south of -dy u f / g, less its mean."""
    grid, physics = config.grid, config.physics
    y = points(grid, "centre", range(grid.ny), range(1)).y
    slope = -(physics.f0 + physics.beta * y) * jet(config, y) / physics.gravity
    level = np.cumsum(slope * grid.dy, axis=0)
    return level - level.mean()


def wave(config, at):
    """The wave that starts the instability: perturbation sin(10 pi x/Lx) cos(8 pi y/Ly)."""
    Lx, Ly = lengths(config)
    return config.case.perturbation * np.sin(10 * np.pi * at.x / Lx) * np.cos(8 * np.pi * at.y / Ly)


def lengths(config):
    """Lx, Ly of the formulas: from the first to the last centre, m."""
    grid = config.grid
    if min(grid.nx, grid.ny) < 2:
        raise ConfigError([f"grid: the jet needs at least 2 x 2 cells, not {grid.nx} x {grid.ny}"])
    return (grid.nx - 1) * grid.dx, (grid.ny - 1) * grid.dy
