"""Bottom drag over rough ground, by Manning's formula: du/dt = - g n² |u| u / h^(4/3).

Reference: Chow, V. T. (1959), Open-Channel Hydraulics, McGraw-Hill, chapter 5.
"""

from ..operators import mx_f, my_f
from ..variable import coefficient
from .term import Term

N = coefficient("manning", "s m-1/3", "Manning's roughness of the bottom", "field", (-3 / 2, 7 / 6, 1, 0), small=1e-2)


def tendency(flow, params, now):
    """du/dt = - g (n^x)² |u| u / (h^x)^(4/3), and so for v."""
    g, n = params["gravity"], params["manning"]
    n_u, n_v = mx_f(n), my_f(n)
    return {
        "u": -(g * (n_u * n_u) * flow.speed_u() * flow.u / four_thirds(flow.h_u)),
        "v": -(g * (n_v * n_v) * flow.speed_v() * flow.v / four_thirds(flow.h_v)),
    }


def four_thirds(h):
    """h^(4/3), m(4/3)."""
    return h * h.map(lambda values: values.__array_namespace__().cbrt(values))


def rate(values, dx, dy):
    """2 g n² |u| / h^(4/3)."""
    u, v = values["u"], values["v"]
    return 2 * values["gravity"] * values["manning"] ** 2 * (u * u + v * v) ** 0.5 / values["h"] ** (4 / 3)


MANNING = Term("manning", tendency, (N,), rate=rate)
