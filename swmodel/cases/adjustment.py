"""Geostrophic adjustment: a step in sea level becomes a front and waves that travel away from it.

Physics: water at rest on an f plane stands higher west of x = 0 than east of it. Inertia-gravity waves carry part of
the released energy away. What remains is a geostrophic current along the step, as wide as the Rossby radius a. The
walls in the west and the east are so far away that no wave returns to |x| < 10 a within the run.

Reference: Gill (1982), Atmosphere-Ocean Dynamics, sections 7.2 and 7.3; Rossby (1938), J. Mar. Res. 1, 239-263.

Cost: 930 steps of rk4 on 5760 cells: seconds.

Theme: Waves and balanced flows

Command: swmodel run adjustment

Plot: swmodel plot outputs/adjustment --field eta_mean --field v_mean

Verification: eta = - step sgn(x) (1 - exp(-|x|/a)), v = - g step/(f a) exp(-|x|/a) with a = sqrt(g depth)/|f|. The
energy of the current is one third of the potential energy that was released. The currents of the waves decay as
t^(-1/2) and almost vanish in means over an inertial period. The output contains such means, so `eta_mean` and `v_mean`
show the balanced state. Their errors in the fifth period are 0.2 % and 0.4 % for |x| < 5 a.
"""

import math

import numpy as np

from ..config.options.case import Case, option

INERTIAL_PERIOD = 2 * math.pi / 1e-4  # inertial period of the default f0, s


class Adjustment(Case):
    step: float = option(0.1, "m", "sea level far in the west, and minus the sea level far in the east")

    grid_kinds = ("plane",)

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
    current_at_step = np.sign(physics.f0) * math.sqrt(physics.gravity / physics.depth) * config.case.step
    return -current_at_step * np.exp(-np.abs(x) / rossby_radius(config))
