"""The tidal potential, du/dt = + d_x (g eta_eq) with the equilibrium tide eta_eq, and self-attraction.

    eta_eq = sum over constituents of A (1 + k - h) f cos(w t + V + u + m lon) G_m(lat)
    G_0 = 1/2 - 3/2 sin² lat,   G_1 = sin 2 lat,   G_2 = cos² lat

A is the amplitude, 1 + k - h the factor for the yielding Earth, m the species. f, u and V refer to the date of the
start (`constituents_at`). All constituents together need at most five fields: G_0, G_m cos(m lon) and G_m sin(m lon),
each times a number that varies in time. `tide.ramp` T > 0 multiplies the potential and the boundary tide by
r(t) = (1 - cos(pi t / T)) / 2 up to t = T, so that a start from rest raises no waves.

Self-attraction and loading in the scalar approximation: du/dt = + d_x (g beta eta), beta near 0.09. The water of a tide
attracts itself and presses the sea floor down. Waves travel as if gravity were (1 - beta) g. The diagnostic `energy`
omits this term and is therefore conserved only within a factor 1 / (1 - beta).

Reference: Hendershott, M. C. (1972), Geophys. J. R. Astron. Soc. 29, 389-402; Accad, Y. and Pekeris, C. L. (1978),
Phil. Trans. R. Soc. A 290, 235-266; Arbic, B. K. et al. (2004), Deep-Sea Res. II 51, 3069-3101, table 1; Ssa from
Schwiderski, E. W. (1980), Rev. Geophys. 18, 243-268.
"""

from __future__ import annotations

from math import cos, pi, sin
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from pydantic import BeforeValidator

from ..constituents import constituents_at, parse_date
from ..coordinates import has_lon_lat, points
from ..elements import element
from ..instant import phase_cosine_and_sine, phase_increment
from ..option import Duration, Section, option
from ..records import RecordInterval, interpolation_numbers, interpolation_weight, record_names
from ..variable import Variable, coefficient
from .term import Term

if TYPE_CHECKING:
    from ...config.options.model import Config


class EquilibriumTide(NamedTuple):
    """An equilibrium tide: amplitude A, m, and 1 + k - h; their product is the height above a yielding Earth."""

    amplitude: float
    elastic_factor: float

    @property
    def height(self) -> float:
        return self.amplitude * self.elastic_factor


PotentialConstituent: TypeAlias = Literal["M2", "S2", "N2", "K2", "K1", "O1", "P1", "Q1", "MF", "MM", "SSA"]
#: The equilibrium tide of each PotentialConstituent.
EQUILIBRIUM = {
    "M2": EquilibriumTide(0.242334, 0.693),
    "S2": EquilibriumTide(0.112743, 0.693),
    "N2": EquilibriumTide(0.046397, 0.693),
    "K2": EquilibriumTide(0.030684, 0.693),
    "K1": EquilibriumTide(0.141565, 0.736),
    "O1": EquilibriumTide(0.100661, 0.695),
    "P1": EquilibriumTide(0.046848, 0.706),
    "Q1": EquilibriumTide(0.019273, 0.695),
    "MF": EquilibriumTide(0.042041, 0.693),
    "MM": EquilibriumTide(0.022191, 0.693),
    "SSA": EquilibriumTide(0.019446, 0.693),
}
#: The name that stands for all constituents of EQUILIBRIUM in a configuration.
ALL_NAMES = "main"

#: Calendars for whose dates the position of the Moon is known.
CALENDARS = ("proleptic_gregorian", "standard")


#: Fields of each species: the factors of C = sum of a cos(phase), and of - S = - sum of a sin(phase).
SPECIES_FIELDS = {
    0: ("tide_zonal", None),
    1: ("tide_diurnal_cosine", "tide_diurnal_sine"),
    2: ("tide_semidiurnal_cosine", "tide_semidiurnal_sine"),
}
#: The species of each PotentialConstituent: cycles per day, rounded.
SPECIES = {name: 0 if name in ("MF", "MM", "SSA") else int(name[-1]) for name in EQUILIBRIUM}
#: The numbers of a constituent in the params: its PhaseIncrement, and its height times f cos(V + u) and f sin(V + u).
CONSTITUENT_PARAMS = ("turns_high", "turns_low", "cosine", "sine")
#: The ramp of the potential; the params have its numbers if there is a ramp.
RAMP_PARAM = "tide_ramp"

