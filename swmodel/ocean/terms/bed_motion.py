"""A sea floor that moves in time: records of the uplift of the floor, which lifts the water on it.

    depth(t) = depth + U - uplift(t)
    du/dt = - d_x (g (uplift(t) - U)),    dv/dt likewise

`depth` is the resting depth after the motion, and U the last uplift. The floor lifts the water, so the thickness h
stays the same, and only the pressure g (h - depth(t)) changes. So the volume of water is exact, dry ground stays dry,
and the momentum equation is that of the moving floor. Wetting and drying, open boundaries, sponges, barriers and
self-attraction compute levels h - depth with the depth after the motion, even while the floor moves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..instant import Instant
from ..records import interpolate_records
from ..variable import Variable
from .term import Term

if TYPE_CHECKING:
    from ..scheme import Scheme

UPLIFT = Variable(
    "uplift", "centre", "m", "", "uplift of the sea floor", dimension=(0, 1, 0, 0), is_signed=True,
    varies_in_time=True, keeps_last_record=True,
)  # fmt: skip
FINAL_UPLIFT = Variable("final_uplift", "centre", "m", "", "uplift of the sea floor after its motion")


def remaining_uplift(params):
    """U - uplift(t) from interpolated params, m."""
    return params["final_uplift"] - params["uplift"]


def has_moving_floor(scheme: Scheme) -> bool:
    """Whether the floor moves in time in a run with this Scheme."""
    return UPLIFT.name in scheme.varying


def grid_at_step(grid, params: dict, scheme: Scheme, step):
    """A Grid of Patches with the depth after a number of steps; the same Grid if the floor does not move in time.

    Args:
        params: coefficients by name, Patches; not interpolated.
        step: int32, [1, 1] or [].
    """
    if not has_moving_floor(scheme):
        return grid
    now = interpolate_records(params, Instant(step), (UPLIFT.name,), params["gravity"].values.dtype)
    return grid._replace(depth=grid.depth + remaining_uplift(now))


BED_MOTION = Term(
    "bed_motion",
    coefficients=(UPLIFT,),
    fields=(FINAL_UPLIFT,),
    bernoulli_potential=lambda flow, params, now: -params["gravity"] * remaining_uplift(params),
    acts_only_in_time=True,
)
