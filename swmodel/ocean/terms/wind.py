"""Wind stress on the surface: du/dt = wind_x / (rho h)."""

from typing import Any

from ..operators import mx_f, my_f
from ..variable import Variable
from .term import Term

STRESS: dict[str, Any] = {
    "units": "Pa",
    "control": "field",
    "dimension": (1, 1, -2, 1),
    "signed": True,
    "downward": True,
    "small": 1e-2,
    "varies": True,
}
X = Variable("wind_x", "centre", standard_name="surface_downward_x_stress", long_name="wind stress in x", **STRESS)
Y = Variable("wind_y", "centre", standard_name="surface_downward_y_stress", long_name="wind stress in y", **STRESS)


def tendency(flow, params, now):
    """du/dt = wind_x^x / (rho h^x), dv/dt = wind_y^y / (rho h^y)."""
    return {
        "u": mx_f(params["wind_x"]) / (params["density"] * flow.h_u),
        "v": my_f(params["wind_y"]) / (params["density"] * flow.h_v),
    }


WIND = Term("wind", tendency, (X, Y))
