"""Linear bottom drag: du/dt = - r u."""

from ..operators import mx_f, my_f
from ..variable import coefficient
from .term import Term

R = coefficient("linear_drag", "s-1", "rate of linear bottom drag", "field", (0, 0, -1, 0), small=1e-6)


def tendency(flow, params, now):
    """du/dt = - r^x u, dv/dt = - r^y v."""
    return {"u": -(mx_f(params["linear_drag"]) * flow.u), "v": -(my_f(params["linear_drag"]) * flow.v)}


def rate(values, dx, dy):
    """r."""
    return values["linear_drag"]


LINEAR_DRAG = Term("linear_drag", tendency, (R,), rate=rate)
