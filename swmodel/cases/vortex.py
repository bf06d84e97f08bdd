"""A steady vortex: pressure balances Coriolis and centrifugal force.

Physics: an axisymmetric vortex on an f plane whose streamfunction is a Gaussian. Sea level balances it exactly in the
continuous equations, so any change is an error of the discretisation. The domain is doubly periodic, and so much larger
than the vortex that its periodic images do not matter.

Reference: Carton, X. (2001), Hydrodynamical modeling of oceanic vortices, Surv. Geophys. 22, 179-263.

Cost: 28 800 steps on 16 384 cells: about five seconds on two cores.

Theme: Eddies and gyres

Command: swmodel run vortex

Plot: swmodel plot outputs/vortex --field zeta --field eta_error

Verification: v²/r + f v = g dh/dr for the azimuthal velocity v = r `angular_velocity` and the level of `sea_level`, so
there is only motion around the centre. The error is of second order in the grid spacing.
"""

import numpy as np

from ..config.options.case import CaseFromAnalyticSolution, option


class Vortex(CaseFromAnalyticSolution):
    speed: float = option(1.0, "m s-1", "largest azimuthal velocity, positive anticlockwise")
    radius: float = option(1 / 14, "1", "radius of largest velocity as a fraction of the domain's shorter side", gt=0)

    grid_kinds = ("plane",)

    defaults = {
        "grid": {"nx": 128, "ny": 128, "dx": 5e3, "dy": 5e3, "periodic_x": True, "periodic_y": True,
                 "origin": "middle"},
        "physics": {"gravity": 9.81, "depth": 100.0, "f0": 1e-4},
        "run": {"days": 20.0},
        "output": {"every": 86400.0},
    }  # fmt: skip

    def analytic_solution(self, config, at, t):
        r = np.hypot(at.x, at.y)
        rotation = angular_velocity(config, r)
        return {"eta": sea_level(config, r), "u": -at.y * rotation, "v": at.x * rotation}


def core_radius(config):
    """Radius R at which the velocity is largest, m."""
    grid = config.grid
    return config.case.radius * min(grid.nx * grid.dx, grid.ny * grid.dy)


def angular_velocity(config, r):
    """Angular velocity at the distance r from the centre, s-1: (speed/R) exp((1 - r²/R²)/2)."""
    R = core_radius(config)
    return config.case.speed / R * np.exp((1 - (r / R) ** 2) / 2)


def sea_level(config, r):
    """Sea level, m, that solves v²/r + f v = g d eta/dr: g eta = - f R² angular_velocity - (R angular_velocity)²/2."""
    swirl = core_radius(config) * angular_velocity(config, r)
    return -(config.physics.f0 * core_radius(config) * swirl + swirl**2 / 2) / config.physics.gravity
