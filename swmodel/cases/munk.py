"""Munk's gyre: wind over a basin on a beta plane, with lateral friction and no slip along the walls.

Physics: a zonal wind, westward in the south and eastward in the north, drives a closed gyre as in the case `stommel`,
but with viscosity in place of drag. The western boundary current is as wide as delta = (viscosity/beta)^(1/3), and a
weak countercurrent runs along its eastern edge. The wind is so weak that the flow stays linear. Gravity is small, which
allows long time steps; the steady current does not depend on it, and sea level is inversely proportional to it.

Reference: Munk, W. H. (1950), On the wind-driven ocean circulation, J. Meteorol. 7, 79-93.

Cost: 86 000 steps on 10 000 cells: about ten seconds on two cores.

Theme: Eddies and gyres

Command: swmodel run munk

Plot: swmodel plot outputs/munk --field v --contours eta

Verification: v changes its sign at 2 pi delta/sqrt(3) from the western wall, where the streamfunction is 1.163 times
that of the interior. Both hold up to relative errors of order delta/Lx, which `streamfunction` includes. Along the
middle of the basin the model agrees with `streamfunction` within 2 % if delta spans three cells or more.
"""

import math

import numpy as np

from .stommel import Stommel


class Munk(Stommel):
    defaults = {
        "grid": {"nx": 100, "ny": 100, "dx": 10e3, "dy": 10e3, "periodic_x": False, "periodic_y": False},
        "physics": {"gravity": 0.1, "depth": 4000.0, "f0": 1e-4, "beta": 2e-11, "viscosity": 4320.0, "slip": "no"},
        "run": {"days": 160.0},
        "output": {"every": 10 * 86400.0},
    }


def boundary_layer_width(config):
    """Width scale delta = (viscosity/beta)^(1/3) of the western boundary current, m."""
    return (config.physics.viscosity / config.physics.beta) ** (1 / 3)


def streamfunction(config, x, y):
    """Steady state of the linear equations along the middle of the basin, m2 s-1, with v = d psi/dx.

    psi = X(x) sin(kappa y), with kappa = pi/Ly and F = wind pi/(density depth Ly), solves

        viscosity ∇⁴psi - beta d psi/dx = F sin(kappa y)

    with X = dX/dx = 0 in the west and the east (no slip). In the south and the north it allows slip, so there it holds
    only away from the friction layers along the walls.

    X is the uniform F/(viscosity kappa⁴) + sum_k a_k exp(lambda_k x) with the four roots of
    lambda⁴ - 2 kappa² lambda² - lambda/delta³ + kappa⁴ = 0.

    Args:
        x, y: distance from the western and the southern wall, m, of shapes that broadcast.

    Reference: Munk (1950), who neglects kappa in the friction.
    """
    grid, physics = config.grid, config.physics
    Lx, Ly, delta = grid.nx * grid.dx, grid.ny * grid.dy, boundary_layer_width(config)
    kappa = math.pi / Ly
    uniform_part = config.case.wind * math.pi / (physics.density * physics.depth * Ly) / (physics.viscosity * kappa**4)
    roots = np.roots([1, 0, -2 * (kappa * delta) ** 2, -1, (kappa * delta) ** 4]) / delta
    wall_x = np.where(roots.real > 0, Lx, 0.0)  # exponents are zero at the wall where a mode is largest
    west, east = np.exp(-roots * wall_x), np.exp(roots * (Lx - wall_x))
    weights = np.linalg.solve(
        np.array([west, east, delta * roots * west, delta * roots * east]),
        [-uniform_part, -uniform_part, 0.0, 0.0],
    )
    modes = weights * np.exp(roots * (np.asarray(x)[..., None] - wall_x))
    return (uniform_part + modes.sum(-1).real) * np.sin(kappa * np.asarray(y))
