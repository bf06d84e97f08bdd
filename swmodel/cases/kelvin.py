"""A coastal Kelvin wave in a channel: it runs along the southern wall without changing its shape.

Physics: a long wave on an f plane travels along a coast, which lies to its right for f > 0 (to its left for f < 0). The
wave decays offshore over the Rossby radius a. With no flow across the channel, the northern wall has no effect.

Reference: Gill (1982), Atmosphere-Ocean Dynamics, section 10.4; Hsieh, Davey and Wajsowicz (1983), J. Phys. Oceanogr.
13, 1383-1397, for the wave on the C-grid.

Cost: 270 steps of rk4 on 5760 cells: seconds.

Theme: Waves and balanced flows

Command: swmodel run kelvin

Plot: swmodel plot outputs/kelvin --field eta --field eta_error

Verification: eta = amplitude exp(-y/a) cos(k (x - c t)), u = c eta/depth, v = 0, with c = sgn(f) sqrt(g depth)
and a = |c/f|. After one round of the channel, the length of the default run, the wave is back where it started. The
error is of second order in the grid spacing.
"""

import math

import numpy as np

from ..config.options.case import Case, option

ROUND_TRIP_TIME = 96 * 20e3 / math.sqrt(9.81 * 100.0)  # of the wave in the default channel, s


class Kelvin(Case):
    amplitude: float = option(0.01, "m", "height of a crest at the coast; far below the depth, for a linear wave")
    waves: int = option(1, "1", "number of wavelengths in the channel", ge=1)

    grid_kinds = ("plane",)

    defaults = {
        "grid": {"nx": 96, "ny": 60, "dx": 20e3, "dy": 20e3, "periodic_x": True, "periodic_y": False},
        "physics": {"depth": 100.0, "f0": 1e-4},
        "time": {"stepper": "rk4", "cfl": 0.5},
        "run": {"days": ROUND_TRIP_TIME / 86400, "dtype": "float64"},
        "output": {"every": ROUND_TRIP_TIME / 16},
    }

    def eta(self, config, at):
        return sea_level(config, at, 0.0)

    def u(self, config, at):
        return current(config, at, 0.0)

    def analytic_solution(self, config, at, t):
        return {"eta": sea_level(config, at, t), "u": current(config, at, t)}


def phase_speed(config):
    """Phase speed sgn(f0) sqrt(g depth), m s-1, eastward if f0 >= 0, at every wavelength."""
    return math.copysign(math.sqrt(config.physics.gravity * config.physics.depth), config.physics.f0)


def sea_level(config, at, time):
    """Sea level of the wave, m: amplitude exp(-y |f0/c|) cos(k (x - c t)), y from the southern wall."""
    c = phase_speed(config)
    k = 2 * np.pi * config.case.waves / at.length_x
    return config.case.amplitude * np.exp(-config.physics.f0 / c * at.from_south) * np.cos(k * (at.x - c * time))


def current(config, at, time):
    """Current along the coast, m s-1: u = (c/depth) eta."""
    return phase_speed(config) / config.physics.depth * sea_level(config, at, time)
