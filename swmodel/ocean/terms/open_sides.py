"""Open sides: water flows through them as a wave that leaves, on top of given sea level and transport outside.

The outermost row of cells of an open side is outside water, of which the model knows what is given alone. The transport
through the face between it and the first cell inside follows from the sea level inside at each stage,

    U = U_ext + n sqrt(g H) (eta_ext - eta_b),    n the direction inward, +1 or -1,

with H and what is given in the middle of the two cells, and eta_b extrapolated to the face from the two cells inside
(from one, where the second is land): what is left of a wave that leaves at right angles is of order dx⁴ of its energy.
The face needs no memory.

Reference: Flather, R. A. (1976), Mém. Soc. R. Sci. Liège, 6e série, 10, 141-164.
"""

from __future__ import annotations

from math import cos, radians, sin
from typing import Literal, NamedTuple

import numpy as np
from pydantic import create_model

from ...options import Section, option
from ..constituents import Constituent, constituents
from ..instant import Turns, angle, turns_of
from ..operators import mx_f, my_f
from ..patch import Patch, east, north, south, west
from ..variable import Variable
from .term import Term
from .tide import too_fast, undated

#: The axis of each side.
SIDES = {"west": "x", "east": "x", "south": "y", "north": "y"}

#: Constituents of the tide outside.
NAMES = ("M2", "S2", "N2", "K2", "K1", "O1", "P1", "Q1", "MF", "MM", "M4")
#: Parts of an oscillation a cos(wt - phase): a cos(phase) of cos(wt), a sin(phase) of sin(wt).
PARTS = {"cosine": cos, "sine": sin}
#: The date whose frequencies those of runs without a date are; they differ by less than 1e-9 from year to year.
NO_DATE = "2000-01-01"


def given(name: str, location: str, units: str, long_name: str, dimension: tuple) -> Variable:
    """A field of the outside water, or its number in the section."""
    key = name.replace("outside_", "open_sides.")
    return Variable(
        name, location, units, "", long_name, key, control="field", dimension=dimension, signed=True, small=1e-3
    )


def part_of(constituent: str, part: str) -> str:
    """The name of a part of a constituent."""
    return f"outside_{constituent.lower()}_{part}"


def numbers_of(constituent: str) -> list[str]:
    """Names among the params of what part of its period a step is, and of f cos(V + u) and f sin(V + u)."""
    words = ("turns_high", "turns_low", "start_cosine", "start_sine")
    return [f"outside_{constituent.lower()}_{word}" for word in words]


METRES, TRANSPORT, SPEED = (0, 1, 0, 0), (1, 1, -1, 0), (1, 0, -1, 0)
MEAN = tuple(
    row._replace(varies=True)
    for row in (
        given("outside_level", "centre", "m", "sea level of the outside water, but for tides", METRES),
        given("outside_transport_x", "u", "m2 s-1", "transport of the outside water in x", TRANSPORT),
        given("outside_transport_y", "v", "m2 s-1", "transport of the outside water in y", TRANSPORT),
        given("outside_current_x", "u", "m s-1", "current of the outside water in x, added to its transport", SPEED),
        given("outside_current_y", "v", "m s-1", "current of the outside water in y, added to its transport", SPEED),
    )
)
TIDES = tuple(
    given(part_of(name, part), "centre", "m", f"{part} of the tide {name} of the outside sea level", METRES)
    for name in NAMES
    for part in PARTS
)
NUMBERS = tuple(
    Variable(word, "", "1", "", f"part of the constituent {name}") for name in NAMES for word in numbers_of(name)
)


#: Behind what a tide lags.
LAG = "lag behind Greenwich, or without time.start behind the start,"


class Mean(Section):
    """Sides through which water flows, where their outermost cells are water, and what is known of that outside."""

    sides: tuple[Literal["west", "east", "south", "north"], ...] = option((), "", "sides with outside water")
    level: float = option(0.0, "m", "its mean sea level where the case or a file gives none")
    transport_x: float = option(0.0, "m2 s-1", "its mean transport in x where the case or a file gives none")
    transport_y: float = option(0.0, "m2 s-1", "its mean transport in y where the case or a file gives none")
    current_x: float = option(0.0, "m s-1", "its current in x, which is added to the transport")
    current_y: float = option(0.0, "m s-1", "its current in y, which is added to the transport")

    nodal: bool = option(True, "", "as the nodes of the Moon's orbit change its tide, with time.start; false: not")


OpenSides = create_model(
    "OpenSides",
    __base__=Mean,
    __doc__=Mean.__doc__,
    **{
        f"{name.lower()}_{key}": (float, option(0.0, unit, f"{what} of its tide {name}"))
        for name in NAMES
        for key, unit, what in (("amplitude", "m", "amplitude"), ("phase", "degrees", LAG))
    },
)


def number_of(constituent: str, function):
    """The property of the section that is a part of a constituent, m."""

    def value(section) -> float:
        amplitude, phase = (getattr(section, f"{constituent.lower()}_{key}") for key in ("amplitude", "phase"))
        return amplitude * function(radians(phase))

    return property(value)


