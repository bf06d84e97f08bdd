"""The tide in a gulf whose depth increases quadratically towards its mouth.

Physics: the tide of the ocean enters through the mouth in the east and grows towards the closed head in the west.
Linear drag damps it. The reflected wave leaves through the mouth.

Reference: Lynch and Gray (1978), J. Hydraul. Div. ASCE 104, 1409-1428.

Cost: 8500 steps of rk4 on 320 cells for four days: a second or two.

Theme: Tides and storms

Command: swmodel run gulf_tide

Plot: swmodel plot outputs/gulf_tide --field eta --field eta_error

Verification: where the depth is H0 x², sea level is the real part of `(A x^s1 + B x^s2) exp(iwt)` with
`s = -1/2 ± sqrt(1/4 - (w² - iw r)/(g H0))`, the frequency w of M2 and r = `physics.linear_drag`. A and B follow from
zero current at the head and `amplitude` at the mouth.
For small amplitudes the error is of second order in the grid spacing: with the default cells and an amplitude of 10 µm
it is 0.1 % of the amplitude. With the default amplitude nonlinear effects at the shallow head make it 4.5 %.
"""

import numpy as np

from ..config.options.case import Case, option
from ..ocean.terms.open_boundaries import boundary_constituents

M2_PERIOD = boundary_constituents(["M2"], "")[0].period  # s


class GulfTide(Case):
    amplitude: float = option(0.01, "m", "amplitude of the M2 tide at the mouth; at the head it is ten times as large")
    head: float = option(60e3, "m", "distance of the head of the gulf from where the depth would be zero", gt=0)

    grid_kinds = ("plane",)

    defaults = {
        "grid": {"nx": 80, "ny": 4, "dx": 3e3, "dy": 3e3, "periodic_x": False, "periodic_y": False},
        "physics": {"depth": 100.0, "linear_drag": 2e-5},
        "open_boundaries": {"sides": ("east",), "constituents": ("M2",)},
        "time": {"stepper": "rk4", "cfl": 0.6},
        "run": {"days": 4.0, "dtype": "float64"},
        "output": {"every": M2_PERIOD / 8},
    }

    def depth(self, config, at):
        """The depth, which is `physics.depth` at the mouth."""
        return config.physics.depth * ((config.case.head + at.x) / mouth_distance(config)) ** 2

    def boundary_tide_level(self, config, at):
        return cosine_and_sine(boundary_tide(config)[0])

    def boundary_tide_transport_x(self, config, at):
        return cosine_and_sine(boundary_tide(config)[1])

    def analytic_solution(self, config, at, t):
        """The solution after the waves from the start at rest have left."""
        return {"eta": (solution(config, at.x)[0] * np.exp(1j * m2_frequency() * t)).real}


def cosine_and_sine(amplitude):
    """The factors of cos(wt) and sin(wt), [constituent, part] for M2 alone, from the complex factor of exp(iwt)."""
    return [[amplitude.real, -amplitude.imag]]


def mouth_distance(config):
    """Distance of the open faces from where the depth would be zero, m."""
    return config.case.head + (config.grid.nx - 1) * config.grid.dx


def m2_frequency():
    """The angular frequency w of M2, s-1."""
    return 2 * np.pi / M2_PERIOD


def solution(config, x):
    """Complex factors of exp(iwt) for sea level, m, and current in x, m s-1, at distances x from the head."""
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
    """Complex factors of exp(iwt) for sea level, m, and transport, m2 s-1, at the mouth, with the model's depth."""
    level, current = solution(config, mouth_distance(config) - config.case.head)
    mouth_x, half = mouth_distance(config), config.grid.dx / 2
    depth = config.physics.depth * ((mouth_x - half) ** 2 + (mouth_x + half) ** 2) / (2 * mouth_x**2)
    return level, depth * current
