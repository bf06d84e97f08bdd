"""A barotropic jet in a channel rolls up into eddies within ten model days.

Physics: a Gaussian jet of 10 m/s, with a half-width of 36 km, is in geostrophic balance on a beta plane. The channel is
1800 km long and 100 m deep, with walls in the south and in the north. A small wave triggers the instability. A lateral
viscosity of 100 m2 s-1 keeps vorticity smooth at the scale of the grid.

Reference: the shallow-water example of mpi4jax (Haefner and Vicentini 2021, J. Open Source Softw. 6, 3419). Its own
viscosity and time step are those of the case `published_jet`.

Cost: 20 480 steps on 64 800 cells for the ten days: eight seconds of processor time.

Theme: Eddies and gyres

Command: swmodel run jet -s output.every="6 h"

Plot: swmodel plot outputs/jet --field zeta --field eta
swmodel animate outputs/jet --field zeta

Verification: the thickness balances the jet, g dh/dy = - f u, to first order in the grid spacing. So a jet without the
wave is steady except for friction and this error, 0.4 % of the current in a day.
"""

import numpy as np

from ..config.options.case import Case, option
from ..errors import ConfigError
from ..ocean.coordinates import points


class Jet(Case):
    speed: float = option(10.0, "m s-1", "speed of the jet")
    width: float = option(0.02, "1", "half-width of the jet as a fraction of the channel's length", gt=0)
    perturbation: float = option(0.2, "m", "height of the wave that triggers the instability")

    grid_kinds = ("plane",)

    defaults = {
        "grid": {"nx": 360, "ny": 180, "dx": 5e3, "dy": 5e3, "origin": "centre"},
        "physics": {"gravity": 9.81, "depth": 100.0, "f0": 2e-4, "beta": 2e-11, "viscosity": 100.0},
        "run": {"days": 10.0},
        "output": {"every": 86400.0},
    }

    def eta(self, config, at):
        return balanced_level(config)[at.j % config.grid.ny, 0] + perturbation_wave(config, at)

    def u(self, config, at):
        return jet_velocity(config, at.y)


def jet_velocity(config, y):
    """u = speed exp(-(y - Ly/2)² / (width Lx)²), m s-1."""
    Lx, Ly = domain_lengths(config)
    return config.case.speed * np.exp(-(((y - Ly / 2) / (config.case.width * Lx)) ** 2))


def balanced_level(config):
    """Sea level in balance with the jet, m, for every row: the sum from the south of -dy u f / g, minus its mean."""
    grid, physics = config.grid, config.physics
    y = points(grid, "centre", range(grid.ny), range(1)).y
    slope = -(physics.f0 + physics.beta * y) * jet_velocity(config, y) / physics.gravity
    level = np.cumsum(slope * grid.dy, axis=0)
    return level - level.mean()


def perturbation_wave(config, at):
    """The wave that triggers the instability: perturbation sin(10 pi x/Lx) cos(8 pi y/Ly), m."""
    Lx, Ly = domain_lengths(config)
    return config.case.perturbation * np.sin(10 * np.pi * at.x / Lx) * np.cos(8 * np.pi * at.y / Ly)


def domain_lengths(config):
    """Lx and Ly of the formulas: the distances from the first to the last cell centre, m."""
    grid = config.grid
    if min(grid.nx, grid.ny) < 2:
        raise ConfigError([f"grid: the jet needs at least 2 x 2 cells, not {grid.nx} x {grid.ny}"])
    return (grid.nx - 1) * grid.dx, (grid.ny - 1) * grid.dy
