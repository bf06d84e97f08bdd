"""A dam between two lakes breaks: a bore runs into the shallower lake, and a rarefaction wave into the deeper one.

Physics: between the rarefaction wave and the jump at the front of the bore the water has uniform depth and speed. If a
scheme does not conserve momentum at the jump, the bore has a wrong speed. Depths are relative to the surface of the
deeper lake.

Reference: Stoker, J. J. (1957), Water Waves, Interscience, section 10.8.

Cost: 720 steps on 1600 cells for 2 s: a second.

Theme: Coasts that flood and dry

Command: swmodel run dam_break_wet

Plot: swmodel plot outputs/dam_break_wet --field eta --field eta_error

Verification: from the deeper lake on, the solution is Ritter's fan (`dam_break_dry`), where it is thicker than the
`middle_state`; then this uniform state; then the front of the bore, which has the speed S. Three equations determine
the thickness and current of this state and S: the fan ends with them, and mass and momentum are conserved at the front.
"""

import numpy as np
from scipy.optimize import brentq

from ..config.options.case import option
from .dam_break_dry import DamBreakDry, distance_from_dam, ritter_fan
from .thacker_planar import fields_with_dry_cells


class DamBreakWet(DamBreakDry):
    ahead: float = option(0.1, "1", "thickness of the water ahead, as a fraction of that behind the dam", gt=0, lt=1)

    defaults = DamBreakDry.defaults | {"run": {"days": 2.0 / 86400, "dtype": "float64"}}

    def eta(self, config, at):
        return np.where(distance_from_dam(config, at) < 0, 0.0, (self.ahead - 1) * config.physics.depth)

    def analytic_solution(self, config, at, t):
        depth, x = config.physics.depth, distance_from_dam(config, at)
        middle_thickness, middle_current, bore_speed = middle_state(config)
        h, u = ritter_fan(config, x, t) if t else (np.where(x < 0, depth, middle_thickness), 0.0)
        is_behind_bore = x < bore_speed * t
        h = np.where(is_behind_bore, np.maximum(h, middle_thickness), self.ahead * depth)
        return fields_with_dry_cells(depth, h - depth, np.where(is_behind_bore, np.minimum(u, middle_current), 0.0))


def middle_state(config):
    """Thickness, m, and current, m s-1, between fan and bore; speed S of the bore, m s-1."""
    g, thickness_ahead = config.physics.gravity, config.case.ahead * config.physics.depth

    def current(h):
        return 2 * (np.sqrt(g * config.physics.depth) - np.sqrt(g * h))

    def bore_speed(h):
        return np.sqrt(g * h * (h + thickness_ahead) / (2 * thickness_ahead))

    h = brentq(
        lambda h: current(h) * h - bore_speed(h) * (h - thickness_ahead),
        thickness_ahead * (1 + 1e-12),
        config.physics.depth,
    )
    return h, current(h), bore_speed(h)
