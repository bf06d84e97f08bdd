"""Water that heaves in a bowl: its surface is a paraboloid that rises in the middle while the shore contracts.

Physics: water starts from rest, highest in the middle of a paraboloid. It runs outward, overshoots the shore at rest
and runs back. With rotation the water turns more slowly the farther it has spread. The shore moves in all directions at
once and cuts through the cells at all angles.

Reference: Thacker, W. C. (1981), J. Fluid Mech. 107, 499-508; with the sizes of the library SWASHES (Delestre and
others 2013, Int. J. Numer. Methods Fluids 72, 269-300).

Cost: 612 steps on 10 000 cells for three periods: seconds.

Theme: Coasts that flood and dry

Command: swmodel run thacker_curved

Plot: swmodel plot outputs/thacker_curved --field h --field h_error

Verification: with A = (a⁴ - r0⁴)/(a⁴ + r0⁴), q = 1 - A cos wt and w² = f0² + 8 g depth/a², sea level is
depth (sqrt(1 - A²)/q - 1 - r²/a² ((1 - A²)/q² - 1)). After three periods the water is as at the start.
"""

import numpy as np

from ..config.options.case import CaseFromAnalyticSolution, option
from .thacker_planar import bowl_depth, fields_with_dry_cells

#: Period in the default bowl, s.
DEFAULT_PERIOD = 2 * np.pi / np.sqrt(8 * 9.81 * 0.1)


class ThackerCurved(CaseFromAnalyticSolution):
    radius: float = option(1.0, "m", "a: radius of the shore at rest", gt=0)
    start: float = option(0.8, "m", "r0: initial radius of the shore, the smallest one", gt=0)

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
        w, a, r0, f = frequency(config), self.radius, self.start, config.physics.f0
        A = (a**4 - r0**4) / (a**4 + r0**4)
        root, q = np.sqrt(1 - A**2), 1 - A * np.cos(w * t)
        level = config.physics.depth * (root / q - 1 - (at.x**2 + at.y**2) / a**2 * ((root / q) ** 2 - 1))
        outflow_rate, rotation_rate = w * A * np.sin(w * t) / (2 * q), f * (root + A * np.cos(w * t) - 1) / (2 * q)
        return fields_with_dry_cells(
            bowl_depth(config, at),
            level,
            outflow_rate * at.x - rotation_rate * at.y,
            outflow_rate * at.y + rotation_rate * at.x,
        )


def frequency(config):
    """Angular frequency w of the oscillation, s-1."""
    physics = config.physics
    return np.sqrt(physics.f0**2 + 8 * physics.gravity * physics.depth / config.case.radius**2)
