"""Linear bottom drag: du/dt = - r u."""

from ..operators import mx_f, my_f
from ..variable import Variable
from .term import Term

R = Variable(
    "linear_drag",
    "centre",
    "s-1",
    "",
    "rate of linear bottom drag",
    key="physics.linear_drag",
    least=0.0,
    control="field",
    dimension=(0, 0, -1, 0),
)


def tendency(flow, params, now):
    """du/dt = - r^x u, dv/dt = - r^y v."""
    return {"u": -(mx_f(params["linear_drag"]) * flow.u), "v": -(my_f(params["linear_drag"]) * flow.v)}


def damping(values, dx, dy):
    """r."""
    return values["linear_drag"]


LINEAR_DRAG = Term("linear_drag", tendency, (R,), damping=damping)