NUMBER: dict[str, Any] = {"control": "number", "dimension": (0, 0, 0, 0), "small_change": 1e-2}
FACTOR = Variable("tide_factor", "", "1", "", "factor of the tide's potential", "tide.factor", **NUMBER)


def expand_names(names):
    """The names in capitals; all names for "main"."""
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        return names
    return tuple(EQUILIBRIUM) if ALL_NAMES in names else tuple(name.upper() for name in names)


class TideOptions(Section):
    """Tides that the Moon and the Sun raise inside the domain; they need longitudes and the date time.start."""

    constituents: Annotated[tuple[PotentialConstituent, ...], BeforeValidator(expand_names)] = option(
        (), "", f'constituents of the potential, such as ["M2", "K1"]; ["{ALL_NAMES}"] for all {len(EQUILIBRIUM)}'
    )
    nodal: bool = option(True, "", "whether tides have nodal corrections: f and u of the start; false: 1 and 0")
    factor: float = option(1.0, "1", "factor of the potential")
    ramp: Duration | None = option(
        None, "s", 'time in which the tide grows from zero, also at open boundaries, as "1 day"; none: no ramp'
    )


def problems(config: Config):
    """Yield messages about tides without longitudes or date, with reduced gravity, named twice, or too fast."""
    names, dt, time = config.tide.constituents, config.time.dt, config.time
    if not names:
        return
    if not has_lon_lat(config.grid):
        yield (
            "tide.constituents: tides need longitudes and latitudes, of grid.kind=latlon or of grid.crs, but "
            f"grid.kind is {config.grid.kind}"
        )
    if config.physics.reduced_gravity:
        yield "tide.constituents: tides move the whole water column; physics.reduced_gravity must be false"
    yield from repetition_problems("tide.constituents", names)
    if date_error := date_problem(time):
        yield date_error
    elif dt is not None:
        yield from period_problems("tide.constituents", names, time)


def repetition_problems(key: str, names):
    """Yield a message for each name that the list `key` has more than once."""
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f'{key}: "{name}" is listed {names.count(name)} times'


def date_problem(time) -> str:
    """The problem of the date of a run that needs the Moon's position; "" for none. `time` is the section."""
    if not time.start:
        return 'time.start: must be given, such as "2020-03-01T06:00", because the phases of tides depend on it'
    if time.calendar not in CALENDARS:
        return f"time.calendar: must be {' or '.join(CALENDARS)} for tides, not {time.calendar}"
    try:
        parse_date(time.start)
    except (ValueError, OverflowError) as error:
        return f"time.start: there are no tides at {time.start}: {error}"
    return ""


def period_problems(key: str, names, time):
    """Yield a message for each constituent that is too fast for the time step."""
    for tide in constituents_at(names, time.start) if names and not date_problem(time) else ():
        if tide.period <= 2 * time.dt:
            required = f"must be above two time steps, 2 x {time.dt:g} s"
            yield f"{key}: {tide.name} has a period of {tide.period:.6g} s, which {required}"


def build(config: Config, rows, columns):
    """The shapes of the species at centres, the PhaseIncrement and the parts, m, of each constituent, and the ramp."""
    options, grid = config.tide, config.grid
    params: dict[str, np.ndarray] = {}
    at = points(grid, "centre", np.asarray(rows) % grid.ny, np.asarray(columns) % grid.nx)
    for tide in constituents_at(options.constituents, config.time.start, options.nodal):
        height = tide.nodal_factor * EQUILIBRIUM[tide.name].height
        numbers = np.full((1, 1), height * cos(tide.phase)), np.full((1, 1), height * sin(tide.phase))
        values = *phase_increment(config.time.dt, tide.period), *numbers
        params |= {
            element("tide", tide.name, part): value for part, value in zip(CONSTITUENT_PARAMS, values, strict=True)
        }
    params |= ramp_params(config, RAMP_PARAM)
    for species in sorted({SPECIES[name] for name in options.constituents}):
        params |= species_fields(species, at.lon, at.lat)
    return params