for _name in NAMES:
    for _part, _function in PARTS.items():
        setattr(OpenSides, f"{_name.lower()}_{_part}", number_of(_name, _function))


class Outside(NamedTuple):
    """What is given of the outside water at a time: sea level, m, and transports on u and on v faces, m2 s-1."""

    level: Patch
    x: Patch
    y: Patch


def active(options) -> bool:
    """Whether a side is open."""
    return bool(options.sides)


def problems(config):
    """An open side of a ring, what is given of no outside water, a tide that the time steps do not see."""
    options, grid = config.open_sides, config.grid
    for axis, ring in (("x", grid.periodic_x), ("y", grid.periodic_y)):
        for side in (side for side in options.sides if ring and SIDES[side] == axis):
            yield f"open_sides.sides: there is no {side} side where grid.periodic_{axis} is true; set it to false"
    if len(set(options.sides)) < len(options.sides):
        yield f"open_sides.sides: {', '.join(options.sides)}: each is named once"
    keys = [
        f"open_sides.{key}"
        for key in type(options).model_fields
        if key not in ("sides", "nodal") and getattr(options, key)
    ]
    keys += [f"input.{row.name}" for row in (*MEAN, *TIDES) if getattr(config.input, row.name)]
    if keys and not options.sides:
        yield f"{keys[0]}: has no effect without open_sides.sides"
    for name in NAMES:
        key = f"open_sides.{name.lower()}"
        if getattr(options, f"{name.lower()}_phase") and not getattr(options, f"{name.lower()}_amplitude"):
            yield f"{key}_phase: has no effect where {key}_amplitude is 0 m"
    yield from problems_of_dates(config)


def problems_of_dates(config):
    """Tides of a date that there are not, that differ from those inside, or that the time steps do not see."""
    given, time = names(config), config.time
    if given and time.start and config.tide.constituents and config.tide.nodal != config.open_sides.nodal:
        yield "open_sides.nodal: the tides outside and inside have the same Moon; set it and tide.nodal alike"
    if wrong := undated(time) if given and time.start else "":
        yield wrong
    elif time.dt is not None:
        yield from too_fast("open_sides", given, time.model_copy(update={"start": time.start or NO_DATE}))


def names(config) -> list[str]:
    """Constituents of the tide outside: given by numbers, by files, by the case or in Python."""
    places = config.own.names, config.case, config.input

    def is_given(name):
        parts = [part_of(name, part) for part in PARTS]
        own, case, files = places
        return any(each in own or hasattr(case, each) or getattr(files, each) for each in parts)

    return [name for name in NAMES if getattr(config.open_sides, f"{name.lower()}_amplitude") or is_given(name)]


def idle(config) -> list[str]:
    """The parts of constituents that are not given."""
    there = names(config)
    return [part_of(name, part) for name in NAMES if name not in there for part in PARTS]


def build(config, rows, columns):
    """Of each constituent what part of its period a step is, and f cos(V + u) and f sin(V + u) at the start."""
    built = {}
    for each in tides(names(config), config.time.start, config.open_sides.nodal):
        start = (np.full((1, 1), each.factor * function(each.phase)) for function in PARTS.values())
        values = *turns_of(config.time.dt, each.period), *start
        built |= dict(zip(numbers_of(each.name), values, strict=True))
    return built


def tides(names, start: str, nodal: bool = True) -> list[Constituent]:
    """The constituents called `names` at the date of the start; without one with f = 1 and V + u = 0."""
    if start:
        return constituents(names, start, nodal)
    return [each._replace(phase=0.0, factor=1.0) for each in constituents(names, NO_DATE)]


def given_outside(flow, params, now) -> Outside:
    """What is given at an Instant: the mean, and f (cosine cos(wt + V + u) + sine sin(wt + V + u)) of each tide.

    Transports are those given and the currents times depth and sea level.
    """
    level, x, y, u, v = (params[row.name] for row in MEAN)
    for name in (name for name in NAMES if numbers_of(name)[0] in params):
        high, low, cosine, sine = (params[word] for word in numbers_of(name))
        passed = angle(Turns(high.values, low.values), now, flow.h.values.dtype)
        xp = passed.__array_namespace__()
        c, s = xp.cos(passed), xp.sin(passed)
        level = level + params[part_of(name, "cosine")] * (cosine * c - sine * s)
        level = level + params[part_of(name, "sine")] * (cosine * s + sine * c)
    h = flow.grid.depth + level
    return Outside(level, x + u * mx_f(h), y + v * my_f(h))


def through(flow, params, now):
    """Transport over length, and thickness, at the open faces in x, and at those in y."""
    grid, g, given = flow.grid, params["gravity"], given_outside(flow, params, now)
    eta, wet = flow.eta, grid.wet
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
    speed = (g * depth).map(lambda squares: squares.__array_namespace__().sqrt(squares))
    return transport + inward * (speed * (outside - level)), depth + level


OPEN_SIDES = Term(
    "open_sides",
    coefficients=(*MEAN, *TIDES),
    options=OpenSides,
    active=active,
    problems=problems,
    fields=NUMBERS,
    build=build,
    energy=1,
    through=through,
    idle=idle,
)
