"""Water from above, from rivers and into the ground: rain, evaporation, rivers, infiltration and drains, m s-1.

    dh/dt = rain + river inflow - evaporation    with the dissolved substances left in the water
    dh/dt = - infiltration - drainage            which take them along

With `drying` each of the sinks is min(w sink, h'/(5 dt)), with w = min(1, h/h_dry) at the start of the step and h' the
thickness that the currents would leave at its end. So the sinks never take more water than there is. The water that is
added takes the velocity of the water that is there: h changes, u and v do not. The substances that rivers bring are a
source in `tracer`.
"""

from __future__ import annotations

from ..operators import divergence, maximum, minimum
from ..variable import Variable
from .term import Term

WATER: dict = {
    "min_value": 0.0, "control": "field", "varies_in_time": True, "dimension": (0, 1, -1, 0), "small_change": 1e-8,
}  # fmt: skip
RAIN = Variable("rain", "centre", "m s-1", "lwe_precipitation_rate", "rain", **WATER)
EVAPORATION = Variable("evaporation", "centre", "m s-1", "lwe_water_evaporation_rate", "evaporation", **WATER)
INFILTRATION = Variable("infiltration", "centre", "m s-1", "", "infiltration into the ground", **WATER)
RIVER_INFLOW = Variable("river_inflow", "centre", "m s-1", "", "inflow from rivers", **WATER)
DRAINAGE = Variable("drainage", "centre", "m s-1", "", "outflow through drains and pumps", **WATER)

#: Largest fraction of the water of a cell that a sink takes in a step: all four, with `green_ampt`, leave a fifth.
MAX_SINK_FRACTION = 0.2


def limited_sink(rate, flow):
    """The rate at which a sink takes water; with `drying` at most what its cells can give."""
    if flow.min_mobile_thickness is None:
        return rate
    h, dt = flow.step_start["h"], flow.dt
    demand = rate * minimum(h * (1 / flow.drying_thickness), 1.0)
    if dt is None:
        return demand
    remaining = h * (1 / dt) - divergence(flow.U, flow.V, flow.grid)
    return minimum(demand, MAX_SINK_FRACTION * maximum(remaining, 0.0))


def rain(flow, params, now):
    """dh/dt = rain - evaporation."""
    return {"h": params["rain"] - limited_sink(params["evaporation"], flow)}


def rivers(flow, params, now):
    """dh/dt = river inflow."""
    return {"h": params["river_inflow"]}


def infiltration(flow, params, now):
    """dh/dt = - infiltration."""
    return loss_of_water(limited_sink(params["infiltration"], flow), flow)


def drains(flow, params, now):
    """dh/dt = - drainage."""
    return loss_of_water(limited_sink(params["drainage"], flow), flow)


def loss_of_water(sink, flow):
    """dh/dt = - sink, and dC/dt = - c sink of the contents of tracers."""
    return {"h": -sink} | {name: -(sink * (getattr(flow.state, name) / flow.h)) for name in flow.content_names}


RAIN_TERM = Term("rain", rain, (RAIN, EVAPORATION), is_freshwater=True, acts_at_rest=True, is_smooth=False)
INFILTRATION_TERM = Term("infiltration", infiltration, (INFILTRATION,), acts_at_rest=True, is_smooth=False)
RIVERS_TERM = Term("rivers", rivers, (RIVER_INFLOW,), is_freshwater=True, acts_at_rest=True)
DRAINS_TERM = Term("drains", drains, (DRAINAGE,), acts_at_rest=True, is_smooth=False)
