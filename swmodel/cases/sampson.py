"""Water sloshes in a canal with a parabolic floor, until linear drag brings it to rest.

Physics: the surface stays a plane that tilts to and fro, and the shores move up and down both slopes. Drag damps the
current, and with it the tilt. Nothing varies across the canal.

Reference: Sampson, J., A. Easton and M. Singh (2006), ANZIAM J. 47, C373-C387; with the sizes of the library SWASHES
(Delestre and others 2013, Int. J. Numer. Methods Fluids 72, 269-300).

Cost: 3000 steps on 800 cells for 6000 s: seconds.

Theme: Coasts that flood and dry

Command: swmodel run sampson

Plot: swmodel plot outputs/sampson --field eta --field eta_error

Verification: the current is B exp(-rt/2) sin st everywhere, with r = `physics.linear_drag` and
s² = 2 g depth/a² - r²/4; sea level is `sea_level`.
"""

import numpy as np

from ..config.options.case import Case, option
from .thacker_planar import fields_with_dry_cells


class Sampson(Case):
    radius: float = option(3000.0, "m", "a: distance from the middle of the canal to the shore at rest", gt=0)
    speed: float = option(5.0, "m s-1", "B: amplitude of the current before damping")

    grid_kinds = ("plane",)

    defaults = {
        "grid": {"nx": 200, "ny": 4, "dx": 50.0, "dy": 50.0, "periodic_x": False, "periodic_y": False,
                 "origin": "middle"},
        "physics": {"depth": 10.0, "linear_drag": 1e-3},
        "drying": {"active": True, "thickness": 1e-3},
        "time": {"cfl": 0.6},
        "run": {"days": 6000 / 86400, "dtype": "float64"},
        "output": {"every": 300.0},
    }  # fmt: skip

    def depth(self, config, at):
        return config.physics.depth * (1 - (at.x / self.radius) ** 2)

    def eta(self, config, at):
        return sea_level(config, at, 0.0)

    def analytic_solution(self, config, at, t):
        return fields_with_dry_cells(self.depth(config, at), sea_level(config, at, t), current(config, t))


def frequency(config):
    """Angular frequency s of the damped oscillation, s-1."""
    physics = config.physics
    return np.sqrt(2 * physics.gravity * physics.depth / config.case.radius**2 - physics.linear_drag**2 / 4)


def current(config, time):
    """The current, the same everywhere, m s-1: B exp(-rt/2) sin st."""
    return config.case.speed * np.exp(-config.physics.linear_drag * time / 2) * np.sin(frequency(config) * time)


def sea_level(config, at, time):
    """Sea level where there is water, m:

    a² B² exp(-rt)/(8 g² depth) (-s r sin 2st + (r²/4 - s²) cos 2st) - B² exp(-rt)/(4 g)
    - exp(-rt/2)/g (B s cos st + r B/2 sin st) x
    """
    s, r, g, B = frequency(config), config.physics.linear_drag, config.physics.gravity, config.case.speed
    oscillating_part = (r**2 / 4 - s**2) * np.cos(2 * s * time) - s * r * np.sin(2 * s * time)
    mean_level = (config.case.radius * B) ** 2 / (8 * g**2 * config.physics.depth) * oscillating_part - B**2 / (4 * g)
    tilt = (B * s * np.cos(s * time) + r * B / 2 * np.sin(s * time)) / g
    return np.exp(-r * time) * mean_level - np.exp(-r * time / 2) * tilt * at.x
