"""Water that swings round in a bowl: its surface stays a plane, and its shore travels round the bowl.

Physics: in a paraboloid gravity pulls every column of water towards the axis with a force proportional to the distance.
The water moves as one body in a circle; rotation changes the period. At any time a part of the bowl is dry, and it
becomes wet when the water comes round.

Reference: Thacker, W. C. (1981), J. Fluid Mech. 107, 499-508; with the parameters of the library SWASHES (Delestre and
others 2013, Int. J. Numer. Methods Fluids 72, 269-300).

Cost: three rounds take 1620 steps on 10 000 cells, some seconds.

Theme: Coasts that flood and dry

Command: swmodel run thacker_planar

Plot: swmodel plot outputs/thacker_planar --field h --field h_error

Verification: with s = `swing`, H0 = `physics.depth` and the angle wt, sea level is the plane
s H0/a² (2 x cos wt + 2 y sin wt - s). The current is s w (-sin wt, cos wt), with w² + f0 w = 2 g H0/a². After three
rounds the water is where it started.
"""

import numpy as np

from ..config.options.case import CaseFromAnalyticSolution, option

#: Period in the default bowl, s.
DEFAULT_PERIOD = 2 * np.pi / np.sqrt(2 * 9.81 * 0.1)


class ThackerPlanar(CaseFromAnalyticSolution):
    radius: float = option(1.0, "m", "a: radius of the shore at rest", gt=0)
    swing: float = option(0.5, "m", "distance of the water's centre from the axis of the bowl", gt=0)

    grid_kinds = ("plane",)

    defaults = {
        "grid": {"nx": 100, "ny": 100, "dx": 0.04, "dy": 0.04, "periodic_x": False, "periodic_y": False,
                 "origin": "middle"},
        "physics": {"depth": 0.1},
        "drying": {"active": True, "thickness": 1e-5},
        "time": {"cfl": 0.5},
        "run": {"days": 3 * DEFAULT_PERIOD / 86400, "dtype": "float64"},
        "output": {"every": DEFAULT_PERIOD / 12},
    }  # fmt: skip

    def depth(self, config, at):
        return bowl_depth(config, at)

    def analytic_solution(self, config, at, t):
        w, s = angular_velocity(config), self.swing
        cosine, sine = np.cos(w * t), np.sin(w * t)
        level = s * config.physics.depth / self.radius**2 * (2 * at.x * cosine + 2 * at.y * sine - s)
        return fields_with_dry_cells(bowl_depth(config, at), level, -s * w * sine, s * w * cosine)


def bowl_depth(config, at):
    """The resting depth, m: a paraboloid with `physics.depth` in its middle and the shore at `case.radius`."""
    return config.physics.depth * (1 - (at.x**2 + at.y**2) / config.case.radius**2)


def angular_velocity(config):
    """Angular velocity w of the water's motion round the axis, s-1, anticlockwise."""
    physics, half = config.physics, config.physics.f0 / 2
    return np.sqrt(half**2 + 2 * physics.gravity * physics.depth / config.case.radius**2) - half


def fields_with_dry_cells(depth, level, u, v=0.0):
    """The fields of a solution, by name: eta not below the bed, thickness h, and no current on dry ground.

    Args:
        depth, level: resting depth and sea level, m; there is water where level > -depth.
        u, v: currents of the water, m s-1.
    """
    eta = np.maximum(level, -depth)
    h = eta + depth
    return {"eta": eta, "h": h, "u": np.where(h > 0, u, 0.0), "v": np.where(h > 0, v, 0.0)}
