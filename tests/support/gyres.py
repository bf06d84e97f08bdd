"""What the tests of wind-driven gyres share."""

import numpy as np


def streamfunction(simulation):
    """Transport streamfunction over the resting depth at the corners of a closed basin, m2 s-1: the sum of h v dx from
    the western wall."""
    h, v = simulation.state.h, simulation.state.v
    flux = 0.5 * (h + np.roll(h, -1, axis=0)) * v
    return np.cumsum(flux, axis=1) * simulation.config.grid.dx / simulation.config.physics.depth
