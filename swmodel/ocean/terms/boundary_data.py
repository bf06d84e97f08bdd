"""The boundary data of open boundaries: options, variables, and the source of each value."""

from __future__ import annotations

from math import cos, radians, sin
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, get_args

from pydantic import BeforeValidator

from ..elements import array_of, element, index_of
from ..option import Section, option
from ..variable import Variable
from .tide import date_problem, expand_names, period_problems, ramp_variables, repetition_problems

if TYPE_CHECKING:
    from ...config.options.model import Config

AXIS_OF_SIDE = {"west": "x", "east": "x", "south": "y", "north": "y"}

#: Constituents of the boundary tide.
BoundaryConstituent: TypeAlias = Literal["M2", "S2", "N2", "K2", "K1", "O1", "P1", "Q1", "MF", "MM", "M4"]
CONSTITUENTS: tuple[str, ...] = get_args(BoundaryConstituent)
#: The parts of an oscillation a cos(wt - phase): the factors a cos(phase) of cos(wt) and a sin(phase) of sin(wt).
PARTS = {"cosine": cos, "sine": sin}
#: The numbers of a constituent in the params; see `phase_params`.
PHASE_PARTS = ("turns_high", "turns_low", "start_cosine", "start_sine")
#: The date of the frequencies in runs without a date. A year changes them by less than 1e-9 of their values.
DEFAULT_DATE = "2000-01-01"


def boundary_variable(name: str, location: str, units: str, long_name: str, dimension: tuple) -> Variable:
    """The Variable of a field of boundary data. A mean may vary in time and has a key for a uniform value."""
    is_mean = not index_of(name)
    properties: dict[str, Any] = {
        "key": name.replace("boundary_", "open_boundaries.") if is_mean else "",
        "varies_in_time": is_mean,
        "control": "field",
    }
    return Variable(
        name, location, units, "", long_name, **properties, dimension=dimension, is_signed=True, small_change=1e-3
    )


def part_names(constituent: str, array: str) -> list[str]:
    """The names of the fields of the PARTS of a constituent in one of TIDE_ARRAYS."""
    return [element(array, constituent, part) for part in PARTS]


def phase_params(constituent: str) -> list[str]:
    """The names in the params of a constituent's PhaseIncrement, f cos(V + u) and f sin(V + u)."""
    return [element("boundary_tide", constituent, word) for word in PHASE_PARTS]


def transports_param(constituent: str) -> str:
    """The name of a number that is in the params if boundary transports have this constituent, too."""
    return element("boundary_tide", constituent, "flows")


LEVEL_DIMENSION, TRANSPORT_DIMENSION, CURRENT_DIMENSION = (0, 1, 0, 0), (1, 1, -1, 0), (1, 0, -1, 0)
MEAN_VARIABLES = (
    boundary_variable("boundary_level", "centre", "m", "sea level at open boundaries, without tides", LEVEL_DIMENSION),
    boundary_variable("boundary_transport_x", "u", "m2 s-1", "transport in x at open boundaries", TRANSPORT_DIMENSION),
    boundary_variable("boundary_transport_y", "v", "m2 s-1", "transport in y at open boundaries", TRANSPORT_DIMENSION),
    boundary_variable(
        "boundary_current_x", "u", "m s-1", "current in x at open boundaries, added to the transport", CURRENT_DIMENSION
    ),
    boundary_variable(
        "boundary_current_y", "v", "m s-1", "current in y at open boundaries, added to the transport", CURRENT_DIMENSION
    ),
)
#: The arrays [constituent, part, y, x] of the tide at open boundaries; `open_boundaries.constituents` are their first
#: axis.
TIDE_ARRAYS = {
    "boundary_tide_level": ("centre", "m", "sea level", LEVEL_DIMENSION),
    "boundary_tide_transport_x": ("u", "m2 s-1", "transport in x", TRANSPORT_DIMENSION),
    "boundary_tide_transport_y": ("v", "m2 s-1", "transport in y", TRANSPORT_DIMENSION),
}
TIDE_LEVEL, *TIDE_TRANSPORTS = TIDE_ARRAYS
#: The variables of the elements of these arrays.
TIDE_VARIABLES = tuple(
    boundary_variable(field, location, units, f"{part} of the {name} tide of the {what} at open boundaries", dimension)
    for array, (location, units, what, dimension) in TIDE_ARRAYS.items()
    for name in CONSTITUENTS
    for part, field in zip(PARTS, part_names(name, array), strict=True)
)
#: The name of the air pressure that the level of boundary data refers to.
PRESSURE_PARAM = "boundary_pressure"
#: The ramp of the boundary tide, as `tide.RAMP_PARAM`.
RAMP_PARAM = "boundary_ramp"
#: The numbers in the params.
SCALAR_VARIABLES = (
    *(
        Variable(number, "", "1", "", f"part of the constituent {name}")
        for name in CONSTITUENTS
        for number in (*phase_params(name), transports_param(name))
    ),
    *ramp_variables(RAMP_PARAM),
    Variable(PRESSURE_PARAM, "", "Pa", "", "air pressure that the boundary level refers to"),
)


