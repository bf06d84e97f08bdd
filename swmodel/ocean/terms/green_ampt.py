"""Infiltration by Green and Ampt: water fills the ground behind a sinking front, at a rate f that falls towards K.

    dF/dt = f,   dh/dt = - f,   f = K (1 + (psi + h) d / F)

F is the water that the ground has taken, m, zero at the start; K its hydraulic conductivity, psi the suction of the
front, d the moisture deficit, the fraction of the ground that water can fill. With F and h in the middle of a step,
where h has fallen by half of the loss x, the step solves

    x² + (2 F - (1 - d) K dt) x = 2 K dt (F + (psi + h) d),   f = x / dt

which is accurate also from F = 0, where f is infinite. `rain.limited_sink` limits f to the water that there is. The
term needs `drying`. The concentration of tracers in the remaining water stays the same.

Reference: Green and Ampt (1911); Chow, Maidment and Mays (1988), Applied Hydrology, section 4.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..operators import maximum, root
from ..variable import Variable, coefficient
from .rain import limited_sink
from .term import Term

if TYPE_CHECKING:
    from ..scheme import Scheme

CONDUCTIVITY = coefficient(
    "hydraulic_conductivity", "m s-1", "hydraulic conductivity of the ground", "field", (0, 1, -1, 0), 1e-8
)
SUCTION = coefficient("wetting_front_suction", "m", "suction at the wetting front", "field", (0, 1, 0, 0), 1e-3)
DEFICIT = coefficient("moisture_deficit", "1", "moisture deficit of the ground", "field", (0, 0, 0, 0), 1e-3)
DEFICIT = DEFICIT._replace(max_value=1.0)
INFILTRATED = Variable(
    "infiltrated_depth", "centre", "m", "", "water that the ground has taken", dimension=(0, 1, 0, 0)
)

#: Smallest (psi + h) d, m, so that f is K without a deficit, and smallest divisor, m.
MIN_SUCTION, MIN_DIVISOR = 1e-9, 1e-30


def infiltration_rate(flow, params):
    """f at centres, m s-1."""
    F, h, dt, deficit = flow.step_start[INFILTRATED.name], flow.step_start["h"], flow.dt, params[DEFICIT.name]
    S = maximum((params[SUCTION.name] + h) * deficit, MIN_SUCTION)
    if dt is None:
        return limited_sink(params[CONDUCTIVITY.name] * (1 + S / maximum(F, MIN_SUCTION)), flow)
    K_dt = params[CONDUCTIVITY.name] * dt  # m, the water that the ground would take without suction
    b = 2 * F - (1 - deficit) * K_dt
    total = b + (b * b + 8 * (K_dt * (F + S))).map(root)
    return limited_sink(4 * (K_dt * (F + S)) / maximum(total, MIN_DIVISOR) * (1 / dt), flow)


def unsupported_reason(scheme: Scheme) -> str:
    """Why the term cannot run with a Scheme: it has no drying. "" if it can."""
    return "" if scheme.drying else f"physics.{CONDUCTIVITY.name}: needs drying.active = true"


GREEN_AMPT = Term(
    "green_ampt",
    lambda flow, params, now: {"h": -infiltration_rate(flow, params)},
    (CONDUCTIVITY, SUCTION, DEFICIT),
    prognostic=(INFILTRATED,),
    to_prognostic=lambda values: {INFILTRATED.name: 0.0 * values["h"]},
    rate_over_step=lambda flow, params, step: {INFILTRATED.name: infiltration_rate(flow, params)},
    is_smooth=False,
    unsupported_reason=unsupported_reason,
    acts_at_rest=True,
)
