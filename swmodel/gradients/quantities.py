"""Scalar quantities of the state: notation for users, checked without JAX, and functions that observe them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..config.messages import metres
from ..errors import UsageError, suggest
from ..ocean.coordinates import along_axes, axes, positions
from ..ocean.table import entry_of
from ..setup.positions.crossings import section, straight
from ..setup.positions.gauges import place_of, station


class Quantity(NamedTuple):
    """A number of a state."""

    name: str  # an identifier
    units: str
    long_name: str
    line: tuple[tuple[float, float], ...]  # its station, or the ends of its section, along the axes; () for all
    arguments: dict  # of its function in `observers`, besides a `trajectory.View`

    def observe(self, view, k):
        """The block's share of the quantity; the sum over all blocks is its value."""
        from .observers import OBSERVERS

        return OBSERVERS[self.name](view, **self.arguments)


def parse(text: str, config, key: str = "--of") -> Quantity:
    """The quantity of a text NAME or NAME:PLACE, with NAME one of QUANTITIES; `key` names it in a UsageError."""
    name, _, place = text.strip().partition(":")
    if name not in QUANTITIES:
        forms = "; ".join(entry.form for entry in QUANTITIES.values())
        raise UsageError(f'{key} {text}: no quantity "{name}"; {suggest(name, QUANTITIES)}\nwrite {forms}')
    try:
        return QUANTITIES[name].parse(name, place, config)
    except UsageError as error:
        raise UsageError(f"{key} {text}: {error}") from None


def at_station(name: str, place: str, config) -> Quantity:
    """eta or sea level at a station: bilinear between the wet cells around it.

    Its place is "X,Y" in m or degrees, or the name of one of the gauges, `output.stations`.
    """
    names, unit = positions(config.grid)
    shown = in_words(unit)
    gauge = next((each for each in config.output.stations if each.name == place), None)
    try:
        x, y = at = place_of(config, gauge, gauge.name) if gauge else tuple(map(float, place.split(",")))
    except ValueError:
        raise UsageError(f'"{place}" is no position; write {names[0]} and {names[1]} in {unit}, {name}:X,Y') from None
    at, physics = station(config, at), config.physics
    named = f'"{gauge.name}", ' if gauge else ""
    long_name = f"{entry_of(name, physics).long_name} at {named}{names[0]} = {shown(x)}, {names[1]} = {shown(y)}"
    reduced = {"full_gravity": physics.full_gravity} if name == "sea_level" and physics.reduced_gravity else {}
    return Quantity(name, "m", long_name, ((at.x, at.y),), {"at": at} | reduced)


def in_words(unit: str) -> Callable[[float], str]:
    """A function of a position to its words."""
    return metres if unit == "m" else "{:.10g} degrees".format


def transport(name: str, place: str, config) -> Quantity:
    """Volume transport through a section, "x=X" or "y=Y", in m, optionally with "from=A,to=B".

    On a sphere the section is "lon=X" or "lat=Y", in degrees. It may also be a name in `output.sections`.
    """
    if line := next((each for each in config.output.sections if each.name == place), None):
        found = section(config, line)
        ends = tuple(tuple(map(float, along_axes(config.grid, *end))) for end in found.ends)
        return Quantity(name, "m3 s-1", f'volume transport through "{place}"', ends, {"faces": found.faces})
    names, unit = [axis.name for axis in axes(config.grid)], axes(config.grid).x.unit
    shown = in_words(unit)
    forms = " or ".join(f"transport:{each}={letter}" for each, letter in zip(names, "XY", strict=True))
    wrong = f'"{place}" is no section; write {forms}, in {unit}, and for a part of it ,from=A,to=B'
    try:
        parts = {key.strip(): float(value) for key, value in (part.split("=") for part in place.split(","))}
    except ValueError:
        raise UsageError(wrong) from None
    axis = next(iter(parts))
    if axis not in names or not parts.keys() <= {axis, "from", "to"} or len(parts) != place.count("="):
        raise UsageError(wrong)
    along_x = axis == names[0]
    cut = straight(config, "x" if along_x else "y", parts[axis], parts.get("from"), parts.get("to"))
    (at, _), (start, end) = cut.ends.T if along_x else cut.ends.T[::-1]
    part = f", {names[along_x]} from {shown(start)} to {shown(end)}" if len(parts) > 1 else ""
    long_name = f"volume transport through {axis} = {shown(at)}{part}"
    return Quantity(name, "m3 s-1", long_name, tuple(tuple(map(float, end)) for end in cut.ends), {"faces": cut.faces})


def integral(units: str, long_name: str, mass: bool = True) -> Callable:
    """The parser of a quantity of the whole domain: a sum over cells, times density if `mass`."""

    def parser(name: str, place: str, config) -> Quantity:
        if place:
            raise UsageError(f"{name} is a quantity of the whole domain; leave out {place}")
        return Quantity(name, units, long_name, (), {"factor": config.physics.density if mass else 1.0})

    return parser


class Entry(NamedTuple):
    """The form of a quantity, and the function (name, place, config) that makes the Quantity."""

    form: str
    parse: Callable


QUANTITIES = {
    "eta": Entry("eta:X,Y", at_station),
    "sea_level": Entry("sea_level:X,Y", at_station),
    "transport": Entry(
        "transport:x=X or transport:y=Y, with ,from=A,to=B a part of it, or transport:NAME of a [[section]]", transport
    ),
    "kinetic_energy": Entry("kinetic_energy", integral("J", "kinetic energy")),
    "energy": Entry("energy", integral("J", "kinetic and available potential energy")),
    "mass": Entry("mass", integral("kg", "mass of the layer")),
    "potential_enstrophy": Entry("potential_enstrophy", integral("m s-2", "potential enstrophy", mass=False)),
}
