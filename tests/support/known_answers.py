"""What the tests of known answers share: a model at a later time, the points of its grid, the order of its error."""

import math

import numpy as np

import swmodel
from swmodel.ocean.coordinates import points


def simulate(case, overrides, seconds):
    """A Simulation of the case in double precision, advanced to the first step at or after `seconds`."""
    config = swmodel.load(case, {"run.dtype": "float64", **overrides}, environ={})
    simulation = swmodel.Simulation(config)
    simulation.advance(math.ceil(seconds / simulation.dt - 1e-6))
    return simulation


def whole(config, location="centre"):
    """The Points of a location on the whole grid."""
    return points(config.grid, location, range(config.grid.ny), range(config.grid.nx))


def refined(grid, factor):
    """Overrides for the grid with `factor` times the cells each way on the same domain."""
    cells = {f"grid.{key}": grid[key] * factor for key in ("nx", "ny")}
    return cells | {f"grid.{key}": grid[key] / factor for key in ("dx", "dy")}


def order(coarse, fine):
    """Order of convergence of an error that falls from `coarse` to `fine` where the spacing is halved."""
    return math.log2(coarse / fine)


def streamfunction(simulation):
    """Transport streamfunction divided by the resting depth, m2 s-1, at the corners of a closed basin: the sum of h v
    dx from the western wall."""
    h, v = simulation.state.h, simulation.state.v
    flux = 0.5 * (h + np.roll(h, -1, axis=0)) * v
    return np.cumsum(flux, axis=1) * simulation.config.grid.dx / simulation.config.physics.depth
