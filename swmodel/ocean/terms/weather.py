"""Weather: wind stress, the stress of the wind U at 10 m, and air pressure at sea level.

    stress     du/dt = tau_x / (rho h), with the stress tau as input, or tau = rho_a C |U| U
    pressure   du/dt = - d_x (p / rho): at rest, 1 hPa more lowers sea level by 9.95 mm

The drag coefficient C is min(max_drag, max(min_drag, drag_at_rest + growth |U|)):

    large_pond   C = 1.15e-3, above 10.15 m/s (0.49 + 0.065 |U|) 1e-3; Large and Pond give 1.2e-3 up to 11 m/s
    garratt      C = (0.75 + 0.067 |U|) 1e-3, at most 3.5e-3

Reference: Large, W. G. and Pond, S. (1981), J. Phys. Oceanogr. 11, 324-336; Garratt, J. R. (1977), Mon. Wea. Rev. 105,
915-929.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from ..operators import mx_f, my_f, root
from ..option import Section, option
from ..variable import Variable
from .term import Term

if TYPE_CHECKING:
    from ...config.options.model import Config

#: Attributes that the forcing fields of this file share.
SHARED: dict[str, Any] = {"control": "field", "varies_in_time": True}
STRESS = SHARED | {"dimension": (1, 1, -2, 1), "is_signed": True, "is_positive_down": True, "small_change": 1e-2}
WIND_AT_10_M = SHARED | {"dimension": (1, 0, -1, 0), "is_signed": True, "small_change": 0.1}
WIND_X = Variable("wind_x", "centre", "Pa", "surface_downward_x_stress", "wind stress in x", **STRESS)
WIND_Y = Variable("wind_y", "centre", "Pa", "surface_downward_y_stress", "wind stress in y", **STRESS)
U10 = Variable("u10", "centre", "m s-1", "x_wind", "wind at 10 m in x", **WIND_AT_10_M)
V10 = Variable("v10", "centre", "m s-1", "y_wind", "wind at 10 m in y", **WIND_AT_10_M)
PRESSURE = Variable(
    "air_pressure",
    "centre",
    "Pa",
    "air_pressure_at_mean_sea_level",
    "air pressure at sea level",
    dimension=(2, 0, -2, 1),
    small_change=100.0,
    **SHARED,
)

DragLaw: TypeAlias = Literal["large_pond", "garratt"]
#: min_drag, max_drag, drag_at_rest and growth, s m-1, of each law.
DRAG_LAWS: dict[DragLaw, tuple[float, float, float, float]] = {
    "large_pond": (1.15e-3, math.inf, 0.49e-3, 0.065e-3),
    "garratt": (0.0, 3.5e-3, 0.75e-3, 0.067e-3),
}
#: Attributes of a drag coefficient and of its growth with the wind.
DRAG: dict[str, Any] = {"dimension": (-1, 1, 0, 0)}
GROWTH: dict[str, Any] = {"dimension": (-2, 1, 1, 0)}
DRAG_LAW_VARIABLES = (
    Variable("wind_drag_min", "", "1", "", "smallest drag coefficient of the wind", **DRAG),
    Variable("wind_drag_max", "", "1", "", "largest drag coefficient of the wind", **DRAG),
    Variable("wind_drag_at_rest", "", "1", "", "drag coefficient of the wind, extrapolated to no wind", **DRAG),
    Variable("wind_drag_growth", "", "s m-1", "", "growth of the drag coefficient with the wind", **GROWTH),
    Variable("air_density", "", "kg m-3", "", "density of the air", dimension=(0, 0, 0, 1)),
)


class WindDragOptions(Section):
    """The stress of the wind at 10 m, u10 and v10."""

    law: DragLaw = option("large_pond", "", "law of the drag coefficient: Large and Pond (1981) or Garratt (1977)")
    air_density: float = option(1.22, "kg m-3", "density of the air", gt=0)


def accelerations(tau_x, tau_y, flow, params):
    """du/dt = tau_x^x / (rho h^x), dv/dt = tau_y^y / (rho h^y), m s-2 on faces, by a stress at centres, Pa.

    The exponents mark means in x and in y.
    """
    return {"u": mx_f(tau_x) / (params["density"] * flow.h_u), "v": my_f(tau_y) / (params["density"] * flow.h_v)}


def wind(flow, params, now):
    """The accelerations by the wind stress."""
    return accelerations(params["wind_x"], params["wind_y"], flow, params)


def drag_law_params(config: Config, rows, columns):
    """{name: value [1, 1]} of DRAG_LAW_VARIABLES: the numbers of the law in `config`, and the density of the air."""
    values = *DRAG_LAWS[config.wind_drag.law], config.wind_drag.air_density
    return {variable.name: np.full((1, 1), value) for variable, value in zip(DRAG_LAW_VARIABLES, values, strict=True)}


def stress_per_wind(speed, values):
    """rho_a C |U|, kg m-2 s-1, at a wind speed, m s-1: the stress divided by the wind; `values` by name."""
    min_drag, max_drag, drag_at_rest, growth, density = (values[each.name] for each in DRAG_LAW_VARIABLES)
    return density * np.minimum(max_drag, np.maximum(min_drag, drag_at_rest + growth * speed)) * speed


def wind_drag(flow, params, now):
    """The accelerations by the stress of the wind at 10 m."""
    u10, v10 = params["u10"], params["v10"]
    k = stress_per_wind((u10 * u10 + v10 * v10).map(root), params)
    return accelerations(k * u10, k * v10, flow, params)


WIND = Term("wind", wind, (WIND_X, WIND_Y), is_wind=True)
WIND_DRAG = Term(
    "wind_drag",
    wind_drag,
    (U10, V10),
    options=WindDragOptions,
    fields=DRAG_LAW_VARIABLES,
    build=drag_law_params,
    is_wind=True,
)
AIR_PRESSURE = Term(
    "air_pressure",
    coefficients=(PRESSURE,),
    bernoulli_potential=lambda flow, params, now: params["air_pressure"] / params["density"],
)
