"""A steady zonal flow in solid rotation on a sphere: the second test case of Williamson and others.

Physics: u = speed cos(lat) in a band round the sphere is a solid rotation. Sea level balances the Coriolis force and
the curvature of the parallels. The walls in the south and in the north are parallel to the flow. The axis of the flow
is that of the sphere, because a flow across the poles would need water there.

Reference: Williamson, Drake, Hack, Jakob and Swarztrauber (1992), J. Comput. Phys. 102, 211-224, test case 2.

Cost: 720 steps of rk4 on 9216 cells for five days at 2.5 degrees: seconds.

Theme: Waves and balanced flows

Command: swmodel run steady_zonal

Plot: swmodel plot outputs/steady_zonal --field u --field u_error

Verification: the flow is steady. At 2.5 degrees the relative error after five days is 5e-5 for the thickness and 5e-4
for the velocity, of second order in the grid spacing.
"""

import math

import numpy as np

from ..config.options.case import Case, option
from ..errors import ConfigError

#: The Earth's radius, m, and rotation rate, s-1, of the reference.
RADIUS, ROTATION = 6.37122e6, 7.292e-5


class SteadyZonal(Case):
    speed: float = option(2 * math.pi * RADIUS / (12 * 86400), "m s-1", "speed at the equator: around in twelve days")

    grid_kinds = ("latlon",)

    defaults = {
        "grid": {"kind": "latlon", "nx": 144, "ny": 64, "south": -80.0, "north": 80.0, "radius": RADIUS,
                 "rotation": ROTATION},
        "physics": {"gravity": 9.80616, "depth": 2.94e4 / 9.80616},
        "time": {"stepper": "rk4", "dt": 600.0},
        "run": {"days": 5.0, "dtype": "float64"},
        "output": {"every": 86400.0, "fields": ("eta", "u", "v", "zeta")},
    }  # fmt: skip

    def eta(self, config, at):
        """- (R Omega speed + speed²/2) sin²(lat) / g, m."""
        grid, physics = config.grid, config.physics
        if physics.f0 or physics.beta:
            raise ConfigError(["physics.f0, physics.beta: must be 0: the flow balances the rotation of the sphere"])
        potential_drop = grid.radius * grid.rotation * self.speed + self.speed**2 / 2
        return -potential_drop * np.sin(np.radians(at.lat)) ** 2 / physics.gravity

    def u(self, config, at):
        return self.speed * np.cos(np.radians(at.lat))

    def analytic_solution(self, config, at, t):
        return {"eta": self.eta(config, at), "u": self.u(config, at)}
