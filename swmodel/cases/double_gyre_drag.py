"""A twin experiment: a rough patch of the sea floor, found from what an altimeter sees of the currents that it slows.

Physics: the ocean of `double_gyre_twin`, except for bottom drag that is 20 times as strong in a round patch under the
western end of the jet. The first state is known exactly; the first guess has the drag of the surroundings everywhere.
Within twenty days the drag of the patch turns currents and interface away from those of the first guess, by 4 m rms.
What an altimeter sees of that, with errors of 3.2 m, is enough to find the patch.

Reference: Das, S. K. and R. W. Lardner (1991), On the estimation of parameters of hydraulic models by assimilation of
periodic tidal data, J. Geophys. Res. 96 (C8), 15187-15196.

Cost: 144 000 steps of 5 000 cells before the window, and 1 600 steps within it, often: half a minute on two cores.

Theme: Assimilation

Command: swmodel assimilate double_gyre_drag

Plot: swmodel plot outputs/double_gyre_drag-assimilate

Known answer: the truth, `linear_drag`. Where the first guess is off by half or more, the drag that is found is off by
at most a third of that. Where there is no current it cannot be found.
"""

import numpy as np

from ..config.options.case import option
from .double_gyre_twin import DoubleGyreTwin


class DoubleGyreDrag(DoubleGyreTwin):
    lead: float = option(0.0, "days", "by which the state that is taken for the first guess is older", ge=0)
    moorings: int = option(0, "", "moorings in x and in y", ge=0, le=1000)
    patch: float = option(1e-6, "s-1", "drag in the middle of the patch beyond that around it", ge=0)
    radius: float = option(0.1, "1", "e-folding radius of the patch as a part of the basin's height", gt=0)

    defaults = DoubleGyreTwin.defaults | {
        "run": {"days": 20.0},
        "assimilation": {
            "controls": ["linear_drag"],
            "every_steps": 20,
            "length": 200e3,
            "sigma_linear_drag": 5e-7,
            "outer": 4,
            "inner": 12,
        },
    }

    def linear_drag(self, config, at):
        """Drag of the surroundings and of the patch, whose middle lies at 0.3 of the basin's length, half-way up."""
        x = at.x - at.origin[0] + config.grid.dx / 2 - 0.3 * at.length_x
        y = at.y - at.origin[1] + config.grid.dy / 2 - 0.5 * at.length_y
        return config.physics.linear_drag + self.patch * np.exp(-(x**2 + y**2) / (self.radius * at.length_y) ** 2)

    def prior_config(self, config):
        """The configuration of one who does not know of the patch."""
        return config.model_copy(update={"case": self.model_copy(update={"patch": 0.0})})
