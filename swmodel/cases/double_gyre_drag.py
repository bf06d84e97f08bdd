"""A twin experiment: a patch of strong drag, found from altimeter observations of the interface that it displaces.

Physics: the ocean of `double_gyre_twin`, but the drag at the base of the layer rises to 21 times its value in a round
patch under the western end of the jet. The initial state is known exactly; the first guess has the drag of the
surroundings everywhere. Within twenty days the drag of the patch displaces the interface by 4 m rms, compared with the
first guess. Observations by an altimeter, with errors of 3.2 m, are enough to find the patch.

Reference: Das, S. K. and R. W. Lardner (1991), On the estimation of parameters of hydraulic models by assimilation of
periodic tidal data, J. Geophys. Res. 96 (C8), 15187-15196.

Cost: 144 000 steps on 5 000 cells before the window, then many runs of 1 600 steps: half a minute on two cores.

Theme: Assimilation

Command: swmodel assimilate double_gyre_drag

Plot: swmodel plot outputs/double_gyre_drag-assimilate

Verification: the truth, `linear_drag`. Where the error of the first guess is at least half of its largest value, the
rms error of the analysis is at most a third of that of the first guess. Where there is no current, the drag cannot be
found.
"""

import numpy as np

from ..config.options.case import option
from .double_gyre_twin import DoubleGyreTwin


class DoubleGyreDrag(DoubleGyreTwin):
    lead: float = option(0.0, "days", "age of the state that is taken as first guess", ge=0)
    moorings: int = option(0, "", "number of moorings along x and along y", ge=0, le=1000)
    patch: float = option(1e-6, "s-1", "drag in the middle of the patch minus that around it", ge=0)
    radius: float = option(0.1, "1", "e-folding radius of the patch as a fraction of the basin's length in y", gt=0)

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
        """Drag of the surroundings plus that of the patch, with its middle at 0.3 of the length in x, 0.5 in y."""
        x, y = at.from_west - 0.3 * at.length_x, at.from_south - 0.5 * at.length_y
        return config.physics.linear_drag + self.patch * np.exp(-(x**2 + y**2) / (self.radius * at.length_y) ** 2)

    def prior_config(self, config):
        """The configuration without the patch, which the first guess does not know."""
        return config.model_copy(update={"case": self.model_copy(update={"patch": 0.0})})
