"""Geostrophic adjustment: a step of sea level becomes a front and waves that run away from it.

Physics: water at rest on an f plane stands higher in the west of x = 0 than in the east. Inertia-gravity waves carry
part of the energy away. A current along the step remains, as wide as the Rossby radius a, in geostrophic balance. The
walls in the west and the east stand so far away that no wave returns to |x| < 10 a within the run.

Reference: Gill (1982), Atmosphere-Ocean Dynamics, sections 7.2 and 7.3; Rossby (1938), J. Mar. Res. 1, 239-263.

Cost: 930 steps of rk4 on 5760 cells: seconds.

Theme: Waves and balanced flows

Command: swmodel run adjustment

Plot: swmodel plot outputs/adjustment --field eta_mean --field v_mean

Known answer: eta = - step sgn(x) (1 - exp(-|x|/a)), v = - g step/(f a) exp(-|x|/a) with a = sqrt(g depth)/|f|. The
current has one third of the potential energy that was released. The waves decay as t^(-1/2), and almost vanish in means
over an inertial period. This is the interval of the output here, so `eta_mean` and `v_mean` show the current. Their
error in the fifth period is 0.2 % and 0.4 % for |x| < 5 a.
"""

import math

import numpy as np

from ..config.options.case import Case, option

INERTIAL_PERIOD = 2 * math.pi / 1e-4  # inertial period of the default f0, s


class Adjustment(Case):
    step: float = option(0.1, "m", "sea level far in the west; that far in the east is its negative")

    kinds = ("plane",)

    defaults = {
        "grid": {"nx": 720, "ny": 8, "dx": 20e3, "dy": 20e3, "periodic_x": False, "periodic_y": True,
                 "origin": "middle"},
        "physics": {"depth": 100.0, "f0": 1e-4},
        "time": {"stepper": "rk4", "cfl": 0.75},
        "run": {"days": 5 * INERTIAL_PERIOD / 86400},
        "output": {"every": INERTIAL_PERIOD, "means": ("eta", "u", "v")},
    }  # fmt: skip

    def eta(self, config, at):
        return -self.step * np.sign(at.x)

    def analytic_solution(self, config, at, t):
        return {"eta_mean": balanced_level(config, at.x), "v_mean": balanced_v(config, at.x)}


def rossby_radius(config):
    """Rossby radius of deformation a = sqrt(g depth)/|f0|, m (infinite without rotation)."""
    physics = config.physics
    return math.sqrt(physics.gravity * physics.depth) / abs(physics.f0) if physics.f0 else math.inf


def balanced_level(config, x):
    """Sea level of the balanced state, m: - step sgn(x) (1 - exp(-|x|/a))."""
    return config.case.step * np.sign(x) * np.expm1(-np.abs(x) / rossby_radius(config))


def balanced_v(config, x):
    """Current of the balanced state, m s-1: v = (g/f) d eta/dx = - g step/(f a) exp(-|x|/a); none without rotation."""
    physics = config.physics
    max_current = np.sign(physics.f0) * math.sqrt(physics.gravity / physics.depth) * config.case.step
    return -max_current * np.exp(-np.abs(x) / rossby_radius(config))