def ramp_params(config: Config, name: str) -> dict[str, np.ndarray]:
    """The numbers in the params of the ramp of this name, from 0 to 1 after `tide.ramp`; none without a ramp."""
    if not config.tide.ramp:
        return {}
    return interpolation_numbers(name, RecordInterval(0.0, config.tide.ramp / config.time.dt))


def ramp_variables(name: str) -> tuple[Variable, ...]:
    """The Variables of the numbers in the params of the ramp of this name."""
    return tuple(Variable(part, "", "1", "", "number of the ramp of the tide") for part in record_names(name)[2:])


def ramp_factor(name: str, params, now, dtype):
    """(1 - cos(pi t / T)) / 2 at an Instant, and 1 after the time T of this ramp; 1 without a ramp."""
    if record_names(name).rate not in params:
        return 1.0
    ramp_fraction = interpolation_weight(tuple(params[part].values for part in record_names(name)[2:]), now, dtype)
    return 0.5 - 0.5 * ramp_fraction.__array_namespace__().cos(pi * ramp_fraction)


def species_fields(species: int, lon, lat) -> dict[str, np.ndarray]:
    """G_0, or G_m cos(m lon) and G_m sin(m lon), at longitudes and latitudes in degrees, by name."""
    lon, lat = np.radians(lon), np.radians(lat)
    cosine_name, sine_name = SPECIES_FIELDS[species]
    if sine_name is None:
        return {cosine_name: 0.5 - 1.5 * np.sin(lat) ** 2}
    height = np.sin(2 * lat) if species == 1 else np.cos(lat) ** 2
    return {cosine_name: height * np.cos(species * lon), sine_name: height * np.sin(species * lon)}


def bernoulli_potential(flow, params, now):
    """- g factor eta_eq, m2 s-2: for each shape the sum of a cos(phase) or - a sin(phase) over the constituents."""
    sums: dict[str, Any] = {}
    for name in (name for name in EQUILIBRIUM if element("tide", name, CONSTITUENT_PARAMS[0]) in params):
        high, low, cosine, sine = (params[element("tide", name, part)] for part in CONSTITUENT_PARAMS)
        c, s = phase_cosine_and_sine(high, low, now, flow.h.values.dtype)
        numbers = cosine * c - sine * s, -(cosine * s + sine * c)
        for field, number in zip(SPECIES_FIELDS[SPECIES[name]], numbers, strict=True):
            if field:
                sums[field] = sums[field] + number if field in sums else number
    height = sum(params[field] * number for field, number in sums.items())
    ramp = ramp_factor(RAMP_PARAM, params, now, flow.h.values.dtype)
    return -((params["gravity"] * params["tide_factor"] * ramp) * height)


FIELDS = (
    *(
        Variable(name, "centre", "1", "", "shape of the tide's potential")
        for names in SPECIES_FIELDS.values()
        for name in names
        if name
    ),
    *(
        Variable(element("tide", name, part), "", units, "", f"part of the constituent {name}")
        for name in EQUILIBRIUM
        for part, units in zip(CONSTITUENT_PARAMS, ("1", "1", "m", "m"), strict=True)
    ),
    *ramp_variables(RAMP_PARAM),
)
TIDE = Term(
    "tide",
    bernoulli_potential=bernoulli_potential,
    coefficients=(FACTOR,),
    options=TideOptions,
    is_active=lambda options: bool(options.constituents),
    problems=problems,
    fields=FIELDS,
    build=build,
)
BETA = coefficient(
    "self_attraction",
    "1",
    "fraction of sea level in self-attraction and loading",
    "number",
    (0, 0, 0, 0),
    small_change=1e-2,
)._replace(max_value=0.5)
SELF_ATTRACTION = Term(
    "self_attraction",
    coefficients=(BETA,),
    bernoulli_potential=lambda flow, params, now: -(params["gravity"] * params["self_attraction"] * flow.eta),
)