PHASE_HELP = "its Greenwich phase lag, or its lag after the start if time.start is not set; none: 0"


class OpenBoundaryOptions(Section):
    """Open boundaries: sides of the domain that waves and water pass where the outermost cells are water."""

    sides: tuple[Literal["west", "east", "south", "north"], ...] = option((), "", "open boundaries")
    level: float = option(0.0, "m", "mean sea level outside, if the case or a file gives none")
    transport_x: float = option(0.0, "m2 s-1", "mean transport outside in x, if the case or a file gives none")
    transport_y: float = option(0.0, "m2 s-1", "mean transport outside in y, if the case or a file gives none")
    current_x: float = option(0.0, "m s-1", "current outside in x, which is added to the transport")
    current_y: float = option(0.0, "m s-1", "current outside in y, which is added to the transport")

    pressure: float | None = option(
        101325.0,
        "Pa",
        "air pressure that the level outside refers to (inverse barometer); none: the level already includes the "
        "effect of air pressure, as that of another run does",
    )
    constituents: Annotated[tuple[BoundaryConstituent, ...], BeforeValidator(expand_names)] = option(
        (), "", "constituents of the boundary tide; each list below has one element per constituent"
    )
    amplitude: tuple[float, ...] = option((), "m", "amplitude of each constituent, if the case or a file gives none")
    phase: tuple[float, ...] = option((), "degrees", f"phase of each constituent, {PHASE_HELP}")
    tide: str = option(
        "", "", "harmonics.nc of another run, on any grid, which gives level and transports of the tide instead"
    )
    atlas: str = option("", "", 'tidal atlas, such as "FES2014" or "TPXO9-atlas-v5", which gives level and transports')
    atlas_folder: str = option("", "", "folder with the files of the atlas")
    nodal: bool = option(True, "", "whether the tide has nodal corrections, if time.start is set")


def missing_sides(key: str, sides, grid):
    """Yield a message for each side that does not exist because its axis is periodic."""
    for side in sides:
        if getattr(grid, f"periodic_{AXIS_OF_SIDE[side]}"):
            axis = f"grid.periodic_{AXIS_OF_SIDE[side]}"
            yield f"{key}: there is no {side} side where {axis} is true; leave out this side, or set that key to false"


