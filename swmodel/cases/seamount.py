"""A current over a seamount on a rotating plane: an anticyclone grows over the summit, and a cyclone is swept away.

Physics: a uniform current in a channel meets a Gaussian seamount. Columns of water conserve their potential vorticity
(f + zeta)/h. Those that climb the seamount are squeezed and rotate anticyclonically. Those that are over it at the
start are stretched as they leave and rotate cyclonically. A weak current stays blocked in a Taylor column over the
summit; the default current is strong enough to sweep the cyclone downstream. With `-s case.speed=0` the water stays at
rest, to the last bit, whatever the height of the seamount.

Reference: Huppert, H. E. and K. Bryan (1976), Topographically generated eddies, Deep-Sea Res. 23, 655-679.

Cost: 52 000 steps on 18 432 cells: about ten seconds on two cores.

Theme: Eddies and gyres

Command: swmodel run seamount

Plot: swmodel plot outputs/seamount --field zeta --contours depth

Verification: when the initial water has left, potential vorticity over the seamount is that of the current upstream.
Then zeta = `squeezed_vorticity` = -f (depth - h)/depth there, and the cyclone downstream is about as strong.
"""

import numpy as np

from ..config.options.case import Case, option


class Seamount(Case):
    speed: float = option(0.25, "m s-1", "speed of the current, positive eastward")
    height: float = option(0.05, "1", "height of the seamount as a fraction of the depth", lt=1)
    radius: float = option(1 / 12, "1", "e-folding radius of the seamount as a fraction of the channel's width", gt=0)

    grid_kinds = ("plane",)

    defaults = {
        "grid": {"nx": 192, "ny": 96, "dx": 5e3, "dy": 5e3, "periodic_x": True, "periodic_y": False,
                 "origin": "middle"},
        "physics": {"gravity": 9.81, "depth": 500.0, "f0": 1e-4},
        "run": {"days": 15.0},
        "output": {"every": 43200.0, "fields": ["h", "u", "v", "eta", "zeta", "q"]},
    }  # fmt: skip

    def depth(self, config, at):
        return config.physics.depth * (1 - seamount_height(config, at))

    def eta(self, config, at):
        physics = config.physics
        return -self.speed / physics.gravity * (physics.f0 * at.y + physics.beta * at.y**2 / 2)

    def u(self, config, at):
        # The divergence of depth u is zero over the seamount, so the first gravity waves are weak.
        return self.speed / (1 - seamount_height(config, at))


def seamount_height(config, at):
    """Height of the seamount as a fraction of the depth, [rows, columns]: height exp(-r²/R²).

    r is the distance from the summit, on the axis of the channel at a third of its length; R = radius length_y.
    """
    x, y = at.x + at.length_x / 6, at.y
    return config.case.height * np.exp(-(x**2 + y**2) / (config.case.radius * at.length_y) ** 2)


def squeezed_vorticity(config, at):
    """Relative vorticity of a column that has climbed to the given points from the flat floor, s-1: f0 (h/depth - 1).

    h is the thickness of water at rest; beta is neglected. The formula holds if sea level varies little compared with
    the height of the seamount, and if the current is not blocked: |f0| R height is less than about the speed.
    """
    return -config.physics.f0 * seamount_height(config, at)
