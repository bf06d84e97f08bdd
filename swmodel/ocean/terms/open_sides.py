"""Open sides: waves leave through them, on top of the sea level and transport given outside.

The outermost row of cells of an open side is water outside the model, whose values are given. The transport through the
face between it and the first cell inside follows from the sea level inside, at each stage of a step,

    U = U_ext + n sqrt(g H) (eta_ext - eta_b),    n the direction inward, +1 or -1,

with H and the given values averaged over the two cells, and eta_b extrapolated to the face from the two cells inside
(from one if the second is land). A wave at right angles is reflected with a fraction of order dx⁴ of its energy. The
face needs no memory. With air pressure, both levels are reduced to `open_sides.pressure`, eta + (p - pressure) /
(rho g), so that a storm that crosses a side pumps no water.

Reference: Flather, R. A. (1976), Mém. Soc. R. Sci. Liège, 6e série, 10, 141-164.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..constituents import Constituent, constituents
from ..instant import PhaseIncrement, angle, turns_of
from ..operators import mx_f, my_f
from ..patch import Patch, east, north, south, west
from . import outside
from .outside import ARRAYS, FLOWS, LEVEL, PRESSURE, RAMP, OpenSides, are_given, flows_of, names, numbers_of
from .term import Term
from .tide import grown, ramp_of

#: Depth for the speed of waves where the bed is higher, m: land has no open faces, and the root needs a derivative.
LEAST = 1e-6


class Outside(NamedTuple):
    """Given values of the water outside at a time: sea level, m, and transports on u and v faces, m2 s-1."""

    level: Patch
    x: Patch
    y: Patch


def build(config, rows, columns):
    """For each constituent, its PhaseIncrement, f cos(V + u) and f sin(V + u) at the start; and the air pressure."""
    built = {PRESSURE: np.full((1, 1), config.open_sides.pressure)} if outside.uses_air_pressure(config) else {}
    built |= ramp_of(config, RAMP) if names(config) else {}
    for each in tides(names(config), config.time.start, config.open_sides.nodal):
        start = (np.full((1, 1), each.factor * function(each.phase)) for function in outside.PARTS.values())
        values = *turns_of(config.time.dt, each.period), *start
        built |= dict(zip(numbers_of(each.name), values, strict=True))
        built |= {flows_of(each.name): np.ones((1, 1))} if are_given(config, each.name, *FLOWS) else {}
    return built


def tides(names, start: str, nodal: bool = True) -> list[Constituent]:
    """The constituents `names` at the date of the start; without a date with f = 1 and V + u = 0."""
    if start:
        return constituents(names, start, nodal)
    return [each._replace(phase=0.0, factor=1.0) for each in constituents(names, outside.NO_DATE)]


def given_outside(flow, params, now) -> Outside:
    """The given values at an Instant: the mean, and f (cosine cos(wt + V + u) + sine sin(wt + V + u)) of each tide.

    Tides grow with `tide.ramp`. The level includes the effect of air pressure. Transports include currents times the
    sum of depth and sea level.
    """
    *means, u, v = (params[row.name] for row in outside.MEAN)
    found = dict(zip(ARRAYS, means, strict=True))
    ramp = grown(RAMP, params, now, flow.h.values.dtype)
    for name in (name for name in outside.NAMES if numbers_of(name)[0] in params):
        high, low, cosine, sine = (params[word] for word in numbers_of(name))
        passed = angle(PhaseIncrement(high.values, low.values), now, flow.h.values.dtype)
        xp = passed.__array_namespace__()
        c, s = ramp * xp.cos(passed), ramp * xp.sin(passed)
        for array in ARRAYS if flows_of(name) in params else (LEVEL,):
            cosines, sines = (params[part] for part in outside.parts_of(name, array))
            found[array] = found[array] + cosines * (cosine * c - sine * s)
            found[array] = found[array] + sines * (cosine * s + sine * c)
    level, x, y = found.values()
    level = level - inverse_barometer(params) if pressed(params) else level
    h = flow.grid.depth + level
    return Outside(level, x + u * mx_f(h), y + v * my_f(h))


def pressed(params) -> bool:
    """Whether air pressure acts on the water outside."""
    return PRESSURE in params and "air_pressure" in params


def inverse_barometer(params):
    """The fall of sea level under the air pressure relative to `open_sides.pressure`, m."""
    return (params["air_pressure"] - params[PRESSURE]) / (params["density"] * params["gravity"])


def boundary_flux(flow, params, now):
    """Transport per length, m2 s-1, and thickness, m, at the open faces in x, and at those in y."""
    if not pressed(params):
        return flows(flow, params, flow.eta, given_outside(flow, params, now))
    lower, given = inverse_barometer(params), given_outside(flow, params, now)
    (x, h_x), (y, h_y) = flows(flow, params, flow.eta + lower, given._replace(level=given.level + lower))
    return (x, h_x - mx_f(lower)), (y, h_y - my_f(lower))


def flows(flow, params, eta, given: Outside):
    """As `boundary_flux`, from the sea level inside and the given values outside."""
    grid, g, wet = flow.grid, params["gravity"], flow.grid.wet
    from_west = wet * (eta + 0.5 * (west(grid.open_u) * (eta - west(eta))))
    from_east = wet * (eta + 0.5 * (grid.open_u * (eta - east(eta))))
    from_south = wet * (eta + 0.5 * (south(grid.open_v) * (eta - south(eta))))
    from_north = wet * (eta + 0.5 * (grid.open_v * (eta - north(eta))))
    return (
        radiated(from_west + east(from_east), east(wet) - wet, mx_f(grid.depth), g, mx_f(given.level), given.x),
        radiated(from_south + north(from_north), north(wet) - wet, my_f(grid.depth), g, my_f(given.level), given.y),
    )


def radiated(level: Patch, inward: Patch, depth: Patch, g, outside: Patch, transport: Patch) -> tuple[Patch, Patch]:
    """U_ext + n sqrt(g H) (eta_ext - eta_b), m2 s-1, and H + eta_b, m."""
    speed = (g * np.maximum(depth, LEAST)).map(lambda squares: squares.__array_namespace__().sqrt(squares))
    return transport + inward * (speed * (outside - level)), depth + level


OPEN_SIDES = Term(
    "open_sides",
    coefficients=(*outside.MEAN, *outside.TIDES),
    options=OpenSides,
    active=lambda options: bool(options.sides),
    problems=outside.problems,
    fields=outside.NUMBERS,
    build=build,
    boundary_flux=boundary_flux,
    unused_coefficients=outside.unused_coefficients,
)
