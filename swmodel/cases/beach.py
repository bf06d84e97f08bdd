"""A solitary wave runs up a plane beach: the first benchmark problem of the NTHMP, for tsunamis.

Physics: the wave travels west over water of constant depth, climbs the slope without breaking and turns back on dry
land. It withdraws below the still-water line and leaves to the east. East of the toe of the beach the basin is so long
that no reflection from its wall returns within the run.

Reference: Synolakis, C. E. (1987), J. Fluid Mech. 185, 523-545; Synolakis and others (2007), NOAA Tech. Memo.
OAR PMEL-135.

Cost: 2684 steps on 3400 cells for 110 sqrt(depth/g): seconds.

Theme: Tsunamis

Command: swmodel run beach

Plot: swmodel plot outputs/beach/stations.nc

Verification: `load_solution` returns profiles and time series of the analytic solution for the default height, from the
files of the benchmark (NTHMP, public). The `max_run_up` of waves that do not break follows a law of Synolakis; such
waves are lower than 0.818 slope^(-10/9) depths.
"""

from pathlib import Path
from typing import ClassVar

import numpy as np

from ..config.options.case import Case, option

#: The analytic solution in units of depth and of sqrt(depth/g): `profiles` [times, x], NaN on dry land, and series
#: [2, points], times and levels, at the gauges (`near` and `far`).
SOLUTION_FILE = Path(__file__).with_name("beach.npz")
#: Distances of the two gauges east of the still-water line, in depths.
NEAR_GAUGE, FAR_GAUGE = 0.25, 9.95

#: sqrt(depth/g) for the default depth of 1 m, s.
TIME_UNIT = 1 / np.sqrt(9.81)


class Beach(Case):
    height: float = option(0.019, "1", "height of the wave as a fraction of the depth", gt=0)
    slope: float = option(19.85, "1", "horizontal distance over which the beach rises by 1", gt=0)

    grid_kinds = ("plane",)
    #: Distance of the still-water line from the western side, as a fraction of the domain's length.
    land_fraction: ClassVar[float] = 1 / 17

    defaults = {
        "grid": {"nx": 850, "ny": 4, "dx": 0.1, "dy": 0.1, "periodic_x": False, "periodic_y": False},
        "physics": {"depth": 1.0},
        "drying": {"active": True, "thickness": 1e-4},
        "time": {"cfl": 0.6},
        "run": {"days": 110 * TIME_UNIT / 86400, "dtype": "float64"},
        "output": {"every": 2.5 * TIME_UNIT, "fields": ("eta", "h", "u"), "maxima": ("eta",),
                   "stations": tuple({"name": f"{x} off", "x": 5.0 + x, "y": 0.2} for x in (NEAR_GAUGE, FAR_GAUGE))},
    }  # fmt: skip

    def depth(self, config, at):
        return config.physics.depth * np.minimum(1.0, offshore_distance(config, at) / self.slope)

    def eta(self, config, at):
        return solitary_wave(config, at)

    def u(self, config, at):
        """The current of the wave, - sqrt(g/depth) eta, m s-1; zero west of the still-water line."""
        return (
            -np.sqrt(config.physics.gravity / config.physics.depth)
            * solitary_wave(config, at)
            * (offshore_distance(config, at) > 0)
        )


def offshore_distance(config, at):
    """Distance east of the still-water line, in depths."""
    return (at.from_west - config.case.land_fraction * at.length_x) / config.physics.depth


def solitary_wave(config, at):
    """Initial sea level, m: depth H sech²(k (x - x1)), k = sqrt(3 H/4), x in depths. It is depth H/20 at the toe."""
    H, slope = config.case.height, config.case.slope
    k = np.sqrt(0.75 * H)
    decay = np.exp(-2 * np.abs(k * (offshore_distance(config, at) - slope) - np.arccosh(np.sqrt(20.0))))
    return config.physics.depth * H * 4 * decay / (1 + decay) ** 2  # sech² without the overflow of cosh


def max_run_up(config):
    """Largest height of water on the beach, m: 2.831 sqrt(slope) H^(5/4) depth, for waves that do not break."""
    return 2.831 * np.sqrt(config.case.slope) * config.case.height**1.25 * config.physics.depth


def load_solution() -> dict[str, np.ndarray]:
    """The arrays of SOLUTION_FILE: x, times, profiles, near, far."""
    with np.load(SOLUTION_FILE) as file:
        return {name: file[name].astype(float) for name in file.files}
