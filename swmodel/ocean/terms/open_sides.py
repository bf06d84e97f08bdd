"""Open sides: waves leave through them, on top of sea level and transport that are given outside.

The outermost row of cells of an open side is water outside the model: only what is given is known of it. The transport
through the face between it and the first cell inside follows from the sea level inside, at each stage of a step,

    U = U_ext + n sqrt(g H) (eta_ext - eta_b),    n the direction inward, +1 or -1,

with H and what is given averaged over the two cells, and eta_b extrapolated to the face from the two cells inside
(from one if the second is land). A wave that leaves at right angles leaves a fraction of order dx⁴ of its energy. The
face needs no memory. Under air pressure both levels are those under `open_sides.pressure`, eta + (p - pressure) /
(rho g), so that a storm that crosses a side pumps no water.

Reference: Flather, R. A. (1976), Mém. Soc. R. Sci. Liège, 6e série, 10, 141-164.
"""

from __future__ import annotations

from math import cos, radians, sin
from typing import Literal, NamedTuple

import numpy as np
from pydantic import create_model

from ..constituents import Constituent, constituents
from ..instant import PhaseIncrement, angle, turns_of
from ..operators import mx_f, my_f
from ..option import Section, option
from ..patch import Patch, east, north, south, west
from ..variable import Variable
from .term import Term
from .tide import grown, ramp_fields, ramp_of, too_fast, undated

#: The axis of each side.
SIDES = {"west": "x", "east": "x", "south": "y", "north": "y"}

#: Constituents of the tide outside.
NAMES = ("M2", "S2", "N2", "K2", "K1", "O1", "P1", "Q1", "MF", "MM", "M4")
#: The parts of an oscillation a cos(wt - phase): the factors a cos(phase) of cos(wt) and a sin(phase) of sin(wt).
PARTS = {"cosine": cos, "sine": sin}
#: The date of the frequencies in runs without a date; they differ by less than 1e-9 from year to year.
NO_DATE = "2000-01-01"


def given(name: str, location: str, units: str, long_name: str, dimension: tuple) -> Variable:
    """A field of the water outside, or its number in the section; a tide's transports have no number."""
    key = "" if name.endswith(tuple(PARTS)) and "transport" in name else name.replace("outside_", "open_sides.")
    return Variable(
        name, location, units, "", long_name, key, control="field", dimension=dimension, signed=True, small=1e-3
    )


def parts_of(constituent: str, of: str = "") -> list[str]:
    """The names of the PARTS of a constituent, for sea level or another one of OSCILLATING."""
    return [f"outside_{constituent.lower()}_{of}{part}" for part in PARTS]


def numbers_of(constituent: str) -> list[str]:
    """The names in the params of the fraction of its period in a step, and of f cos(V + u) and f sin(V + u)."""
    words = ("turns_high", "turns_low", "start_cosine", "start_sine")
    return [f"outside_{constituent.lower()}_{word}" for word in words]


