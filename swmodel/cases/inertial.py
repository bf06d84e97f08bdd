"""An inertial oscillation: a uniform current turns under the Coriolis force, and decays if there is drag.

Physics: with a flat sea surface, in a doubly periodic domain on an f plane, every parcel moves on an inertial circle.
Linear or quadratic bottom drag (`physics.linear_drag`, `physics.quadratic_drag`) slows it down; a uniform wind
(`case.wind`) drives it.

Reference: Gill (1982), Atmosphere-Ocean Dynamics, section 8.3.

Cost: 1150 steps of rk4 on 1024 cells: seconds. With drag: `swmodel run inertial -s physics.quadratic_drag=0.003`.

Theme: Waves and balanced flows

Command: swmodel run inertial -s 'output.stations=[{name="middle", x=160e3, y=160e3}]'

Plot: swmodel plot outputs/inertial/stations.nc --field current

Verification: u = U cos ft, v = - U sin ft; only the time stepper makes errors. The speed decreases as U exp(-r t) with
linear drag r and as U / (1 + C U t/depth) with quadratic drag C; if f = U = 0, the wind stress tau raises it to
tau/(rho depth r) (1 - exp(-r t)). Sea level stays flat.
"""

import math

import numpy as np

from ..config.options.case import Case, option

INERTIAL_PERIOD = 2 * math.pi / 1e-4  # inertial period of the default f0, s


class Inertial(Case):
    speed: float = option(0.5, "m s-1", "initial eastward speed of the current", ge=0)
    wind: float = option(0.0, "Pa", "eastward wind stress")

    grid_kinds = ("plane",)

    defaults = {
        "grid": {"nx": 32, "ny": 32, "dx": 10e3, "dy": 10e3, "periodic_x": True, "periodic_y": True},
        "physics": {"depth": 100.0, "f0": 1e-4},
        "time": {"stepper": "rk4", "cfl": 0.5},
        "run": {"days": 2 * INERTIAL_PERIOD / 86400},
        "output": {"every": INERTIAL_PERIOD / 16},
    }

    def u(self, config, at):
        return np.full((1, 1), self.speed)

    def wind_x(self, config, at):
        return np.full((1, 1), self.wind)

    def analytic_solution(self, config, at, t):
        return dict(zip("uv", map(np.atleast_2d, velocity(config, t)), strict=True))


def velocity(config, time):
    """Current (u, v), m s-1, at a time in s.

    With w = u + i v, s = r + i f and E(s) = (1 - exp(-s t)) / s:
    w = U exp(-s t) / (1 + C U/depth E(r)) + tau/(rho depth) E(s). Exact if there is no wind or no quadratic drag.
    """
    physics, speed = config.physics, config.case.speed
    rate = complex(physics.linear_drag, physics.f0)
    drag_factor = 1 + physics.quadratic_drag * speed / physics.depth * integrated_decay(physics.linear_drag, time)
    wind_driven = config.case.wind / (physics.density * physics.depth) * integrated_decay(rate, time)
    current = speed * np.exp(-rate * time) / drag_factor + wind_driven
    return current.real, current.imag


def integrated_decay(rate, time):
    """Integral of exp(-rate t) from 0 to `time`, s: (1 - exp(-rate t)) / rate, or the time if rate = 0."""
    return -np.expm1(-rate * time) / rate if rate else time
