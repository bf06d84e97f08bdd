"""A twin experiment of a few cells and steps, and an observation operator that looks at one row of cells."""

import jax.numpy as jnp
import numpy as np

import swmodel

DAY = 86400.0


def small(case="double_gyre_twin", **overrides):
    """Its configuration: 13 x 11 cells of 100 km, steps of two hours, 7 of them in the window and 5 after it."""
    sizes = {"grid.nx": 11, "grid.ny": 13, "grid.dx": 100e3, "grid.dy": 100e3, "physics.viscosity": 5e3}
    times = {"time.dt": DAY / 12, "run.steps": 7, "output.every_steps": 3}
    spans = {"case.spinup": 2.0, "case.lead": 0.5, "case.forecast": 5 / 12}
    return swmodel.load(case, sizes | times | spans | overrides, environ={})


class Row:
    """Sea level, at every second step, in the cells of row 5 of the grid."""

    every, row = 2, 5

    def __init__(self, block, nx):
        inside = block.y.start <= self.row < block.y.stop
        self.j = self.row - block.y.start if inside else 0
        self.place = np.zeros((block.x.stop - block.x.start, nx))
        if inside:
            self.place[np.arange(len(self.place)), np.arange(block.x.start, block.x.stop)] = 1

    def observe(self, view, k):
        """This process's share of sample k."""
        eta = (view.state.h - view.depth)[self.j]
        return eta @ jnp.asarray(self.place, eta.dtype)  # zeros are added, which changes no bit

    def collect(self, series):
        """All values, one after the other."""
        return np.ravel(series)
