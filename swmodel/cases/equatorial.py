"""Waves of the equatorial beta plane: Kelvin, Rossby, mixed Rossby-gravity and inertia-gravity waves.

Physics: f = beta y makes the equator a waveguide, a few equatorial radii sqrt(c/beta) wide, with c = sqrt(g depth).
Gravity is reduced, as for a layer above the thermocline: c is 2 m/s and the radius 296 km. The channel is periodic in
x, and the walls are six radii from the equator, where the waves have decayed.

Reference: Matsuno (1966), J. Meteor. Soc. Japan 44, 25-43; Gill (1982), Atmosphere-Ocean Dynamics, chapter 11.

Cost: seconds, for 290 steps of rk4 on 9000 cells, one period of the Kelvin wave. A Rossby wave takes longer:
`swmodel run equatorial -s case.wave=rossby -s case.mode=1 --days 75`.

Theme: Waves and balanced flows

Command: swmodel run equatorial

Plot: swmodel plot outputs/equatorial --field eta --arrows

Verification: the wave keeps its shape and travels round the channel with the frequency omega of its branch and mode n,
omega²/c² - k² - beta k/omega = (2n + 1) beta/c. The Kelvin wave travels eastward at c, long Rossby waves westward at
c/(2n + 1). On the default grid the speed of the Kelvin wave is correct to 0.03 %, that of the Rossby wave with n = 1 to
1 %. The error is of second order in the grid spacing.
"""

import math
from typing import Literal

import numpy as np
from numpy.polynomial.hermite import hermval

from ..config.options.case import CaseFromAnalyticSolution, option
from ..errors import ConfigError

ROUND_TRIP_TIME = 100 * 40e3 / 2.0  # of the Kelvin wave in the default channel, s


class Equatorial(CaseFromAnalyticSolution):
    wave: Literal["kelvin", "rossby", "mixed", "gravity"] = option("kelvin", "", "branch of the dispersion relation")
    mode: int = option(1, "1", "meridional mode n of the Rossby and gravity waves", ge=1)
    waves: int = option(1, "1", "number of wavelengths in the channel", ge=1)
    amplitude: float = option(0.1, "m", "highest sea level; small relative to the depth, for a linear wave")

    grid_kinds = ("plane",)

    defaults = {
        "grid": {"nx": 100, "ny": 90, "dx": 40e3, "dy": 40e3, "periodic_x": True, "periodic_y": False,
                 "origin": "middle"},
        "physics": {"gravity": 0.04, "depth": 100.0, "beta": 2.28e-11},
        "time": {"stepper": "rk4", "cfl": 0.5},
        "run": {"days": ROUND_TRIP_TIME / 86400, "dtype": "float64"},
        "output": {"every": ROUND_TRIP_TIME / 16},
    }  # fmt: skip

    def analytic_solution(self, config, at, t):
        return dict(zip(("eta", "u", "v"), wave_solution(config, at, t), strict=True))


def kelvin_speed(config):
    """c = sqrt(g depth), m s-1: the speed of the Kelvin wave."""
    return math.sqrt(config.physics.gravity * config.physics.depth)


def equatorial_radius(config):
    """Equatorial radius of deformation sqrt(c/beta), m. Dimensionless formulas measure time in units of radius/c."""
    if config.physics.beta <= 0:
        raise ConfigError([f"physics.beta: equatorial waves need a positive beta, not {config.physics.beta:g} m-1 s-1"])
    return math.sqrt(kelvin_speed(config) / config.physics.beta)


def wavenumber(config):
    """Zonal wavenumber k, in units of 1/radius."""
    return 2 * math.pi * config.case.waves / (config.grid.nx * config.grid.dx) * equatorial_radius(config)


def scaled_frequency(wave, n, k):
    """The frequency omega of a wave in units of sqrt(beta c): a root of omega² - k² - k/omega = 2n + 1.

    Of the three roots for n >= 1 the largest is the eastward gravity wave and the middle one the Rossby wave. The mixed
    wave, n = 0, is the westward root of omega² - k omega = 1; for the Kelvin wave, n = -1, omega = k.
    """
    if wave == "kelvin":
        return k
    if wave == "mixed":
        return k / 2 - math.sqrt(k**2 / 4 + 1)
    roots = np.sort(np.roots([1, 0, -(k**2 + 2 * n + 1), -k]).real)
    return float(roots[{"rossby": 1, "gravity": 2}[wave]])


def frequency(config):
    """Angular frequency omega, s-1, negative for waves that travel west."""
    return (
        scaled_frequency(config.case.wave, config.case.mode, wavenumber(config))
        * kelvin_speed(config)
        / equatorial_radius(config)
    )


def meridional_structure(wave, n, k, y):
    """Meridional shapes of eta, u and v of a wave, y in radii from the equator; `wave_solution` combines them.

    Let D_m = H_m(y) exp(-y²/2), P = D_{n+1}/(omega - k) and M = 2n D_{n-1}/(omega + k). The shapes are (P - M)/2,
    (P + M)/2 and D_n. Those of the Kelvin wave are D_0, D_0 and 0.

    Reference: Matsuno (1966), written for v = D_n cos(k x - omega t).
    """
    if wave == "kelvin":
        return hermite_function(0, y), hermite_function(0, y), np.zeros_like(y)
    n = 0 if wave == "mixed" else n
    omega = scaled_frequency(wave, n, k)
    eastward_part = hermite_function(n + 1, y) / (omega - k)
    westward_part = 2 * n * hermite_function(n - 1, y) / (omega + k) if n else 0.0
    return (eastward_part - westward_part) / 2, (eastward_part + westward_part) / 2, hermite_function(n, y)


def hermite_function(n, y):
    """D_n = H_n(y) exp(-y²/2), with the physicists' Hermite polynomial."""
    return hermval(y, [0] * n + [1]) * np.exp(-(y**2) / 2)


def wave_solution(config, at, time):
    """The wave, eta in m, u and v in m s-1, at the given Points after `time` seconds.

    eta = -A p(y) sin(phase), u = -A (g/c) q(y) sin(phase), v = A (g/c) r(y) cos(phase), with phase = k x - omega t.
    p, q, r are the `meridional_structure`, y is zero where f = 0, and A is such that eta is at most `amplitude`.
    """
    case, k, L = config.case, wavenumber(config), equatorial_radius(config)
    p, q, r = meridional_structure(case.wave, case.mode, k, (at.y + config.physics.f0 / config.physics.beta) / L)
    sampled_y = np.linspace(-1, 1, 2001) * (4 + 2 * math.sqrt(case.mode))
    A = case.amplitude / np.abs(meridional_structure(case.wave, case.mode, k, sampled_y)[0]).max()
    phase, speed_per_height = k * at.x / L - frequency(config) * time, config.physics.gravity / kelvin_speed(config)
    return -A * p * np.sin(phase), -A * speed_per_height * q * np.sin(phase), A * speed_per_height * r * np.cos(phase)