def problems(config: Config):
    """Yield messages about open boundaries of a periodic axis, values without effect, unsuitable steppers and tides."""
    options, grid, time, tides = config.open_boundaries, config.grid, config.time, tide_names(config)
    if options.sides and time.stepper == "leapfrog":
        yield (
            "time.stepper: leapfrog amplifies waves through open boundaries unless the time step is a seventh of the "
            "stable one elsewhere; choose another stepper"
        )
    yield from missing_sides("open_boundaries.sides", options.sides, grid)
    keys = [key for key in type(options).model_fields if key not in ("sides", "nodal", "pressure")]
    used = [f"open_boundaries.{key}" for key in keys if getattr(options, key)]
    used += [
        f"input.{name}" for name in (*(row.name for row in MEAN_VARIABLES), *TIDE_ARRAYS) if getattr(config.input, name)
    ]
    if used and not options.sides:
        yield f"{used[0]}: has no effect without open_boundaries.sides"
    if options.atlas_folder:  # the atlas itself has become entries of [input]
        yield "open_boundaries.atlas_folder: has no effect without open_boundaries.atlas"
    yield from repetition_problems("open_boundaries.sides", options.sides)
    yield from repetition_problems("open_boundaries.constituents", options.constituents)
    lists = {f"open_boundaries.{key}": getattr(options, key) for key in ("amplitude", "phase")}
    lists |= {f"input.{array}": getattr(config.input, array) for array in TIDE_ARRAYS}
    for key, values in lists.items():
        if values and len(values) != len(options.constituents):
            requirement = f"open_boundaries.constituents has {len(options.constituents)}; give one element for each"
            yield f"{key}: has {len(values)} elements, but {requirement}"
    for name in tides:
        if not any(options.amplitude) and not has_values(config, name, *TIDE_ARRAYS):
            arrays = ", ".join(f"input.{array}" for array in TIDE_ARRAYS)
            yield f"open_boundaries.constituents: {name} has no values; give open_boundaries.amplitude, or {arrays}"
    if config.tide.ramp and not (config.tide.constituents or tides):
        yield "tide.ramp: has no effect without tide.constituents or open_boundaries.constituents"
    if tides and time.start and config.tide.constituents and config.tide.nodal != options.nodal:
        yield "open_boundaries.nodal: differs from tide.nodal; set both to the same value"
    if date_error := date_problem(time) if tides and time.start else "":
        yield date_error
    elif time.dt is not None:
        yield from period_problems(
            "open_boundaries", tides, time.model_copy(update={"start": time.start or DEFAULT_DATE})
        )


def uniform_tide(section: OpenBoundaryOptions, name: str) -> float:
    """The value of a part of the tide that `section` sets: a cos(phase) or a sin(phase) for the level, m; else 0."""
    array, (constituent, part) = array_of(name), index_of(name)
    if array != TIDE_LEVEL or constituent not in section.constituents or not section.amplitude:
        return 0.0
    position = section.constituents.index(constituent)
    return section.amplitude[position] * PARTS[part](radians(section.phase[position] if section.phase else 0.0))


def has_values(config: Config, name: str, *arrays: str) -> bool:
    """Whether files, the case or Python provide parts of the constituent `name` in any of the arrays."""
    return any(has_source(config, part) for array in arrays for part in part_names(name, array))


def tide_names(config: Config) -> list[str]:
    """The constituents of the boundary tide, in the order of CONSTITUENTS."""
    return [name for name in CONSTITUENTS if name in config.open_boundaries.constituents]


def has_source(config: Config, name: str) -> bool:
    """Whether a file, the case or Python provides a field."""
    return name in config.python.names or is_in_case(config, name) or bool(input_file_of(config, name))


def is_in_case(config: Config, name: str) -> bool:
    """Whether the case has a function of a field, or of the array of all constituents of a tide."""
    index = index_of(name)
    return hasattr(config.case, array_of(name)) and (not index or index[0] in config.open_boundaries.constituents)


def input_file_of(config: Config, name: str) -> str:
    """The entry of [input] for a field, or for a constituent of a tide; "" for none."""
    entries, index = getattr(config.input, array_of(name), ""), index_of(name)
    return dict(zip(config.open_boundaries.constituents, entries, strict=False)).get(index[0], "") if index else entries


def uses_air_pressure(config: Config) -> bool:
    """Whether the boundary level is corrected for air pressure."""
    return config.open_boundaries.pressure is not None and has_source(config, "air_pressure")


def unused_coefficients(config: Config) -> list[str]:
    """The names of coefficients without effect: the parts of constituents that have no values in the run."""
    with_transports = [name for name in tide_names(config) if has_values(config, name, *TIDE_TRANSPORTS)]
    tides_of_array = {TIDE_LEVEL: tide_names(config)} | dict.fromkeys(TIDE_TRANSPORTS, with_transports)
    return [
        part
        for array in TIDE_ARRAYS
        for name in CONSTITUENTS
        if name not in tides_of_array[array]
        for part in part_names(name, array)
    ]
