"""A twin experiment with errors of the model: winds that the first guess does not know, found with the initial state.

Physics: the ocean of `double_gyre_twin`, on a grid of 40 km. Weather blows over it: errors of the wind stress in x and
in y that vary in space and time. They are Gaussian random functions with the covariance sigma² exp(-r²/(2 l²) - t²/(2
T²)), sums of waves of random wavenumber, frequency and phase. The first guess has the steady wind alone, and starts
from the same ocean ten days earlier. Within the window of twenty days the winds move the interface by as much as the
eddies' errors. So no initial state explains all observations; with corrections of the wind the run does.

Reference: Trémolet, Y. (2006), Accounting for an imperfect model in 4D-Var, Q. J. R. Meteorol. Soc. 132, 2483-2504.
Rahimi, A. and B. Recht (2007), Random features for large-scale kernel machines, Advances in Neural Information
Processing Systems 20, 1177-1184, for the sums of waves.

Cost: 72 000 steps of 1 250 cells before the window, and 800 steps within it, often: some minutes on two cores.

Theme: Assimilation

Command: swmodel assimilate double_gyre_winds

Plot: swmodel plot outputs/double_gyre_winds-assimilate

Known answer: the truth. At the end of the window and of the forecast its errors are at most 0.6 of those with the
controls eta, u and v alone. Of the wind its curl is found, which moves the interface.
"""

from functools import cache

import numpy as np

from ..config.options.case import option
from .double_gyre_twin import DoubleGyreTwin

#: Waves in the sum of each component.
N_WAVES = 64
DAY = 86400.0


class DoubleGyreWinds(DoubleGyreTwin):
    lead: float = option(10.0, "days", "by which the state that is taken for the first guess is older", ge=0)
    weather: float = option(0.15, "Pa", "standard deviation of the unknown wind stress, in x and in y", ge=0)
    weather_length: float = option(300e3, "m", "correlation length of the unknown wind stress", gt=0)
    weather_days: float = option(5.0, "days", "correlation time of the unknown wind stress", gt=0)

    spacing: float = option(40e3, "m", "of observations along a track", gt=0)

    defaults = DoubleGyreTwin.defaults | {
        "grid": DoubleGyreTwin.defaults["grid"] | {"nx": 25, "ny": 50, "dx": 40e3, "dy": 40e3},
        "physics": DoubleGyreTwin.defaults["physics"] | {"viscosity": 600.0},
        "forcing": {"every": DAY},
        "time": {"stepper": "ab3", "dt": 2160.0},
        "assimilation": {
            "controls": ["eta", "u", "v", "wind_x_correction", "wind_y_correction"],
            "every_steps": 10,
            "length": 130e3,
            "balanced": True,
            "sigma_eta": 20.0,
            "sigma_velocity": 0.01,
            "sigma_wind_correction": 0.15,
            "correction_every": 2 * DAY,
            "correction_length": 300e3,
            "correlation_time": 5 * DAY,
            "outer": 4,
            "inner": 40,
            "cycle_steps": 40,
            "localisation": 450e3,
            "relaxation": 0.2,
        },
        "ensemble": {"members": 80},
    }

    def wind_x(self, config, at, t):
        return super().wind_x(config, at) + self.unknown_stress(at, t, "x")

    def wind_y(self, config, at, t):
        return 0 * at.x + self.unknown_stress(at, t, "y")

    def unknown_stress(self, at, t, axis):
        """The unknown wind stress, Pa."""
        return self.weather * random_waves(at, t, self.weather_length, self.weather_days * DAY, self.seed, axis)

    def prior_config(self, config):
        """The configuration of one who does not know of the weather."""
        return config.model_copy(update={"case": self.model_copy(update={"weather": 0.0})})


def random_waves(at, t, length, period, seed, component):
    """sqrt(2/n) sum cos(k x + m y + w t + phase): Gaussian, of covariance exp(-r²/(2 length²) - t²/(2 period²))."""
    x, y = ((each - start) / length for each, start in zip((at.x, at.y), at.origin, strict=True))
    total = sum(np.cos(k * x + m * y + w * t / period + phase) for k, m, w, phase in draw_waves(seed, component))
    return np.sqrt(2 / N_WAVES) * total


@cache
def draw_waves(seed, component):
    """(k, m, w, phase) of each wave, by x, y or level: standard normal, and uniform on a circle."""
    rng = np.random.default_rng([seed, ("x", "y", "level").index(component)])
    return [(*rng.standard_normal(3), 2 * np.pi * rng.random()) for _ in range(N_WAVES)]
