"""What the tests of wind-driven gyres share."""

import numpy as np


def streamfunction(simulation):
    """Transport streamfunction divided by the resting depth, m2 s-1, at the corners of a closed basin: the sum of h v
    dx from the western wall."""
    h, v = simulation.state.h, simulation.state.v
    flux = 0.5 * (h + np.roll(h, -1, axis=0)) * v
    return np.cumsum(flux, axis=1) * simulation.config.grid.dx / simulation.config.physics.depth
