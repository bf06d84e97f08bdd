"""The tide in a gulf that becomes shallow as the square of the distance from its head.

Physics: the tide of the ocean enters through the mouth in the east and grows towards the closed head in the west.
Linear drag weakens it. The reflected wave leaves through the mouth.

Reference: Lynch and Gray (1978), J. Hydraul. Div. ASCE 104, 1409-1428.

Cost: 8500 steps of rk4 on 320 cells for four days: a second or two.

Theme: Tides and storms

Command: swmodel run gulf_tide

Plot: swmodel plot outputs/gulf_tide --field eta --field eta_error

Known answer: over the depth H0 x² sea level is the real part of `(A x^s1 + B x^s2) exp(iwt)` with
`s = -1/2 ± sqrt(1/4 - (w² - iw r)/(g H0))`. A and B follow from no current at the head and `amplitude` at the mouth.
The error is of second order in the spacing: 0.1 % of the amplitude with the default cells.
"""

import numpy as np

from ..config.options.case import Case, option
from ..ocean.terms.open_boundaries import boundary_constituents

#: Of M2, s.
M2_PERIOD = boundary_constituents(["M2"], "")[0].period


class GulfTide(Case):
    amplitude: float = option(0.01, "m", "of the tide M2 in the mouth; ten times as much at the head")
    head: float = option(60e3, "m", "from where the depth would be zero to the head of the gulf", gt=0)

    kinds = ("plane",)

    defaults = {
        "grid": {"nx": 80, "ny": 4, "dx": 3e3, "dy": 3e3, "periodic_x": False, "periodic_y": False},
        "physics": {"depth": 100.0, "linear_drag": 2e-5},
        "open_boundaries": {"sides": ("east",), "constituents": ("M2",)},
        "time": {"stepper": "rk4", "cfl": 0.6},
        "run": {"days": 4.0, "dtype": "float64"},
        "output": {"every": M2_PERIOD / 8},
    }

    def depth(self, config, at):
        """`physics.depth` at the mouth."""
        return config.physics.depth * ((config.case.head + at.x) / mouth_distance(config)) ** 2

    def boundary_tide_level(self, config, at):
        return cosine_and_sine(boundary_tide(config)[0])

    def boundary_tide_transport_x(self, config, at):
        return cosine_and_sine(boundary_tide(config)[1])

    def analytic_solution(self, config, at, t):
        """After the waves of the start from rest have gone."""
        return {"eta": (solution(config, at.x)[0] * np.exp(1j * m2_frequency() * t)).real}


def cosine_and_sine(amplitude):
    """The factors of cos(wt) and sin(wt) of M2 alone, [constituent, part], from the complex one of exp(iwt)."""
    return [[amplitude.real, -amplitude.imag]]


def mouth_distance(config):
    """Distance of the open faces from where the depth would be zero, m."""
    return config.case.head + (config.grid.nx - 1) * config.grid.dx


def m2_frequency():
    """w, s-1."""
    return 2 * np.pi / M2_PERIOD


def solution(config, x):
    """Complex amplitudes of sea level, m, and of the current in x, m s-1, of exp(iwt) at distances x from the head."""
    w, r, g = m2_frequency(), config.physics.linear_drag, config.physics.gravity
    depth_coefficient, mouth_x = config.physics.depth / mouth_distance(config) ** 2, mouth_distance(config)
    s = -0.5 + np.array([1, -1]) * np.sqrt(0.25 - (w**2 - 1j * w * r) / (g * depth_coefficient))
    x = config.case.head + x
    head = config.case.head
    factors = np.linalg.solve(
        [s * head ** (s - 1) / mouth_x**s, (mouth_x / mouth_x) ** s], [0.0, config.case.amplitude]
    )
    level = sum(a * (x / mouth_x) ** power for a, power in zip(factors, s, strict=True))
    slope = sum(a * power * x ** (power - 1) / mouth_x**power for a, power in zip(factors, s, strict=True))
    return level, -g * slope / (1j * w + r)


def boundary_tide(config):
    """Complex amplitudes of sea level, m, and of transport, m2 s-1, of the solution at the mouth.

    The depth there is the mean of the cells on either side, as in the model.
    """
    level, current = solution(config, mouth_distance(config) - config.case.head)
    mouth_x, half = mouth_distance(config), config.grid.dx / 2
    depth = config.physics.depth * ((mouth_x - half) ** 2 + (mouth_x + half) ** 2) / (2 * mouth_x**2)
    return level, depth * current
