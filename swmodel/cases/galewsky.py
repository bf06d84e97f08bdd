"""A mid-latitude jet on a sphere, which rolls up into eddies within six days.

Physics: a narrow zonal jet of 80 m/s between 25.7 and 64.3 degrees north is in balance with a layer of 10 km mean
depth. A small bump in sea level triggers the instability. The walls of the band are where the flow is at rest.

Reference: Galewsky, Scott and Polvani (2004), Tellus A 56, 429-440.

Cost: 8640 steps of rk4 on 57 600 cells for six days: eight seconds of processor time.

Theme: Eddies and gyres

Command: swmodel run galewsky -s output.every="6 h"

Plot: swmodel plot outputs/galewsky --field zeta
swmodel animate outputs/galewsky --field zeta

Verification: without the bump (`-s case.bump=0`) the jet is steady, except for an error of second order in the grid
spacing. With it the map of vorticity at day six looks like that in the reference: a wave train that has rolled up.
"""

import functools
import math

import numpy as np

from ..config.options.case import Case, option
from ..errors import ConfigError

#: Latitudes of the edges of the jet in the reference, radians.
JET_SOUTH, JET_NORTH = math.pi / 7, math.pi / 2 - math.pi / 7

#: Latitude of the middle of the bump, and its widths in longitude and latitude, radians.
BUMP_LATITUDE, BUMP_WIDTH_LON, BUMP_WIDTH_LAT = math.pi / 4, 1 / 3, 1 / 15

#: Number of points of the Gauss-Legendre quadrature.
N_QUADRATURE_POINTS = 200


class Galewsky(Case):
    speed: float = option(80.0, "m s-1", "largest speed of the jet")
    bump: float = option(120.0, "m", "height of the bump in sea level that triggers the instability")

    grid_kinds = ("latlon",)

    defaults = {
        "grid": {"kind": "latlon", "nx": 480, "ny": 120, "west": -180.0, "south": -15.0, "north": 75.0,
                 "radius": 6.37122e6, "rotation": 7.292e-5},
        "physics": {"gravity": 9.80616, "depth": 1e4, "viscosity": 1e5},
        "time": {"stepper": "rk4", "dt": 60.0},
        "run": {"days": 6.0},
        "output": {"every": 86400.0, "fields": ("eta", "u", "v", "zeta")},
    }  # fmt: skip

    def eta(self, config, at):
        """The balanced sea level plus bump cos(lat) exp(-(lon/a)² - ((pi/4 - lat)/b)²), m; a, b: its widths."""
        lon, lat = np.radians((at.lon + 180) % 360 - 180), np.radians(at.lat)
        shape = np.exp(-((lon / BUMP_WIDTH_LON) ** 2)) * np.exp(-(((BUMP_LATITUDE - lat) / BUMP_WIDTH_LAT) ** 2))
        return balanced_level(config, lat) + self.bump * np.cos(lat) * shape

    def u(self, config, at):
        return jet_velocity(config.case.speed, np.radians(at.lat))


def jet_velocity(speed, lat):
    """u = speed exp(1/((lat - s)(lat - n))) / exp(-4/(n - s)²) between the edges s and n of the jet, else 0, m s-1."""
    is_in_jet = (lat > JET_SOUTH) & (lat < JET_NORTH)
    product = np.where(is_in_jet, (lat - JET_SOUTH) * (lat - JET_NORTH), -1.0)
    return np.where(is_in_jet, speed * np.exp(1 / product + 4 / (JET_NORTH - JET_SOUTH) ** 2), 0.0)


def balanced_level(config, lat):
    """Sea level in balance with the jet, m; its mean over the sphere is zero.

    Northward from the southern edge of the jet it falls by R/g times the integral of u (f + u tan(lat)/R).
    """
    nodes, weights = gauss_legendre()
    middle, half_width = (JET_SOUTH + JET_NORTH) / 2, (JET_NORTH - JET_SOUTH) / 2
    latitudes = middle + half_width * nodes
    # The mean drop over the sphere has a part from the jet and a part from the area north of it.
    mean_in_jet = (level_drop(config, latitudes) * np.cos(latitudes) * weights).sum() * half_width / 2
    mean_north_of_jet = level_drop(config, np.array(JET_NORTH)) * (1 - math.sin(JET_NORTH)) / 2
    return mean_in_jet + mean_north_of_jet - level_drop(config, lat)


def level_drop(config, lat):
    """How much lower sea level is at given latitudes than south of the jet, m."""
    grid, physics = config.grid, config.physics
    if physics.f0 or physics.beta:
        raise ConfigError(["physics.f0, physics.beta: must be 0: the jet balances the rotation of the sphere"])
    nodes, weights = gauss_legendre()
    half_width = (np.clip(lat, JET_SOUTH, JET_NORTH)[..., None] - JET_SOUTH) / 2
    latitudes = JET_SOUTH + half_width * (nodes + 1)
    u = jet_velocity(config.case.speed, latitudes)
    slope = u * (2 * grid.rotation * np.sin(latitudes) + u * np.tan(latitudes) / grid.radius)
    return grid.radius / physics.gravity * (slope * weights * half_width).sum(axis=-1)


@functools.cache
def gauss_legendre():
    """Nodes and weights of the Gauss-Legendre quadrature on [-1, 1]."""
    return np.polynomial.legendre.leggauss(N_QUADRATURE_POINTS)
