"""The pressure at sea level and the wind at 10 m of a hurricane, by the formulas of Holland (1980).

    p = p_c + dp exp(-(R/r)^B)
    V = sqrt(e V_m² (R/r)^B exp(-(R/r)^B) + (r f / 2)²) - r |f| / 2
    B = rho_a e V_m² / dp, limited to 0.5 to 2.5

r is the distance from the centre, R the radius of the largest wind, p_c the pressure in the centre, dp the pressure
around the storm minus p_c (at least 1 hPa), f the Coriolis parameter and rho_a the density of the air.

V, the gradient wind, is in balance with the pressure gradient; it is at most V_m. If the wind and the pressure of a
track imply a B outside these limits, B is the limit: V_m and the pressures stay those of the track, and V is not in
balance. The wind at 10 m is GRADIENT_TO_SURFACE_WIND times V, turned inward by the angle of Bretschneider (1972),
plus V / V_m times the velocity of the storm, whose size is limited to MAX_MOTION_FRACTION of the track's wind. V_m is
the track's largest one-minute wind at 10 m, minus the size of that velocity, divided by GRADIENT_TO_SURFACE_WIND. So
the wind nowhere exceeds that of the track. Drag coefficients are for ten-minute winds, which are ONE_TO_TEN_MINUTE_WIND
times one-minute winds.

Reference: Holland, G. J. (1980), Mon. Wea. Rev. 108, 1212-1218; for the factors Powell, Houston and Reinhold (1996),
Weather and Forecasting 11, 304-328.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

#: Wind at 10 m over gradient wind, and ten-minute mean over one-minute mean.
GRADIENT_TO_SURFACE_WIND, ONE_TO_TEN_MINUTE_WIND = 0.9, 0.88
#: Smallest and largest B.
HOLLAND_B_LIMITS = 0.5, 2.5
#: Largest fraction of the track's wind that the storm's motion contributes.
MAX_MOTION_FRACTION = 0.5
#: Density of the air rho_a, kg m-3.
AIR_DENSITY = 1.15
#: Smallest distance from the centre in the formulas, as a fraction of R.
MIN_RADIUS_FRACTION = 1e-3


class Storm(NamedTuple):
    """A hurricane at one time."""

    x: Any  # position of its centre: m, or on the Earth longitude, degrees
    y: Any  # m, or latitude, degrees
    max_wind: Any  # largest wind over a minute at 10 m, m s-1
    central_pressure: Any  # pressure in its centre, Pa
    outer_pressure: Any  # pressure around it, Pa
    max_wind_radius: Any  # radius of the largest wind, m
    u: Any = 0.0  # eastward velocity of the storm, m s-1
    v: Any = 0.0  # northward velocity of the storm, m s-1

    @property
    def pressure_deficit(self) -> float:
        """dp, Pa; at least 1 hPa."""
        return max(self.outer_pressure - self.central_pressure, 100.0)

    @property
    def motion_wind(self) -> float:
        """The part of the wind that the storm's motion adds, m s-1."""
        return min(math.hypot(self.u, self.v), MAX_MOTION_FRACTION * self.max_wind)

    @property
    def max_gradient_wind(self) -> float:
        """V_m, m s-1."""
        return (self.max_wind - self.motion_wind) / GRADIENT_TO_SURFACE_WIND

    @property
    def balanced_holland_b(self) -> float:
        """The B with which V_m is in balance with dp."""
        return AIR_DENSITY * math.e * self.max_gradient_wind**2 / self.pressure_deficit

    @property
    def holland_b(self) -> float:
        """B, within HOLLAND_B_LIMITS."""
        return min(max(self.balanced_holland_b, HOLLAND_B_LIMITS[0]), HOLLAND_B_LIMITS[1])


def pressure(storm: Storm, r):
    """p, Pa, at distances r, m, from the centre."""
    return storm.central_pressure + storm.pressure_deficit * np.exp(-scaled_radius_power(storm, r))


def scaled_radius_power(storm: Storm, r):
    """(R/r)^B."""
    return (storm.max_wind_radius / np.maximum(r, MIN_RADIUS_FRACTION * storm.max_wind_radius)) ** storm.holland_b


def gradient_wind(storm: Storm, r, f):
    """V, m s-1, at distances r, m, from the centre; f is the Coriolis parameter, s-1."""
    radius_power, coriolis_speed = scaled_radius_power(storm, r), 0.5 * r * np.abs(f)
    square = storm.balanced_holland_b * storm.pressure_deficit / AIR_DENSITY  # e V_m²
    return np.sqrt(square * radius_power * np.exp(-radius_power) + coriolis_speed**2) - coriolis_speed


def wind(storm: Storm, east, north, f):
    """The ten-minute winds u10 and v10, m s-1, at distances east and north, m, from the centre.

    Winds are turned inward by 10 degrees up to R and by 25 beyond 1.2 R; the sign of f, s-1, sets the sense of
    rotation.
    """
    r = np.hypot(east, north)
    speed, sense = gradient_wind(storm, r, f), np.where(f < 0, -1.0, 1.0)
    angle = np.radians(np.clip(10.0 + 75.0 * (r / storm.max_wind_radius - 1.0), 10.0, 25.0))
    along, inward = speed * np.cos(angle), speed * np.sin(angle)
    distance = np.maximum(r, MIN_RADIUS_FRACTION * storm.max_wind_radius)
    relative_speed, storm_speed = speed / max(storm.max_gradient_wind, 1e-9), max(math.hypot(storm.u, storm.v), 1e-9)
    motion_factor = relative_speed * storm.motion_wind / storm_speed
    u = GRADIENT_TO_SURFACE_WIND * (-sense * along * north - inward * east) / distance + motion_factor * storm.u
    v = GRADIENT_TO_SURFACE_WIND * (sense * along * east - inward * north) / distance + motion_factor * storm.v
    return ONE_TO_TEN_MINUTE_WIND * u, ONE_TO_TEN_MINUTE_WIND * v
