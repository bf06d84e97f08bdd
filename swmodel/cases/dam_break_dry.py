"""A dam breaks, and its lake runs out over dry ground.

Physics: without friction the water thins out in a rarefaction fan, a range of x that grows from the dam. Its front runs
over the dry ground at twice the speed of a wave in the lake; its rear runs back into the lake like such a wave. Depths
are relative to the surface of the lake.

Reference: Ritter, A. (1892), Z. Ver. Dtsch. Ing. 36, 947-954.

Cost: 540 steps on 1600 cells for 1.5 s: a second.

Theme: Coasts that flood and dry

Command: swmodel run dam_break_dry

Plot: swmodel plot outputs/dam_break_dry --field eta --field eta_error

Verification: with c = sqrt(g depth) and X = x/t from the dam, h = (2 c - X)²/(9 g) and u = 2 (c + X)/3 for
-c < X < 2 c.
"""

import numpy as np

from ..config.options.case import Case, option
from .thacker_planar import fields_with_dry_cells


class DamBreakDry(Case):
    dam: float = option(0.4, "1", "distance of the dam from the west as a fraction of the domain", gt=0, lt=1)

    grid_kinds = ("plane",)

    defaults = {
        "grid": {"nx": 400, "ny": 4, "dx": 0.0625, "dy": 0.0625, "periodic_x": False, "periodic_y": False},
        "physics": {"depth": 1.0},
        "drying": {"active": True, "thickness": 1e-4},
        "time": {"cfl": 0.2},
        "run": {"days": 1.5 / 86400, "dtype": "float64"},
        "output": {"every": 0.125},
    }

    def eta(self, config, at):
        return np.where(distance_from_dam(config, at) < 0, 0.0, -config.physics.depth)

    def analytic_solution(self, config, at, t):
        depth, x = config.physics.depth, distance_from_dam(config, at)
        h, u = ritter_fan(config, x, t) if t else (np.where(x < 0, depth, 0.0), 0.0)
        return fields_with_dry_cells(depth, h - depth, u)


def distance_from_dam(config, at):
    """Distance east of the dam, m."""
    return at.from_west - config.case.dam * at.length_x


def ritter_fan(config, x, time):
    """Ritter's thickness, m, and current, m s-1, at x, m from the dam, and time, s > 0; constant beyond the fan."""
    c = np.sqrt(config.physics.gravity * config.physics.depth)
    ray = np.clip(x / time, -c, 2 * c)
    return (2 * c - ray) ** 2 / (9 * config.physics.gravity), 2 * (c + ray) / 3
