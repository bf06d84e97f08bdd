"""Bottom drag: linear, quadratic, and by Manning's formula.

    linear      du/dt = - r u
    quadratic   du/dt = - C |u| u / h
    Manning     du/dt = - g n² |u| u / h^(4/3)

The rates on faces contain means in x or y of fields at centres, such as h^x.

Reference: Chow, V. T. (1959), Open-Channel Hydraulics, McGraw-Hill, chapter 5.
"""

from ..operators import mx_f, my_f
from ..variable import coefficient
from .term import Term

LINEAR_COEFFICIENT = coefficient(
    "linear_drag", "s-1", "rate of linear bottom drag", "field", (0, 0, -1, 0), small_change=1e-6
)
QUADRATIC_COEFFICIENT = coefficient(
    "quadratic_drag", "1", "coefficient of quadratic bottom drag", "number", (-1, 1, 0, 0)
)
MANNING_ROUGHNESS = coefficient(
    "manning", "s m-1/3", "Manning's roughness of the bottom", "field", (-3 / 2, 7 / 6, 1, 0), small_change=1e-2
)


def linear(flow, params, now):
    """The rates r^x and r^y, s-1."""
    return {"u": mx_f(params["linear_drag"]), "v": my_f(params["linear_drag"])}


def quadratic(flow, params, now):
    """C^x |u| / h^x and C^y |u| / h^y, s-1."""
    drag = params["quadratic_drag"]
    return {"u": mx_f(drag) * flow.speed_u() / flow.h_u, "v": my_f(drag) * flow.speed_v() / flow.h_v}


def quadratic_rate(values, dx, dy):
    """2 C |u| / h: the rate at which a small change of u decays, s-1."""
    u, v = values["u"], values["v"]
    return 2 * values["quadratic_drag"] * (u * u + v * v) ** 0.5 / values["h"]


def manning(flow, params, now):
    """g (n^x)² |u| / (h^x)^(4/3), likewise for v, s-1."""
    g, n = params["gravity"], params["manning"]
    n_u, n_v = mx_f(n), my_f(n)
    return {
        "u": g * (n_u * n_u) * flow.speed_u() / power_four_thirds(flow.h_u),
        "v": g * (n_v * n_v) * flow.speed_v() / power_four_thirds(flow.h_v),
    }


def power_four_thirds(h):
    """h^(4/3), m^(4/3)."""
    return h * h.map(lambda values: values.__array_namespace__().cbrt(values))


def manning_rate(values, dx, dy):
    """2 g n² |u| / h^(4/3): the rate at which a small change of u decays, s-1."""
    u, v = values["u"], values["v"]
    return 2 * values["gravity"] * values["manning"] ** 2 * (u * u + v * v) ** 0.5 / values["h"] ** (4 / 3)


def make_drag_term(name, damping, row, rate) -> Term:
    """The Term of a drag: du/dt = - k u, dv/dt = - k v, with the rates k of `damping`."""

    def tendency(flow, params, now):
        return {name: -(k * getattr(flow, name)) for name, k in damping(flow, params, now).items()}

    return Term(name, tendency, (row,), rate=rate, damping=damping)


LINEAR_DRAG = make_drag_term("linear_drag", linear, LINEAR_COEFFICIENT, lambda values, dx, dy: values["linear_drag"])
QUADRATIC_DRAG = make_drag_term("quadratic_drag", quadratic, QUADRATIC_COEFFICIENT, quadratic_rate)
MANNING = make_drag_term("manning", manning, MANNING_ROUGHNESS, manning_rate)
