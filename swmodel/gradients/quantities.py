"""Scalar quantities of the state: their notation, which is parsed without JAX; `observers` computes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from ..config.messages import format_length
from ..errors import UsageError, suggest
from ..ocean.barrier_faces import are_on_barriers
from ..ocean.coordinates import axes, coordinate_names_and_unit, to_grid_axes
from ..ocean.places import position_in_table
from ..ocean.table import variable_in_run
from ..setup.positions.cross_sections import CrossSection, cross_section, straight_section
from ..setup.positions.gauges import station

if TYPE_CHECKING:
    from ..config.options.model import Config


class ScalarQuantity(NamedTuple):
    """A quantity whose value is one number for each state."""

    name: str  # one of QUANTITIES
    units: str
    long_name: str
    points: tuple[tuple[float, float], ...]  # (x, y) of its station or of its section's ends; () for the whole domain
    arguments: dict  # of its function in `observers`, in addition to a `trajectory.View`

    def observe(self, view, k):
        """The block's share of the quantity, whose value is the sum over all blocks."""
        from .observers import OBSERVERS

        return OBSERVERS[self.name](view, **self.arguments)


def parse_quantity(text: str, config: Config, key: str = "--of") -> ScalarQuantity:
    """Parse NAME or NAME:PLACE, with NAME one of QUANTITIES; messages of a UsageError begin with `key`."""
    name, _, place = text.strip().partition(":")
    if name not in QUANTITIES:
        forms = "; ".join(entry.syntax for entry in QUANTITIES.values())
        raise UsageError(f'{key} {text}: no quantity "{name}"; {suggest(name, QUANTITIES)}\nwrite {forms}')
    try:
        return QUANTITIES[name].parse(name, place, config)
    except UsageError as error:
        raise UsageError(f"{key} {text}: {error}") from None


def parse_at_station(name: str, place: str, config: Config) -> ScalarQuantity:
    """eta or sea level at a place, interpolated bilinearly between the wet cells around it.

    The place is "X,Y" in m or degrees, or the name of a station in `output.stations`.
    """
    names, unit = coordinate_names_and_unit(config.grid)
    format_position = position_formatter(unit)
    gauge = next((each for each in config.output.stations if each.name == place), None)
    try:
        x, y = position_in_table(config.grid, gauge, gauge.name) if gauge else map(float, place.split(","))
    except ValueError:
        raise UsageError(
            f'"{place}" is not a position; write {names[0]} and {names[1]} in {unit}, {name}:X,Y'
        ) from None
    at_station, physics = station(config, (x, y)), config.physics
    gauge_name = f'"{gauge.name}", ' if gauge else ""
    long_name = (
        f"{variable_in_run(name, physics).long_name} at {gauge_name}{names[0]} = {format_position(x)}, {names[1]} = "
        f"{format_position(y)}"
    )
    gravity_argument = {"full_gravity": physics.full_gravity} if name == "sea_level" and physics.reduced_gravity else {}
    return ScalarQuantity(
        name, "m", long_name, ((at_station.x, at_station.y),), {"station": at_station} | gravity_argument
    )


def position_formatter(unit: str) -> Callable[[float], str]:
    """The function that formats a position along an axis for messages and long names."""
    return format_length if unit == "m" else "{:.10g} degrees".format


def parse_transport(name: str, place: str, config: Config) -> ScalarQuantity:
    """Volume transport through the section "x=X" or "y=Y", in m, or through the part of it "from=A,to=B".

    On a sphere the section is "lon=X" or "lat=Y", in degrees. The place may also be a name in `output.sections`.
    """
    if line := next((each for each in config.output.sections if each.name == place), None):
        named_section = require_no_barrier(config, cross_section(config, line))
        grid_ends = (to_grid_axes(config.grid, *end) for end in named_section.ends)
        ends = tuple((float(x), float(y)) for x, y in grid_ends)
        return ScalarQuantity(
            name, "m3 s-1", f'volume transport through "{place}"', ends, {"faces": named_section.faces}
        )
    names, unit = [axis.name for axis in axes(config.grid)], axes(config.grid).x.unit
    format_position = position_formatter(unit)
    forms = " or ".join(f"transport:{each}={letter}" for each, letter in zip(names, "XY", strict=True))
    message = f'"{place}" is not a section; write {forms}, in {unit}; for a part of it, append ,from=A,to=B'
    try:
        parts = {key.strip(): float(value) for key, value in (part.split("=") for part in place.split(","))}
    except ValueError:
        raise UsageError(message) from None
    axis = next(iter(parts))
    if axis not in names or not parts.keys() <= {axis, "from", "to"} or len(parts) != place.count("="):
        raise UsageError(message)
    along_x = axis == names[0]
    line_section = straight_section(config, "x" if along_x else "y", parts[axis], parts.get("from"), parts.get("to"))
    require_no_barrier(config, line_section)
    (at, _), (start, end) = line_section.ends.T if along_x else line_section.ends.T[::-1]
    part = f", {names[along_x]} from {format_position(start)} to {format_position(end)}" if len(parts) > 1 else ""
    long_name = f"volume transport through {axis} = {format_position(at)}{part}"
    return ScalarQuantity(
        name,
        "m3 s-1",
        long_name,
        tuple((float(x), float(y)) for x, y in line_section.ends),
        {"faces": line_section.faces},
    )


def require_no_barrier(config: Config, section: CrossSection) -> CrossSection:
    """The section. UsageError: a part of it follows a barrier, whose transport is not that of the currents u and v."""
    faces = section.faces
    if are_on_barriers(config, faces.axis == 1, faces.rows, faces.columns).any():
        raise UsageError("a part of this section follows a barrier; choose a section beside the barrier")
    return section


def make_integral_parser(units: str, long_name: str, times_density: bool = True) -> Callable:
    """The parser of a quantity of the whole domain: a sum over cells, times the density if `times_density`."""

    def parser(name: str, place: str, config: Config) -> ScalarQuantity:
        if place:
            raise UsageError(f"{name} is a quantity of the whole domain; leave out {place}")
        return ScalarQuantity(name, units, long_name, (), {"factor": config.physics.density if times_density else 1.0})

    return parser


class QuantitySyntax(NamedTuple):
    """The notation of a quantity, and its parser (name, place, config) -> ScalarQuantity."""

    syntax: str
    parse: Callable


QUANTITIES = {
    "eta": QuantitySyntax("eta:X,Y", parse_at_station),
    "sea_level": QuantitySyntax("sea_level:X,Y", parse_at_station),
    "transport": QuantitySyntax(
        "transport:x=X or transport:y=Y (append ,from=A,to=B for a part of it), or transport:NAME of a [[section]]",
        parse_transport,
    ),
    "kinetic_energy": QuantitySyntax("kinetic_energy", make_integral_parser("J", "kinetic energy")),
    "energy": QuantitySyntax("energy", make_integral_parser("J", "kinetic and available potential energy")),
    "mass": QuantitySyntax("mass", make_integral_parser("kg", "mass of the layer")),
    "potential_enstrophy": QuantitySyntax(
        "potential_enstrophy", make_integral_parser("m s-2", "potential enstrophy", times_density=False)
    ),
}
