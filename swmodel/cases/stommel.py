"""Stommel's gyre: wind over a basin on a beta plane with linear bottom drag; the return flow is along the western wall.

Physics: a zonal wind, westward in the south and eastward in the north, drives a closed gyre. In the interior the curl
of the wind balances beta v (Sverdrup); along the western wall drag balances beta v, in a current as wide as
linear_drag/beta. The wind is so weak that the flow stays linear. Gravity is small, which allows long time steps; the
steady current does not depend on it (if |eta| is well below the depth), and sea level is proportional to its inverse.

Reference: Stommel, H. (1948), The westward intensification of wind-driven ocean currents, Trans. Amer. Geophys. Union
29, 202-206.

Cost: 55 000 steps on 10 000 cells: about five seconds on two cores.

Theme: Eddies and gyres

Command: swmodel run stommel

Plot: swmodel plot outputs/stommel --field v --contours eta

Verification: `streamfunction`; the model agrees with it within 1 to 2 % if linear_drag/beta spans four cells or more.
"""

import math

import numpy as np

from ..config.options.case import Case, option


class Stommel(Case):
    wind: float = option(0.02, "Pa", "amplitude of the wind stress")

    grid_kinds = ("plane",)

    defaults = {
        "grid": {"nx": 100, "ny": 100, "dx": 10e3, "dy": 10e3, "periodic_x": False, "periodic_y": False},
        "physics": {"gravity": 0.1, "depth": 4000.0, "f0": 1e-4, "beta": 2e-11, "linear_drag": 1e-6},
        "run": {"days": 120.0},
        "output": {"every": 10 * 86400.0},
    }

    def wind_x(self, config, at):
        return -self.wind * np.cos(np.pi * at.from_south / at.length_y)


def streamfunction(config, x, y):
    """Steady state of the linear equations, m2 s-1, with v = d psi/dx and u = - d psi/dy.

    psi = (F/(r kappa²)) sin(kappa y) [1 - p exp(D₊ x) - (1 - p) exp(D₋ x)] solves
    r ∇²psi + beta d psi/dx = -F sin(kappa y) with psi = 0 on the walls. F = wind pi/(density depth Ly), kappa = pi/Ly,
    D± = -beta/2r ± sqrt((beta/2r)² + kappa²), p = (1 - exp(D₋ Lx)) / (exp(D₊ Lx) - exp(D₋ Lx)), r = linear_drag.

    Args:
        x, y: distance from the western and the southern wall, m.
    """
    grid, physics = config.grid, config.physics
    Lx, Ly, r = grid.nx * grid.dx, grid.ny * grid.dy, physics.linear_drag
    kappa = math.pi / Ly
    F = config.case.wind * math.pi / (physics.density * physics.depth * Ly)
    root = math.hypot(physics.beta / (2 * r), kappa)
    rise, fall = root - physics.beta / (2 * r), -root - physics.beta / (2 * r)
    # exp(rise Lx), which overflows in a basin that is wide compared with its length in y, is divided out of p.
    p = (1 - math.exp(fall * Lx)) / (1 - math.exp((fall - rise) * Lx))
    shape = 1 - p * np.exp(rise * (x - Lx)) - (1 - p * math.exp(-rise * Lx)) * np.exp(fall * x)
    return F / (r * kappa**2) * np.sin(kappa * y) * shape
