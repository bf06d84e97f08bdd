"""A seiche: the free standing wave of a closed basin.

Physics: water in a rectangular basin of uniform depth, without rotation, swings between the walls. It starts from rest.

Reference: Lamb (1932), Hydrodynamics, section 190; the period is that of Merian (1828).

Cost: 2 300 steps of rk4 on 8000 cells: seconds.

Theme: Waves and balanced flows

Command: swmodel run seiche

Plot: swmodel plot outputs/seiche --field eta --arrows --record 14

Verification: eta = amplitude cos(kx x) cos(ky y) cos(omega t), omega² = g depth (kx² + ky²). With one nodal line the
period is 2 L / sqrt(g depth), 1/sqrt(1 - beta) times as long with beta = `physics.self_attraction`; the default run
takes two periods. On the C-grid the standing wave is an exact mode whose frequency is lower by the fraction
(kx dx)²/24.
"""

import math

import numpy as np

from ..config.options.case import Case, option

DEFAULT_PERIOD = 2 * 200 * 500.0 / math.sqrt(9.81 * 50.0)  # of the default basin, s


class Seiche(Case):
    amplitude: float = option(0.01, "m", "sea level at a wall; small relative to the depth, for a linear wave")
    nodes_x: int = option(1, "1", "nodal lines that cross the x axis", ge=0)
    nodes_y: int = option(0, "1", "nodal lines that cross the y axis", ge=0)

    grid_kinds = ("plane",)

    defaults = {
        "grid": {"nx": 200, "ny": 40, "dx": 500.0, "dy": 500.0, "periodic_x": False, "periodic_y": False},
        "physics": {"depth": 50.0},
        "time": {"stepper": "rk4", "cfl": 0.5},
        "run": {"days": 2 * DEFAULT_PERIOD / 86400, "dtype": "float64"},
        "output": {"every": DEFAULT_PERIOD / 16},
    }

    def eta(self, config, at):
        return self.amplitude * mode_shape(config, at)

    def analytic_solution(self, config, at, t):
        return {"eta": self.eta(config, at) * math.cos(frequency(config) * t)}


def wavenumbers(config):
    """(kx, ky) = pi (nodes_x/Lx, nodes_y/Ly), m-1."""
    grid = config.grid
    return np.pi * config.case.nodes_x / (grid.nx * grid.dx), np.pi * config.case.nodes_y / (grid.ny * grid.dy)


def mode_shape(config, at):
    """cos(kx x) cos(ky y), x and y from the south-western corner."""
    kx, ky = wavenumbers(config)
    return np.cos(kx * at.from_west) * np.cos(ky * at.from_south)


def frequency(config):
    """Angular frequency omega = c sqrt(kx² + ky²), c² = (1 - beta) g depth, s-1; the period is 2 pi/omega."""
    return wave_speed(config) * np.hypot(*wavenumbers(config))


def grid_frequency(config):
    """Angular frequency of the same mode on the C-grid, s-1: kx becomes (2/dx) sin(kx dx/2), and so does ky.

    If ky = 0 it is omega (1 - (kx dx)²/24 + ...).

    Reference: Arakawa and Lamb (1977), Methods Comput. Phys. 17, section III, scheme C.
    """
    (kx, ky), grid = wavenumbers(config), config.grid
    wavenumber_on_grid = np.hypot(2 / grid.dx * np.sin(kx * grid.dx / 2), 2 / grid.dy * np.sin(ky * grid.dy / 2))
    return wave_speed(config) * wavenumber_on_grid


def wave_speed(config):
    """sqrt((1 - beta) g depth), m s-1, with the beta of self-attraction."""
    physics = config.physics
    return math.sqrt((1 - physics.self_attraction) * physics.gravity * physics.depth)
