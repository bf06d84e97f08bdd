"""A twin experiment at an open boundary: surges that enter a gulf, found from its gauges.

Physics: a gulf on an f plane, 20 m deep at its head in the west and 80 m at its mouth in the east, which is open.
Weather over the ocean outside the domain makes the level at the mouth vary in space and time, as a Gaussian random
function with the covariance sigma² exp(-r²/(2 l²) - t²/(2 T²)) over a distance r and a time t (sigma: `surge`,
l: `surge_length`, T: `surge_hours`), a sum of waves as in `double_gyre_winds`. The surges run into the gulf as Kelvin
waves, with the coast on their right, and out again. The first guess has no surge. Eight gauges observe sea level, with
errors of 1 cm. The only controls are corrections of the boundary level, every two hours.

Reference: Rahimi, A. and B. Recht (2007), Random features for large-scale kernel machines, Advances in Neural
Information Processing Systems 20, 1177-1184, for the sums of waves.

Cost: many runs of 384 steps on 400 cells: two to three minutes on one core.

Theme: Assimilation

Command: swmodel assimilate gulf_surge

Plot: swmodel plot outputs/gulf_surge-assimilate

Verification: the truth. Errors of the level at the mouth, and of sea level at any time, are about a quarter of those of
the first guess or less. Currents of the last hour may have larger errors, because no gauge has seen the last surges.
"""

from ..config.options.case import Case, option
from .double_gyre_winds import random_waves

HOUR = 3600.0
#: Depth at the head and at the mouth, m.
HEAD_DEPTH, MOUTH_DEPTH = 20.0, 80.0


class GulfSurge(Case):
    surge: float = option(0.4, "m", "standard deviation of the unknown level at the boundary", ge=0)
    surge_length: float = option(200e3, "m", "correlation length of the unknown level", gt=0)
    surge_hours: float = option(8.0, "h", "correlation time of the unknown level", gt=0)
    eta_error: float = option(0.01, "m", "standard deviation of the gauges' errors", gt=0)
    seed: int = option(1, "", "seed of the surges and of the errors", ge=0)

    grid_kinds = ("plane",)

    defaults = {
        "grid": {"nx": 25, "ny": 16, "dx": 16e3, "dy": 16e3, "periodic_x": False, "periodic_y": False},
        "physics": {"depth": MOUTH_DEPTH, "f0": 1e-4, "linear_drag": 1e-5},
        "open_boundaries": {"sides": ("east",)},
        "forcing": {"every": HOUR},
        "time": {"stepper": "rk4", "dt": 450.0},
        "run": {"days": 2.0},
        "output": {"every": HOUR, "stations": tuple(
            {"name": f"{side}-{number + 1}", "x": x, "y": y}
            for side, y in (("south", 24e3), ("north", 232e3)) for number, x in enumerate((56e3, 168e3, 264e3, 376e3))
        )},
        "assimilation": {"controls": ["boundary_level_correction"], "every_steps": 4,
                         "sigma_boundary_level_correction": 0.4, "correction_every": 2 * HOUR,
                         "correction_length": 200e3, "correlation_time": 8 * HOUR, "outer": 4, "inner": 40},
    }  # fmt: skip

    def depth(self, config, at):
        return HEAD_DEPTH + (config.physics.depth - HEAD_DEPTH) * at.x / (config.grid.nx * config.grid.dx) + 0 * at.y

    def boundary_level(self, config, at, t):
        return self.surge * random_waves(at, t, self.surge_length, self.surge_hours * HOUR, self.seed, "level")

    def prior_config(self, config):
        """The configuration without surges, which the first guess does not know."""
        return config.model_copy(update={"case": self.model_copy(update={"surge": 0.0})})
