"""A dam breaks into a shallower lake: a bore runs ahead, a rarefaction wave runs back.

Physics: between the rarefaction wave and the jump at the front of the bore the water has uniform depth and speed. If a
scheme does not conserve momentum at the jump, the bore has a wrong speed. Depths are relative to the higher lake.

Reference: Stoker, J. J. (1957), Water Waves, Interscience, section 10.8.

Cost: 720 steps on 1600 cells for 2 s: a second.

Theme: Coasts that flood and dry

Command: swmodel run dam_break_wet

Plot: swmodel plot outputs/dam_break_wet --field eta --field eta_error

Verification: Ritter's fan (`dam_break_dry`) down to the thickness of the `middle_state`, which follows a bore of speed
S. Its three equations say that the fan ends there, and that mass and momentum are conserved in the bore.
"""

import numpy as np
from scipy.optimize import brentq

from ..config.options.case import option
from .dam_break_dry import DamBreakDry, distance_from_dam, ritter_fan
from .thacker_planar import fields_where_wet


class DamBreakWet(DamBreakDry):
    ahead: float = option(0.1, "1", "thickness of the water ahead, as a fraction of that behind the dam", gt=0, lt=1)

    defaults = DamBreakDry.defaults | {"run": {"days": 2.0 / 86400, "dtype": "float64"}}

    def eta(self, config, at):
        return np.where(distance_from_dam(config, at) < 0, 0.0, (self.ahead - 1) * config.physics.depth)

    def analytic_solution(self, config, at, t):
        depth, x = config.physics.depth, distance_from_dam(config, at)
        middle_thickness, speed, bore = middle_state(config)
        h, u = ritter_fan(config, x, t) if t else (np.where(x < 0, depth, middle_thickness), 0.0)
        is_behind_bore = x < bore * t
        h = np.where(is_behind_bore, np.maximum(h, middle_thickness), self.ahead * depth)
        return fields_where_wet(depth, h - depth, np.where(is_behind_bore, np.minimum(u, speed), 0.0))


def middle_state(config):
    """Thickness, m, and current, m s-1, between fan and bore; speed S of the bore, m s-1."""
    g, thickness_ahead = config.physics.gravity, config.case.ahead * config.physics.depth

    def current(h):
        return 2 * (np.sqrt(g * config.physics.depth) - np.sqrt(g * h))

    def bore(h):
        return np.sqrt(g * h * (h + thickness_ahead) / (2 * thickness_ahead))

    h = brentq(
        lambda h: current(h) * h - bore(h) * (h - thickness_ahead), thickness_ahead * (1 + 1e-12), config.physics.depth
    )
    return h, current(h), bore(h)
