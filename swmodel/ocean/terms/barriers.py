"""Barriers thinner than a cell: dikes, walls, sills and gates on faces, which water crosses above their crest only.

With the levels a and b above the crest on the two sides of a face, at least zero, and

    A = max(a, 2 b / 3),   B = max(b, 2 a / 3),   l = min(A, B) the thickness over the crest,

the velocity over the crest has the acceleration

    du/dt = g (A - B) / dx - |u| u / (2 C² dx),

because what flows over the crest loses its velocity behind it. Where the lower level is below two thirds of the higher
one, the flow is critical and does not depend on the lower level: u = ± C sqrt(2 g |A - B|), that is the transport
C (2/3)^(3/2) sqrt(g) a^(3/2) per length of a broad-crested weir. Between the ratios 2/3 and 2/3 - BLENDED_RATIOS both
velocities are blended. For all other terms the face is closed, with free slip along both sides of the barrier.

Reference: Chow, V. T. (1959), Open-Channel Hydraulics, section 14-2 and chapter 3 (critical flow over weirs).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator

from ...errors import UsageError
from ..barrier_faces import NO_CREST, away_from_barriers, barrier_faces
from ..operators import root, where
from ..option import Section, option, parse_duration
from ..patch import Patch, east, north
from ..variable import Variable
from .term import Term

#: The smallest crest that counts as no barrier, m.
MIN_NO_CREST = 0.5 * NO_CREST
#: The range of ratios of the levels, below 2/3, in which critical flow becomes flow with a backwater.
BLENDED_RATIOS = 0.1
#: Smallest level used as a divisor, m.
MIN_LEVEL = 1e-9


def tuple_of_pairs(value: Any) -> Any:
    if not isinstance(value, list | tuple) or not all(
        isinstance(each, list | tuple) and len(each) == 2 for each in value
    ):
        raise ValueError("must be a list of pairs")
    return tuple(tuple(each) for each in value)


def tuple_of_times(value: Any) -> Any:
    return tuple((parse_duration(time), crest) for time, crest in tuple_of_pairs(value))


class BarrierOptions(Section):
    """A dike, wall, sill or gate along a line: a table [[barrier]]."""

    name: str = option("", "", "name of the barrier")
    line: Annotated[tuple[tuple[float, float], ...], BeforeValidator(tuple_of_pairs)] = option(
        ..., "", "its points, [[x, y], ...] in m or [[longitude, latitude], ...]"
    )
    crest: float | None = option(None, "m", "height of its crest, like that of the sea level")
    crests: tuple[float, ...] = option((), "m", "in place of crest: the height at each of its points")
    gate: Annotated[tuple[tuple[float, float], ...], BeforeValidator(tuple_of_times)] = option(
        (), "", 'in place of crest: [[time since the start, height], ...], such as [["0 h", 3], ["2 h", -5]]'
    )


class BarriersOptions(Section):
    """Barriers thinner than a cell, each a table [[barrier]]."""

    lines: tuple[BarrierOptions, ...] = option(
        (), "", 'barriers, each a table [[barrier]]: name, line and crest; or a file, "dikes.geojson" or "dikes.csv"'
    )
    discharge_coefficient: float = option(
        1.0, "1", "factor C of the transport over all barriers; 1: that of a broad crest without losses", gt=0, le=2
    )


def problems(config):
    """Report barriers without one kind of crest, with too few points, and a stepper that cannot damp."""
    for number, each in enumerate(config.barriers.lines, 1):
        label = f'the barrier "{each.name}"' if each.name else f"barrier {number}"
        given = [key for key in ("crest", "crests", "gate") if getattr(each, key) not in (None, ())]
        if len(given) != 1:
            yield f"barriers.lines: {label} has {' and '.join(given) or 'no crest'}; give crest, crests or gate"
        if len(each.line) < 2:
            yield f"barriers.lines: {label} has {len(each.line)} points; must have at least 2"
        if each.crests and len(each.crests) != len(each.line):
            yield f"barriers.lines: {label} has {len(each.crests)} crests, but {len(each.line)} points"
        times = [time for time, _ in each.gate]
        if any(later <= earlier for earlier, later in zip(times, times[1:], strict=False)):
            yield f"barriers.lines: {label}: the times of its gate must increase"
        heights = [*each.crests, *(height for _, height in each.gate), each.crest or 0.0]
        if max(map(abs, heights)) > 1e4:
            yield f"barriers.lines: {label} has the crest {max(heights, key=abs):g} m; must be within 10000 m of 0"
        try:
            barrier_faces(config.grid, each)
        except UsageError as error:
            yield f"barriers.lines: {error}"
    if config.barriers.lines and config.time.stepper == "leapfrog":
        yield "time.stepper: leapfrog amplifies the damped flow over barriers; choose gfb, ab2, ab3, rk3 or rk4"


def build(config, rows, columns):
    return {
        "weir_coefficient": np.full((1, 1), config.barriers.discharge_coefficient),
        "away_from_barriers": away_from_barriers(config, rows, columns),
    }


class FlowOverCrest:
    """The flow over the barriers on the faces of an axis.

    Attributes:
        is_barrier: where there is a barrier between two wet cells.
        near, far: A and B, m.
        critical_part: 0 where the flow has a backwater, 1 where it is critical.
    """

    def __init__(self, flow, crest: Patch, neighbour: Callable[[Patch], Patch]) -> None:
        eta, depth, wet = flow.eta, flow.grid.depth, flow.grid.wet
        top = np.maximum(crest, -np.minimum(depth, neighbour(depth)))
        a, b = np.maximum(eta - top, 0.0), np.maximum(neighbour(eta) - top, 0.0)
        higher, lower = np.maximum(a, b), np.minimum(a, b)
        self.is_barrier = (crest < MIN_NO_CREST) & (wet * neighbour(wet) > 0)
        self.near, self.far = np.maximum(a, b * (2 / 3)), np.maximum(b, a * (2 / 3))
        excess = (higher * (2 / 3) - lower) * (1 / BLENDED_RATIOS) / np.maximum(higher, MIN_LEVEL)
        self.critical_part = np.minimum(np.maximum(excess, 0.0), 1.0)

    def transport(self, velocity: Patch, length: Patch, params) -> Patch:
        """Transport over the barriers, m3 s-1, from the velocity over their crests; zero on other faces."""
        speed = params["weir_coefficient"] * (2 * params["gravity"] * abs(self.near - self.far)).map(root)
        critical = where(self.near > self.far, speed, -speed)
        blended = velocity + self.critical_part * (critical - velocity)
        return where(self.is_barrier, length * (np.minimum(self.near, self.far) * blended), 0.0)

    def acceleration(self, velocity: Patch, per_length: Patch, params) -> Patch:
        """du/dt over the crests, m s-2; zero on other faces."""
        coefficient = params["weir_coefficient"]
        loss = abs(velocity) * velocity * (0.5 / (coefficient * coefficient))
        return where(self.is_barrier, (params["gravity"] * (self.near - self.far) - loss) * per_length, 0.0)


def flows_over_crests(flow, params) -> tuple[FlowOverCrest, FlowOverCrest]:
    """The FlowOverCrest of u and of v faces."""
    return (
        FlowOverCrest(flow, params["barrier_crest_x"], east),
        FlowOverCrest(flow, params["barrier_crest_y"], north),
    )


def transport(flow, params, now):
    """Transport over the barriers through u and v faces, m3 s-1."""
    x, y = flows_over_crests(flow, params)
    return (
        x.transport(flow.state.u, flow.grid.dy.u, params),
        y.transport(flow.state.v, flow.grid.dx.v, params),
    )


def closed_face_rates(flow, params, now):
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
    transport=transport,
    closed_face_rates=closed_face_rates,
    is_smooth=False,
)
