"""Bottom drag: linear, quadratic, and by Manning's formula.

    linear      du/dt = - r u
    quadratic   du/dt = - C |u| u / h
    Manning     du/dt = - g n² |u| u / h^(4/3)

Reference: Chow, V. T. (1959), Open-Channel Hydraulics, McGraw-Hill, chapter 5.
"""

from ..operators import mx_f, my_f
from ..variable import coefficient
from .term import Term

R = coefficient("linear_drag", "s-1", "rate of linear bottom drag", "field", (0, 0, -1, 0), small=1e-6)
C = coefficient("quadratic_drag", "1", "coefficient of quadratic bottom drag", "number", (-1, 1, 0, 0))
N = coefficient("manning", "s m-1/3", "Manning's roughness of the bottom", "field", (-3 / 2, 7 / 6, 1, 0), small=1e-2)


def linear(flow, params, now):
    """du/dt = - r^x u, dv/dt = - r^y v."""
    return {"u": -(mx_f(params["linear_drag"]) * flow.u), "v": -(my_f(params["linear_drag"]) * flow.v)}


def linear_rate(values, dx, dy):
    """r."""
    return values["linear_drag"]


def quadratic(flow, params, now):
    """du/dt = - C^x |u| u / h^x, dv/dt = - C^y |u| v / h^y."""
    drag = params["quadratic_drag"]
    return {
        "u": -(mx_f(drag) * flow.speed_u() * flow.u / flow.h_u),
        "v": -(my_f(drag) * flow.speed_v() * flow.v / flow.h_v),
    }


def quadratic_rate(values, dx, dy):
    """2 C |u| / h."""
    u, v = values["u"], values["v"]
    return 2 * values["quadratic_drag"] * (u * u + v * v) ** 0.5 / values["h"]


def manning(flow, params, now):
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


def manning_rate(values, dx, dy):
    """2 g n² |u| / h^(4/3)."""
    u, v = values["u"], values["v"]
    return 2 * values["gravity"] * values["manning"] ** 2 * (u * u + v * v) ** 0.5 / values["h"] ** (4 / 3)


LINEAR_DRAG = Term("linear_drag", linear, (R,), rate=linear_rate)
QUADRATIC_DRAG = Term("quadratic_drag", quadratic, (C,), rate=quadratic_rate)
MANNING = Term("manning", manning, (N,), rate=manning_rate)
