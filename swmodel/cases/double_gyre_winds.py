"""A twin experiment with model errors: winds that the first guess does not know, found together with the initial state.

Physics: the ocean of `double_gyre_twin` on a grid of 40 km, with weather: additional wind stress in x and y that varies
in space and time. It is a Gaussian random function with the covariance sigma² exp(-r²/(2 l²) - t²/(2 T²)) over a
distance r and a time t (sigma: `weather`, l: `weather_length`, T: `weather_days`), a sum of waves of random wavenumber,
frequency and phase. The first guess has only the steady wind, and starts from the same ocean ten days earlier. Within
the window of twenty days the weather moves the interface by as much as the errors of the initial eddies. So no initial
state explains all observations, unless the wind is corrected, too.

Reference: Trémolet, Y. (2006), Accounting for an imperfect model in 4D-Var, Q. J. R. Meteorol. Soc. 132, 2483-2504.
Rahimi, A. and B. Recht (2007), Random features for large-scale kernel machines, Advances in Neural Information
Processing Systems 20, 1177-1184, for the sums of waves.

Cost: 72 000 steps on 1 250 cells before the window, then many runs of 800 steps: some minutes on two cores.

Theme: Assimilation

Command: swmodel assimilate double_gyre_winds

Plot: swmodel plot outputs/double_gyre_winds-assimilate

Verification: the truth. At the end of the window and of the forecast the errors are at most 0.6 of those with the
controls eta, u and v alone. Of the wind only the curl is found, because it is the curl that moves the interface.
"""

from functools import cache

import numpy as np

from ..config.options.case import option
from .double_gyre_twin import DoubleGyreTwin

#: Number of waves in a sum.
N_WAVES = 64
DAY = 86400.0


class DoubleGyreWinds(DoubleGyreTwin):
    lead: float = option(10.0, "days", "age of the state that is taken as first guess", ge=0)
    weather: float = option(0.15, "Pa", "standard deviation of the unknown wind stress, in x and in y", ge=0)
    weather_length: float = option(300e3, "m", "correlation length of the unknown wind stress", gt=0)
    weather_days: float = option(5.0, "days", "correlation time of the unknown wind stress", gt=0)

    spacing: float = option(40e3, "m", "spacing of observations along a track", gt=0)

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

    def wind_x(self, config, at, t):  # type: ignore[override]  # unlike DoubleGyre's wind, it varies in time
        return super().wind_x(config, at) + self.unknown_stress(at, t, "x")

    def wind_y(self, config, at, t):
        return 0 * at.x + self.unknown_stress(at, t, "y")

    def unknown_stress(self, at, t, component):
        """The wind stress that the first guess does not know, Pa."""
        return self.weather * random_waves(at, t, self.weather_length, self.weather_days * DAY, self.seed, component)

    def prior_config(self, config):
        """The configuration without the weather, which the first guess does not know."""
        return config.model_copy(update={"case": self.model_copy(update={"weather": 0.0})})


def random_waves(at, t, length, correlation_time, seed, component):
    """sqrt(2/n) sum cos(k x + m y + w t + phase), covariance exp(-r²/(2 length²) - t²/(2 correlation_time²))."""
    x, y = ((each - start) / length for each, start in zip((at.x, at.y), at.origin, strict=True))
    waves = draw_waves(seed, component)
    total = sum(np.cos(k * x + m * y + w * t / correlation_time + phase) for k, m, w, phase in waves)
    return np.sqrt(2 / N_WAVES) * total


@cache
def draw_waves(seed, component):
    """(k, m, w, phase) of each wave of a component, x, y or level: standard normal k, m, w and uniform phase."""
    rng = np.random.default_rng([seed, ("x", "y", "level").index(component)])
    return [(*rng.standard_normal(3), 2 * np.pi * rng.random()) for _ in range(N_WAVES)]
