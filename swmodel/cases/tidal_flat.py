"""Tidal flats with a creek: the flood comes up the creek and spreads, the ebb leaves pools and a thread of water.

Physics: flats rise gently from the sea in the west and dry at low water. A winding creek carries water into them before
they are covered, and is the last to drain. The tide M2 enters through the west; friction is Manning's.

Reference: Friedrichs, C. T. and D. G. Aubrey (1988), Estuar. Coast. Shelf Sci. 27, 521-545, for tides over flats.

Cost: 58 656 steps on 9600 cells for two tides: a minute.

Theme: Coasts that flood and dry

Command: swmodel run tidal_flat

Plot: swmodel plot outputs/tidal_flat --field eta --field speed --arrows --time "21 h"

Verification: the volume changes by what flows through the open boundary. The basin is short compared with the tidal
wavelength, so while the tide rises the level of water that is connected to the sea differs from that of the boundary by
less than a third of the amplitude.
"""

import numpy as np

from ..config.options.case import Case, option
from ..ocean.terms.open_boundaries import boundary_constituents

M2_PERIOD = boundary_constituents(["M2"], "")[0].period  # s


class TidalFlat(Case):
    high: float = option(1.2, "m", "height of the flats in the east above mean sea level")
    low: float = option(-1.0, "m", "height of the western edge of the flats above mean sea level", lt=0)
    creek: float = option(3.0, "m", "depth of the creek in its middle below the flats", ge=0)
    width: float = option(150.0, "m", "half-width of the creek", gt=0)

    grid_kinds = ("plane",)

    defaults = {
        "grid": {"nx": 120, "ny": 80, "dx": 50.0, "dy": 50.0, "periodic_x": False, "periodic_y": False},
        "physics": {"depth": 6.0, "manning": 0.025},
        "drying": {"active": True},
        "open_boundaries": {"sides": ("west",), "constituents": ("M2",), "amplitude": (1.5,)},
        "time": {"cfl": 0.5},
        "run": {"days": 2 * M2_PERIOD / 86400},
        "output": {"every": M2_PERIOD / 24, "fields": ("eta", "h", "u", "v", "speed"), "maxima": ("eta",)},
    }  # fmt: skip

    def depth(self, config, at):
        """`physics.depth` in the western seventh, then flats with the creek, which ends before the eastern side."""
        x, y = at.x / at.length_x, at.y / at.length_y
        flats = np.interp(x, (1 / 7, 1 / 3, 1.0), (config.physics.depth, -self.low, -self.high))
        distance_over_width = (y - 0.5 - 0.15 * np.sin(3 * np.pi * x)) * at.length_y / self.width
        taper = np.clip((x - 1 / 3) / 0.05, 0.0, 1.0) * np.clip((0.9 - x) / 0.3, 0.0, 1.0)
        return flats + self.creek * taper * np.exp(-(distance_over_width**2))

    def eta(self, config, at):
        """The level of high water, m, at which the tide of the boundary starts."""
        return float(sum(config.open_boundaries.amplitude))