def flows_of(constituent: str) -> str:
    """The name in the params of a number that is present if transports have the tide, too."""
    return f"outside_{constituent.lower()}_flows"


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
#: The quantities that have tides: location, units, words and dimension, by the prefix of the part in their names.
OSCILLATING = {
    "": ("centre", "m", "sea level", METRES),
    "transport_x_": ("u", "m2 s-1", "transport in x", TRANSPORT),
    "transport_y_": ("v", "m2 s-1", "transport in y", TRANSPORT),
}
FLOWS = tuple(of for of in OSCILLATING if of)
TIDES = tuple(
    given(field, location, units, f"{part} of the tide {name} of the outside {what}", dimension)
    for of, (location, units, what, dimension) in OSCILLATING.items()
    for name in NAMES
    for part, field in zip(PARTS, parts_of(name, of), strict=True)
)
#: The name of the air pressure under which the sea level outside is as given.
PRESSURE = "outside_pressure"
#: The ramp of the tide outside, as `tide.RAMP`.
RAMP = "outside_ramp"
NUMBERS = (
    *(
        Variable(word, "", "1", "", f"part of the constituent {name}")
        for name in NAMES
        for word in (*numbers_of(name), flows_of(name))
    ),
    *ramp_fields(RAMP),
    Variable(PRESSURE, "", "Pa", "", "air pressure under which the level of the outside water is as given"),
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

    pressure: float | None = option(
        101325.0,
        "Pa",
        "air pressure under which the level outside is as given; under another one it is lower, as by a barometer; "
        "none: it is as given under any, as that of another run is",
    )
    tide: str = option(
        "",
        "",
        "its tide from harmonics.nc of another run, on any grid: gives [input] level and transport of constituents",
    )
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
    """The property of the section for a part of a constituent, m."""

    def value(section) -> float:
        amplitude, phase = (getattr(section, f"{constituent.lower()}_{key}") for key in ("amplitude", "phase"))
        return amplitude * function(radians(phase))

    return property(value)


for _name in NAMES:
    for _part, _function in PARTS.items():
        setattr(OpenSides, f"{_name.lower()}_{_part}", number_of(_name, _function))


class Outside(NamedTuple):
    """What is given of the water outside at a time: sea level, m, and transports on u and on v faces, m2 s-1."""

    level: Patch
    x: Patch
    y: Patch


def active(options) -> bool:
    """Whether a side is open."""
    return bool(options.sides)


def problems(config):
    """Lines about an open side of a ring, values given without an open side, a stepper and tides that do not fit."""
    options, grid = config.open_sides, config.grid
    if options.sides and config.time.stepper == "leapfrog":
        yield (
            "time.stepper: leapfrog amplifies what leaves through open sides unless the time step is about a tenth of "
            "the stable one elsewhere; take ab2, ab3, rk3 or rk4"
        )
    for axis, ring in (("x", grid.periodic_x), ("y", grid.periodic_y)):
        for side in (side for side in options.sides if ring and SIDES[side] == axis):
            yield f"open_sides.sides: there is no {side} side where grid.periodic_{axis} is true; set it to false"
    if len(set(options.sides)) < len(options.sides):
        yield f"open_sides.sides: {', '.join(options.sides)}: each is named once"
    keys = [
        f"open_sides.{key}"
        for key in type(options).model_fields
        if key not in ("sides", "nodal", "pressure") and getattr(options, key)
    ]
    keys += [f"input.{row.name}" for row in (*MEAN, *TIDES) if getattr(config.input, row.name)]
    if keys and not options.sides:
        yield f"{keys[0]}: has no effect without open_sides.sides"
    for name in NAMES:
        key = f"open_sides.{name.lower()}"
        if getattr(options, f"{name.lower()}_phase") and not getattr(options, f"{name.lower()}_amplitude"):
            yield f"{key}_phase: has no effect where {key}_amplitude is 0 m"
    if config.tide.ramp and not (config.tide.constituents or names(config)):
        yield "tide.ramp: has no effect without tide.constituents, or a tide outside open sides"
    yield from problems_of_dates(config)


def problems_of_dates(config):
    """Lines about tides at an impossible date, that differ from those inside, or too fast for the time step."""
    given, time = names(config), config.time
    if given and time.start and config.tide.constituents and config.tide.nodal != config.open_sides.nodal:
        yield "open_sides.nodal: the tides outside and inside have the same Moon; set it and tide.nodal alike"
    if wrong := undated(time) if given and time.start else "":
        yield wrong
    elif time.dt is not None:
        yield from too_fast("open_sides", given, time.model_copy(update={"start": time.start or NO_DATE}))


def are_given(config, name: str, *of: str) -> bool:
    """Whether parts of a constituent are given by files, by the case or in Python, of any of OSCILLATING."""
    return any(has_source(config, part) for each in of for part in parts_of(name, each))


def names(config) -> list[str]:
    """The constituents of the tide outside, given by numbers, by files, by the case or in Python."""
    amplitudes = {name: getattr(config.open_sides, f"{name.lower()}_amplitude") for name in NAMES}
    return [name for name in NAMES if amplitudes[name] or are_given(config, name, *OSCILLATING)]


def has_source(config, name: str) -> bool:
    """Whether a field is given by files, by the case or in Python."""
    return name in config.own.names or hasattr(config.case, name) or bool(getattr(config.input, name))


def uses_air_pressure(config) -> bool:
    """Whether air pressure acts on the water inside and outside."""
    return config.open_sides.pressure is not None and has_source(config, "air_pressure")


def unused_coefficients(config) -> list[str]:
    """The parts of constituents that are not given."""
    there = {"": names(config)} | dict.fromkeys(FLOWS, [name for name in NAMES if are_given(config, name, *FLOWS)])
    return [part for of, given in there.items() for name in NAMES if name not in given for part in parts_of(name, of)]


def build(config, rows, columns):
    """For each constituent the fraction of its period in a step, and f cos(V + u) and f sin(V + u) at the start.

    Also the air pressure under which the level is as given, if there is air pressure.
    """
    built = {PRESSURE: np.full((1, 1), config.open_sides.pressure)} if uses_air_pressure(config) else {}
    built |= ramp_of(config, RAMP) if names(config) else {}
    for each in tides(names(config), config.time.start, config.open_sides.nodal):
        start = (np.full((1, 1), each.factor * function(each.phase)) for function in PARTS.values())
        values = *turns_of(config.time.dt, each.period), *start
        built |= dict(zip(numbers_of(each.name), values, strict=True))
        built |= {flows_of(each.name): np.ones((1, 1))} if are_given(config, each.name, *FLOWS) else {}
    return built


def tides(names, start: str, nodal: bool = True) -> list[Constituent]:
    """The constituents called `names` at the date of the start; without a date with f = 1 and V + u = 0."""
    if start:
        return constituents(names, start, nodal)
    return [each._replace(phase=0.0, factor=1.0) for each in constituents(names, NO_DATE)]


def given_outside(flow, params, now) -> Outside:
    """What is given at an Instant: the mean, and f (cosine cos(wt + V + u) + sine sin(wt + V + u)) of each tide.

    Tides grow as `tide.ramp` says. The level is the one under the air pressure outside. Transports are those given,
    plus currents times the sum of depth and sea level.
    """
    *means, u, v = (params[row.name] for row in MEAN)
    found = dict(zip(OSCILLATING, means, strict=True))
    ramp = grown(RAMP, params, now, flow.h.values.dtype)
    for name in (name for name in NAMES if numbers_of(name)[0] in params):
        high, low, cosine, sine = (params[word] for word in numbers_of(name))
        passed = angle(PhaseIncrement(high.values, low.values), now, flow.h.values.dtype)
        xp = passed.__array_namespace__()
        c, s = ramp * xp.cos(passed), ramp * xp.sin(passed)
        for of in OSCILLATING if flows_of(name) in params else ("",):
            cosines, sines = (params[part] for part in parts_of(name, of))
            found[of] = found[of] + cosines * (cosine * c - sine * s)
            found[of] = found[of] + sines * (cosine * s + sine * c)
    level, x, y = found.values()
    level = level - inverse_barometer(params) if pressed(params) else level
    h = flow.grid.depth + level
    return Outside(level, x + u * mx_f(h), y + v * my_f(h))


def pressed(params) -> bool:
    """Whether air pressure acts on the water outside."""
    return PRESSURE in params and "air_pressure" in params


def inverse_barometer(params):
    """How much lower water stands under the air pressure than under `open_sides.pressure`, m."""
    return (params["air_pressure"] - params[PRESSURE]) / (params["density"] * params["gravity"])


def boundary_flux(flow, params, now):
    """Transport per length, m2 s-1, and thickness, m, at the open faces in x, and at those in y."""
    if not pressed(params):
        return flows(flow, params, flow.eta, given_outside(flow, params, now))
    lower, given = inverse_barometer(params), given_outside(flow, params, now)
    (x, h_x), (y, h_y) = flows(flow, params, flow.eta + lower, given._replace(level=given.level + lower))
    return (x, h_x - mx_f(lower)), (y, h_y - my_f(lower))


def acceleration(config) -> float:
    """Zero: the check of health counts separately what waves bring in."""
    return 0.0


def flows(flow, params, eta, given: Outside):
    """As `boundary_flux`, from the sea level inside and what is given outside."""
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
    acceleration=acceleration,
    energy=1,
    boundary_flux=boundary_flux,
    unused_coefficients=unused_coefficients,
)
