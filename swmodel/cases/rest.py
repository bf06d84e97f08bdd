"""A lake at rest over a steep ridge and around an island: nothing may move.

Physics: a closed basin on an f plane whose floor rises from 4000 m to 400 m along a meridional ridge, with a round
island in the eastern half. The water is at rest at a level that is not zero and has no exact floating-point
representation. So the rounding errors of sea level, thickness minus depth, differ from cell to cell.

Reference: Bermudez and Vazquez (1994), Comput. Fluids 23, 1049-1071, who call this the C-property of a scheme.

Cost: 500 steps of rk4 on 5400 cells: seconds.

Theme: Starting points

Command: swmodel run rest

Plot: swmodel plot outputs/rest --field depth --field eta_error

Verification: u = v = 0 and eta = level at all times to round-off, in float64 to 1e-12 m s-1 and 1e-11 m.
"""

import numpy as np

from ..config.options.case import Case, option


class Rest(Case):
    level: float = option(0.37, "m", "sea level of the lake")
    ridge: float = option(0.9, "1", "height of the ridge as a fraction of the depth", ge=0, lt=1)
    ridge_width: float = option(0.05, "1", "half-width of the ridge as a fraction of the basin's length", gt=0)
    island: float = option(0.15, "1", "radius of the island as a fraction of the basin's shorter length", ge=0, lt=0.25)

    defaults = {
        "grid": {"nx": 90, "ny": 60, "dx": 1e4, "dy": 1e4, "periodic_x": False, "periodic_y": False},
        "physics": {"depth": 4000.0, "f0": 1e-4},
        "time": {"stepper": "rk4", "cfl": 0.5},
        "run": {"days": 0.1, "dtype": "float64"},
        "output": {"every": 2160.0, "fields": ("h", "u", "v", "eta", "speed")},
    }

    def depth(self, config, at):
        """Resting depth, m: depth (1 - ridge exp(-((x - Lx/3) / (ridge_width Lx))²)), x from the western wall."""
        distance_over_width = (at.from_west - at.length_x / 3) / (self.ridge_width * at.length_x)
        return config.physics.depth * (1 - self.ridge * np.exp(-(distance_over_width**2)))

    def mask(self, config, at):
        """0 on the island, a disc around the point (2 Lx/3, Ly/2) from the south-western corner; 1 in the water."""
        x, y = at.from_west - 2 * at.length_x / 3, at.from_south - at.length_y / 2
        radius = self.island * np.minimum(at.length_x, at.length_y)
        return np.where(np.hypot(x, y) < radius, 0.0, 1.0)

    def eta(self, config, at):
        """Sea level, m: `level` everywhere, at the start and at all later times."""
        return np.full((1, 1), self.level)

    def analytic_solution(self, config, at, t):
        return {"eta": self.eta(config, at), "u": np.zeros((1, 1)), "v": np.zeros((1, 1))}
