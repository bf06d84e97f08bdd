"""Barriers thinner than a cell: dikes, walls, sills and gates on faces, which water crosses above their crest only.

With the levels a and b above the crest on the two sides of a face, at least zero, and

    A = max(a, 2 b / 3),   B = max(b, 2 a / 3),   l = min(A, B) the thickness over the crest,

the velocity over the crest has the acceleration

    du/dt = g (A - B) / dx - |u| u / (2 C² dx),

because water that flows over the crest loses its velocity behind it. Where the lower level is below two thirds of the
higher one, the flow is critical and does not depend on the lower level: u = ± C sqrt(2 g |A - B|), that is, the
transport C (2/3)^(3/2) sqrt(g) a^(3/2) per length of a broad-crested weir. Between the ratios 2/3 and
2/3 - BLENDED_RATIOS both velocities are blended. For all other terms the face is closed, with free slip along both
sides of the barrier.

Reference: Chow, V. T. (1959), Open-Channel Hydraulics, section 14-2 and chapter 3 (critical flow over weirs).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import BeforeValidator, model_validator

from ..barrier_faces import NO_CREST, away_from_barriers
from ..operators import maximum, minimum, root, where
from ..option import Section, option, parse_duration
from ..patch import Patch, east, north
from ..variable import Variable
from .term import Term

if TYPE_CHECKING:
    from ...config.options.model import Config

#: The smallest crest that counts as no barrier, m.
MIN_NO_CREST = 0.5 * NO_CREST
#: The largest distance of a crest from 0, m.
MAX_CREST = 1e4
#: The width of the range of ratios of the levels, just below 2/3, in which critical flow becomes flow with a backwater.
BLENDED_RATIOS = 0.1
#: Smallest level used as a divisor, m.
MIN_LEVEL = 1e-9


def is_list_of_lists(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(each, list | tuple) for each in value)


def to_points(value: Any) -> Any:
    """The points of a line as tuples. ValueError: they are fewer than two, or not all [x, y] or all [x, y, crest]."""
    if not is_list_of_lists(value) or len(value) < 2 or {*map(len, value)} not in ({2}, {3}):
        raise ValueError("must be at least two points, [x, y] each, or [x, y, crest] each")
    return tuple(tuple(each) for each in value)


def to_gate(value: Any) -> Any:
    """The times, s, and the heights of a gate as tuples. ValueError: they are not pairs of a time and a height."""
    if not is_list_of_lists(value) or {*map(len, value)} - {2}:
        raise ValueError("must be pairs of a time and a height, [time, crest]")
    return tuple((parse_duration(time), crest) for time, crest in value)


class BarrierOptions(Section):
    """A dike, wall, sill or gate along a line: a table [[barrier]]."""

    name: str = option("", "", "name of the barrier")
    line: Annotated[tuple[tuple[float, ...], ...], BeforeValidator(to_points)] = option(
        ..., "", "its points, [x, y] in m or [longitude, latitude]; or [x, y, height of the crest]"
    )
    crs: str = option("", "", 'coordinate reference system of its points, such as "EPSG:4326"; none: that of the grid')
    crest: float | None = option(None, "m", "height of its crest, if it is the same at all points")
    gate: Annotated[tuple[tuple[float, float], ...], BeforeValidator(to_gate)] = option(
        (), "", 'heights of its crest in time, [time since the start, height], such as [["0 h", 3], ["2 h", -5]]'
    )

    @model_validator(mode="after")
    def check_heights(self) -> BarrierOptions:
        """Return the barrier.

        ValueError: it has no height, heights under several keys, a height out of range, or times that do not increase.
        """
        line_heights = [point[2] for point in self.line if len(point) == 3]
        heights_by_key = [[] if self.crest is None else [self.crest], line_heights, [height for _, height in self.gate]]
        if sum(map(bool, heights_by_key)) != 1:
            raise ValueError("give either crest, a height at each point of line, or gate")
        for height in (height for heights in heights_by_key for height in heights):
            if abs(height) > MAX_CREST:
                raise ValueError(f"the height of a crest must be within {MAX_CREST:g} m of 0, not {height:g} m")
        if any(later <= earlier for (earlier, _), (later, _) in pairwise(self.gate)):
            raise ValueError("the times of gate must increase")
        return self


class BarriersOptions(Section):
    """Barriers thinner than a cell, each a table [[barrier]]."""

    lines: tuple[BarrierOptions, ...] = option(
        (), "", 'barriers, each a table [[barrier]]: name, line and crest; or a file, "dikes.geojson" or "dikes.csv"'
    )
    discharge_coefficient: float = option(
        1.0, "1", "factor C of the transport over all barriers; 1: that of a broad crest without losses", gt=0, le=2
    )


def problems(config: Config):
    """Yield a message if the stepper amplifies damped flow."""
    if config.barriers.lines and config.time.stepper == "leapfrog":
        yield "time.stepper: leapfrog amplifies the damped flow over barriers; choose another stepper"


def build(config: Config, rows, columns):
    return {
        "weir_coefficient": np.full((1, 1), config.barriers.discharge_coefficient),
        "away_from_barriers": away_from_barriers(config, rows, columns),
    }


class FlowOverCrest:
    """The flow over the barriers on the faces of an axis.

    Attributes:
        is_barrier: true where a face between two wet cells has a barrier.
        near, far: A on the western or southern side of the faces, and B on the other side, m.
        critical_part: 0 where the flow has a backwater, 1 where it is critical.
    """

    def __init__(self, flow, crest: Patch, neighbour: Callable[[Patch], Patch]) -> None:
        eta, depth, wet = flow.eta, flow.grid.depth, flow.grid.wet
        top = maximum(crest, -minimum(depth, neighbour(depth)))
        a, b = maximum(eta - top, 0.0), maximum(neighbour(eta) - top, 0.0)
        higher, lower = maximum(a, b), minimum(a, b)
        self.is_barrier = (crest < MIN_NO_CREST) & (wet * neighbour(wet) > 0)
        self.near, self.far = maximum(a, b * (2 / 3)), maximum(b, a * (2 / 3))
        excess = (higher * (2 / 3) - lower) * (1 / BLENDED_RATIOS) / maximum(higher, MIN_LEVEL)
        self.critical_part = minimum(maximum(excess, 0.0), 1.0)

    def transport(self, velocity: Patch, length: Patch, params) -> Patch:
        """Transport over the barriers, m3 s-1, from the velocity over their crests; zero on other faces."""
        speed = params["weir_coefficient"] * (2 * params["gravity"] * abs(self.near - self.far)).map(root)
        critical = where(self.near > self.far, speed, -speed)
        blended = velocity + self.critical_part * (critical - velocity)
        return where(self.is_barrier, length * (minimum(self.near, self.far) * blended), 0.0)

    def acceleration(self, velocity: Patch, per_length: Patch, params) -> Patch:
        """du/dt over the crests, m s-2; zero on other faces. `per_length` is 1/dx of the faces, m-1."""
        coefficient = params["weir_coefficient"]
        loss = abs(velocity) * velocity * (0.5 / (coefficient * coefficient))
        return where(self.is_barrier, (params["gravity"] * (self.near - self.far) - loss) * per_length, 0.0)


def flows_over_crests(flow, params) -> tuple[FlowOverCrest, FlowOverCrest]:
    """The FlowOverCrest of u and of v faces."""
    return FlowOverCrest(flow, params["barrier_crest_x"], east), FlowOverCrest(flow, params["barrier_crest_y"], north)


def barrier_flux(flow, params, now):
    """Transport over the barriers through u and v faces, m3 s-1."""
    x, y = flows_over_crests(flow, params)
    return x.transport(flow.state.u, flow.grid.dy.u, params), y.transport(flow.state.v, flow.grid.dx.v, params)


def barrier_accelerations(flow, params, now):
    """du/dt and dv/dt over the crests, m s-2."""
    x, y = flows_over_crests(flow, params)
    return {
        "u": x.acceleration(flow.state.u, flow.grid.rdx.u, params),
        "v": y.acceleration(flow.state.v, flow.grid.rdy.v, params),
    }


CREST: dict[str, Any] = {
    "control": "field", "varies_in_time": True, "is_input": False, "dimension": (0, 1, 0, 0), "is_signed": True,
    "small_change": 1e-3,
}  # fmt: skip
BARRIER_CRESTS = {
    "barrier_crest_x": Variable("barrier_crest_x", "u", "m", "", "crest of the barriers on east faces", **CREST),
    "barrier_crest_y": Variable("barrier_crest_y", "v", "m", "", "crest of the barriers on north faces", **CREST),
}

BARRIERS = Term(
    "barriers",
    coefficients=tuple(BARRIER_CRESTS.values()),
    options=BarriersOptions,
    is_active=lambda options: bool(options.lines),
    problems=problems,
    fields=(
        Variable("weir_coefficient", "", "1", "", "discharge coefficient of the barriers"),
        Variable("away_from_barriers", "corner", "1", "", "0 at the corners of barriers, else 1"),
    ),
    build=build,
    barrier_flux=barrier_flux,
    barrier_accelerations=barrier_accelerations,
    is_smooth=False,
)
