"""A solitary Rossby wave of the equator that leaves an open basin.

Physics: in the waveguide of the equatorial beta plane two anticyclones, one on either side of the equator, travel
westward together, faster than linear Rossby waves, because dispersion and steepening balance. The basin is open in the
west and in the east; the walls in the north and the south are where the wave has decayed. The wave leaves through the
west. A sponge along the open boundaries damps what is slower than a gravity wave and would be reflected.

Reference: Boyd (1980), J. Phys. Oceanogr. 10, 1699-1717.

Cost: 1920 steps of rk4 on 17 280 cells: seconds.

Theme: Waves and balanced flows

Command: swmodel run soliton

Plot: swmodel plot outputs/soliton --field eta --arrows --record 4

Verification: the wave travels westward at (1/3 + 0.395 B²) sqrt(g depth). Sea level and current follow the formula of
the reference, which is of first order in the amplitude, to about a sixth (v: a quarter) of their largest values. Once
the wave has left, little of its energy remains.
"""

import math

import numpy as np

from ..config.options.case import CaseFromAnalyticSolution, option
from .equatorial import equatorial_radius, kelvin_speed

#: Of the default basin: sqrt(g depth), m/s, and beta, m-1 s-1; the equatorial radius, m, and the unit of time, s.
WAVE_SPEED, BETA = 2.0, 2.28e-11
RADIUS, TIME_UNIT = math.sqrt(WAVE_SPEED / BETA), 1 / math.sqrt(WAVE_SPEED * BETA)


class Soliton(CaseFromAnalyticSolution):
    steepness: float = option(0.395, "1", "B: the wave is 1/B radii long, and 1.09 B² of the depth high", gt=0, le=0.6)
    start: float = option(4.0, "1", "where the wave starts, radii east of the middle")

    grid_kinds = ("plane",)

    defaults = {
        "grid": {"nx": 240, "ny": 72, "dx": RADIUS / 6, "dy": RADIUS / 6, "periodic_x": False, "periodic_y": False,
                 "origin": "middle"},
        "physics": {"gravity": WAVE_SPEED**2 / 100, "depth": 100.0, "beta": BETA},
        "open_boundaries": {"sides": ("west", "east")},
        "sponge": {"sides": ("west", "east"), "width": 4 * RADIUS, "rate": 0.3 / TIME_UNIT},
        "time": {"stepper": "rk4", "cfl": 0.6},
        "run": {"days": 100 * TIME_UNIT / 86400, "dtype": "float64"},
        "output": {"every": 10 * TIME_UNIT},
    }  # fmt: skip

    def analytic_solution(self, config, at, t):
        return dict(zip(("eta", "u", "v"), solution(config, at, t), strict=True))


def celerity(config):
    """Westward speed of the wave, m s-1: (1/3 + 0.395 B²) c."""
    return (1 / 3 + 0.395 * config.case.steepness**2) * kelvin_speed(config)


def solution(config, at, time):
    """eta in m, u and v in m s-1, at the Points after `time` seconds.

    With x and y in radii, the `celerity` C and phi = 0.771 B² sech²(B (x - x0 + C t)): eta = depth phi (3 + 6 y²)/4
    exp(-y²/2), u = sqrt(g depth) phi (6 y² - 9)/4 exp(-y²/2), v = sqrt(g depth) 2 y dphi/dx exp(-y²/2).

    Reference: Boyd (1980), equations 2.11 to 2.15.
    """
    B, radius = config.case.steepness, equatorial_radius(config)
    x = at.x / radius - config.case.start + celerity(config) * time / radius
    y = at.y / radius
    decay = np.exp(-2 * abs(B * x))
    phi = 0.771 * B**2 * 4 * decay / (1 + decay) ** 2  # sech² without the overflow of cosh
    slope, shape = -2 * B * np.tanh(B * x) * phi, np.exp(-(y**2) / 2)
    c = kelvin_speed(config)
    return (
        config.physics.depth * phi * (3 + 6 * y**2) / 4 * shape,
        c * phi * (6 * y**2 - 9) / 4 * shape,
        c * 2 * y * slope * shape,
    )
