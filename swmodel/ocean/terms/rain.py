"""Water from above and into the ground: rain, evaporation and infiltration, in m of water per second.

    dh/dt = rain - evaporation w        with the dissolved substances left in the water
    dh/dt = - infiltration w            which takes them along

With `drying` w = min(1, h / h_dry), so that neither takes more water than there is; else w = 1. Rain has no velocity
of its own: it changes h, and the velocity of the water stays.
"""

from __future__ import annotations

import numpy as np

from ..variable import Variable
from .term import Term

WATER: dict = {
    "min_value": 0.0, "control": "field", "varies_in_time": True, "dimension": (0, 1, -1, 0), "small_change": 1e-8,
}  # fmt: skip
RAIN = Variable("rain", "centre", "m s-1", "lwe_precipitation_rate", "rain", **WATER)
EVAPORATION = Variable("evaporation", "centre", "m s-1", "lwe_water_evaporation_rate", "evaporation", **WATER)
INFILTRATION = Variable("infiltration", "centre", "m s-1", "", "infiltration into the ground", **WATER)


def wet_fraction(flow):
    """w at centres."""
    return 1.0 if flow.min_mobile_depth is None else np.minimum(flow.h * (1 / flow.drying_thickness), 1.0)


def rain(flow, params, now):
    """dh/dt = rain - evaporation w."""
    return {"h": params["rain"] - params["evaporation"] * wet_fraction(flow)}


def infiltration(flow, params, now):
    """dh/dt = - infiltration w."""
    return {"h": -params["infiltration"] * wet_fraction(flow)}


RAIN_TERM = Term("rain", rain, (RAIN, EVAPORATION), is_freshwater=True, acts_at_rest=True, is_smooth=False)
INFILTRATION_TERM = Term("infiltration", infiltration, (INFILTRATION,), acts_at_rest=True, is_smooth=False)
