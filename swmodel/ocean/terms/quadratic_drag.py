"""Quadratic bottom drag: du/dt = - C |u| u / h."""

from ..operators import mx_f, my_f
from ..variable import coefficient
from .term import Term

C = coefficient("quadratic_drag", "1", "coefficient of quadratic bottom drag", "number", (-1, 1, 0, 0))


def tendency(flow, params, now):
    """du/dt = - C^x |u| u / h^x, dv/dt = - C^y |u| v / h^y."""
    drag = params["quadratic_drag"]
    return {
        "u": -(mx_f(drag) * flow.speed_u() * flow.u / flow.h_u),
        "v": -(my_f(drag) * flow.speed_v() * flow.v / flow.h_v),
    }


def rate(values, dx, dy):
    """2 C |u| / h."""
    u, v = values["u"], values["v"]
    return 2 * values["quadratic_drag"] * (u * u + v * v) ** 0.5 / values["h"]


QUADRATIC_DRAG = Term("quadratic_drag", tendency, (C,), rate=rate)
