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

from pydantic import create_model

from ...options import Section, option
from ..constituents import PERIODS
from ..instant import Turns, angle, turns_of
from ..operators import mx_f, my_f
from ..patch import Patch, east, north, south, west
from ..variable import Variable
from .term import Term

#: The axis of each side.
SIDES = {"west": "x", "east": "x", "south": "y", "north": "y"}

#: Parts of an oscillation a cos(wt - phase): a cos(phase) of cos(wt), a sin(phase) of sin(wt).
PARTS = {"cosine": cos, "sine": sin}


def given(name: str, location: str, units: str, long_name: str, dimension: tuple) -> Variable:
    """A field of the outside water, or its number in the section."""
    key = name.replace("outside_", "open_sides.")
    return Variable(name, location, units, "", long_name, key, None, False, "field", dimension, "", True, small=1e-3)


def part_of(constituent: str, part: str) -> str:
    """The name of a part of a constituent."""
    return f"outside_{constituent.lower()}_{part}"


def turns_of_constituent(constituent: str) -> list[str]:
    """Names among the params of what part of its period a step is."""
    return [f"outside_{constituent.lower()}_turns_{word}" for word in Turns._fields]


METRES, TRANSPORT = (0, 1, 0, 0), (1, 1, -1, 0)
MEAN = (
    given("outside_level", "centre", "m", "mean sea level of the outside water", METRES),
    given("outside_transport_x", "u", "m2 s-1", "mean transport of the outside water in x", TRANSPORT),
    given("outside_transport_y", "v", "m2 s-1", "mean transport of the outside water in y", TRANSPORT),
)
TIDES = tuple(
    given(part_of(name, part), "centre", "m", f"{part} of the tide {name} of the outside sea level", METRES)
    for name in PERIODS
    for part in PARTS
)
TURNS = tuple(
    Variable(word, "", "1", "", f"part of the period of {name} that a step takes, in fixed point")
    for name in PERIODS
    for word in turns_of_constituent(name)
)


class Mean(Section):
    """Sides through which water flows, where their outermost cells are water, and what is known of that outside."""

    sides: tuple[Literal["west", "east", "south", "north"], ...] = option((), "", "sides with outside water")
    level: float = option(0.0, "m", "its mean sea level where the case or a file gives none")
    transport_x: float = option(0.0, "m2 s-1", "its mean transport in x where the case or a file gives none")
    transport_y: float = option(0.0, "m2 s-1", "its mean transport in y where the case or a file gives none")

    @property
    def periods(self) -> dict[str, float]:
        """Of the constituents, s."""
        return PERIODS


OpenSides = create_model(
    "OpenSides",
    __base__=Mean,
    __doc__=Mean.__doc__,
    **{
        f"{name.lower()}_{key}": (float, option(0.0, unit, f"{what} of its tide {name}"))
        for name in PERIODS
        for key, unit, what in (("amplitude", "m", "amplitude"), ("phase", "degrees", "phase lag behind the start"))
    },
)


def number_of(constituent: str, function):
    """The property of the section that is a part of a constituent, m."""

    def value(section) -> float:
        amplitude, phase = (getattr(section, f"{constituent.lower()}_{key}") for key in ("amplitude", "phase"))
        return amplitude * function(radians(phase))

    return property(value)


for _name in PERIODS:
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
    options, grid, dt = config.open_sides, config.grid, config.time.dt
    for axis, ring in (("x", grid.periodic_x), ("y", grid.periodic_y)):
        for side in (side for side in options.sides if ring and SIDES[side] == axis):
            yield f"open_sides.sides: there is no {side} side where grid.periodic_{axis} is true; set it to false"
    if len(set(options.sides)) < len(options.sides):
        yield f"open_sides.sides: {', '.join(options.sides)}: each is named once"
    keys = [f"open_sides.{key}" for key in type(options).model_fields if key != "sides" and getattr(options, key)]
    keys += [f"input.{row.name}" for row in (*MEAN, *TIDES) if getattr(config.input, row.name)]
    if keys and not options.sides:
        yield f"{keys[0]}: has no effect without open_sides.sides"
    for name in PERIODS:
        key = f"open_sides.{name.lower()}"
        if getattr(options, f"{name.lower()}_phase") and not getattr(options, f"{name.lower()}_amplitude"):
            yield f"{key}_phase: has no effect where {key}_amplitude is 0 m"
        if name in constituents(config) and dt is not None and PERIODS[name] <= 2 * dt:
            yield f"{key}_amplitude: the period of {name} must be above two time steps, 2 x {dt:g} s"


def constituents(config) -> list[str]:
    """Those of the tide outside: given by numbers, by files, by the case or in Python."""
    places = config.own.names, config.case, config.input

    def is_given(name):
        names = [part_of(name, part) for part in PARTS]
        own, case, files = places
        return any(each in own or hasattr(case, each) or getattr(files, each) for each in names)

    return [name for name in PERIODS if getattr(config.open_sides, f"{name.lower()}_amplitude") or is_given(name)]


def idle(config) -> list[str]:
    """The parts of constituents that are not given."""
    there = constituents(config)
    return [part_of(name, part) for name in PERIODS if name not in there for part in PARTS]


def build(config, rows, columns):
    """Of each constituent what part of its period a step is."""
    built = {}
    for name in constituents(config):
        built |= dict(zip(turns_of_constituent(name), turns_of(config.time.dt, PERIODS[name]), strict=True))
    return built


def given_outside(flow, params, now) -> Outside:
    """What is given at an Instant: the mean, and of each constituent cosine cos(wt) + sine sin(wt)."""
    level, x, y = (params[row.name] for row in MEAN)
    for name in PERIODS:
        words = [params[word].values for word in turns_of_constituent(name) if word in params]
        if words:
            passed = angle(Turns(*words), now, flow.h.values.dtype)
            xp = passed.__array_namespace__()
            cosine, sine = (params[part_of(name, part)] for part in PARTS)
            level = level + cosine * xp.cos(passed) + sine * xp.sin(passed)
    return Outside(level, x, y)


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
    fields=TURNS,
    build=build,
    energy=1,
    through=through,
    idle=idle,
)
