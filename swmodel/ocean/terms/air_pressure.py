"""Air pressure at sea level: du/dt = - d_x (p / rho). At rest 1 hPa more lowers sea level by 9.95 mm."""

from __future__ import annotations

from ..variable import Variable
from .term import Term

PRESSURE = Variable(
    "air_pressure",
    "centre",
    "Pa",
    "air_pressure_at_mean_sea_level",
    "air pressure at sea level",
    control="field",
    dimension=(2, 0, -2, 1),
    small=100.0,
    varies=True,
)


def bernoulli_potential(flow, params, now):
    """p / rho."""
    return params["air_pressure"] / params["density"]


AIR_PRESSURE = Term("air_pressure", coefficients=(PRESSURE,), bernoulli_potential=bernoulli_potential)
