"""The principal lunar tide, M2, of all oceans at one degree, from the tidal potential alone.

Physics: the Moon raises a tide in an ocean with the relief of the Earth. The poles of the grid lie in Greenland and
Antarctica. Self-attraction and loading are twelve per cent of the tide. Bottom drag dissipates the tide on shelves. A
linear drag represents the loss of energy to internal tides over the relief of the deep ocean.

Reference: Arbic, Garner, Hallberg and Simmons (2004), Deep-Sea Res. II 51, 3069-3101.

Cost: 22 500 steps on 62 000 cells for twelve days: about 30 s on two cores. A finer grid:
`swmodel grid half.nc --region=-180,180,-86,86 --resolution 0.5 --pole=-42,76` and `swmodel run global_m2 -s
grid.file=half.nc`.

Theme: Tides and storms

Command: swmodel run global_m2

Plot: swmodel plot outputs/global_m2/harmonics.nc

Verification: the tide that satellites have measured; see docs/verification.md.
"""

from functools import cache
from pathlib import Path

import numpy as np

from ..config.options.case import Case
from ..ocean.constituents import constituents_at
from ..ocean.depth_table import DepthTable
from ..ocean.rotated_pole import from_earth
from ..ocean.terms.tide import EQUILIBRIUM

#: Longitude and latitude of the north pole of the grid, in Greenland; the south pole lies in Antarctica.
POLE = (-42.0, 76.0)

#: Depths in m, 0 on land, at every degree from 179.5 W 85.5 S on, relative to this pole; from tools/global_m2.py.
RELIEF_FILE = Path(__file__).with_name("global_m2.npz")
WEST, SOUTH = -179.5, -85.5


class GlobalM2(Case):
    grid_kinds = ("latlon",)

    defaults = {
        "grid": {"kind": "latlon", "nx": 360, "ny": 172, "west": -180.0, "south": -86.0, "north": 86.0, "pole": POLE},
        "physics": {"self_attraction": 0.12, "quadratic_drag": 3e-3, "linear_drag": 6e-6, "viscosity": 1e3},
        "tide": {"constituents": ("M2",), "nodal": False},
        "time": {"start": "2012-03-01"},
        "run": {"days": 12.0, "dtype": "float64"},
        "output": {"every": 86400.0, "fields": ("eta", "u", "v"), "harmonics": ("M2",),
                   "harmonics_fields": ("eta", "u", "v", "transport_x", "transport_y"), "harmonics_from": 9 * 86400.0},
    }  # fmt: skip

    def depth(self, config, at):
        return load_relief().depth(*relief_row_and_column(at))

    def mask(self, config, at):
        return load_relief().mask(*relief_row_and_column(at))


@cache
def load_relief() -> DepthTable:
    return DepthTable.load(RELIEF_FILE, is_periodic=True)


def relief_row_and_column(at):
    """The fractional rows and columns of Points in the file of the relief."""
    lon, lat = from_earth(POLE, at.lon, at.lat)
    return lat - SOUTH, (lon - WEST) % 360


def tidal_power_input(config, amplitude, phase, lon, lat):
    """The power input by the Moon, mean over a period, W m-2: rho g <eta_eq d eta/dt>.

    Args:
        amplitude, phase: amplitude, m, and phase lag relative to Greenwich, degrees, of M2 in sea level.
        lon, lat: geographic longitude and latitude, degrees.

    Reference: Egbert and Ray (2001), J. Geophys. Res. 106, 22475-22502.
    """
    (tide,) = constituents_at(("M2",), config.time.start, nodal=False)
    equilibrium_amplitude = config.tide.factor * EQUILIBRIUM["M2"].height * np.cos(np.radians(lat)) ** 2
    rho_g = config.physics.density * config.physics.gravity
    return rho_g * np.pi * tide.frequency * equilibrium_amplitude * amplitude * np.sin(np.radians(2 * lon + phase))


def drag_dissipation(config, depth, u_tide, v_tide):
    """Dissipation by linear and by quadratic drag, means over a period, W m-2.

    Args:
        depth: m, [rows, columns].
        u_tide, v_tide: (amplitude, phase) of M2 in u and v at the places of the depths, m s-1 and degrees.
    """
    phases = 2 * np.pi * np.arange(24)[:, None, None] / 24
    u, v = (amplitude * np.cos(phases - np.radians(phase)) for amplitude, phase in (u_tide, v_tide))
    square, physics = u**2 + v**2, config.physics
    linear = physics.density * physics.linear_drag * depth * square.mean(axis=0)
    return linear, physics.density * physics.quadratic_drag * (square**1.5).mean(axis=0)
