"""Remarks on a valid configuration that a user may not expect: one line each, before the run starts."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..ocean.coordinates import on_sphere
from ..ocean.table import FORCING
from ..ocean.terms.outside import NAMES
from ..ocean.terms.tide import EQUILIBRIUM
from ..setup.checks import outside
from ..setup.checks.stability import dividing
from ..setup.fields import VECTORS, field_of, has_source, varies
from ..setup.fields.kinds import Formula
from ..setup.positions.gauges import gauges
from ..setup.setup import setup_of
from .loading.merge import Sources, add_layer
from .loading.sources import Layer
from .messages import metres
from .options.grid import CIRCLE, CORIOLIS, EXTENTS, ROUND_OFF, Extent, Grid
from .options.model import Config

#: Most gauges that a remark names.
NAMED = 5
#: Most records whose times are checked.
RECORDS = 10_000


def remarks(config: Config, sources: Sources, records: bool = True) -> list[str]:
    """The remarks on a resolved configuration and its Sources; `records`: some are written after intervals."""
    found = [*domain(sources), *rotation(config), *components(config), *relaxation(config), *from_zero(config)]
    found += [*outside.remarks(config), *apart(config), *ramped(config), *on_land(config), *unsent(config)]
    found += [*coarse_time(config), *driven_films(config)]
    return [*found, *record_times(config)] if records else found


def unsent(config: Config) -> Iterator[str]:
    """What sends messages on MPI, in a run without such messages."""
    run = config.run
    if run.exchange != "auto" and (run.nproc == 1 or run.transport == "sharded"):
        where = "on one process" if run.nproc == 1 else 'where run.transport is "sharded"'
        yield f'run.exchange="{run.exchange}" has no effect {where}'


def on_land(config: Config) -> Iterator[str]:
    """Gauges in cells that are dry at rest, whatever the depth between these and others."""
    found = gauges(setup_of(config)) if config.drying.active else None
    depths = found.nearest(found.resting) if found else ()
    high = {name: -depth for name, depth in zip(found.names, depths, strict=True) if depth <= 0} if found else {}
    if high:
        some = ", ".join(f'"{name}" by {height:.3g} m' for name, height in [*high.items()][:NAMED])
        more = f" and {len(high) - NAMED} more" if len(high) > NAMED else ""
        yield f"stations in cells above the resting sea level, which have no eta while dry: {some}{more}"


def driven_films(config: Config) -> Iterator[str]:
    """Wind over coasts that flood, without a drag at the bottom: it drives thin water without bound."""
    terms = {*setup_of(config).scheme.terms} if config.drying.active else set()
    if terms & {"wind", "wind_drag"} and not terms & {"linear_drag", "quadratic_drag", "manning"}:
        yield (
            "wind drives thin water on coasts that flood without bound, as there is no drag at the bottom; "
            "physics.manning=0.025 or physics.quadratic_drag=0.003 is common"
        )


def coarse_time(config: Config) -> Iterator[str]:
    """Terms of Python in a run so long that single precision cannot tell the times of two steps apart."""
    last, own = config.run.steps * config.time.dt, setup_of(config).scheme.own
    if own and config.run.dtype == "float32" and (step := float(np.spacing(np.float32(last)))) > config.time.dt:
        names = ", ".join(term.name for term in own)
        yield (
            f't of {names} is rounded to {step:g} s at the end of the run, longer than a step; run.dtype="float64" '
            "keeps it exact"
        )


def domain(sources: Sources) -> Iterator[str]:
    """Lengths of the domain that change because a source gives only the number of cells, or only their size."""
    merged: Layer = {}
    found: dict[Extent, str] = {}
    before: dict[Extent, float | None] = {}
    for number, layer in enumerate(sources.layers):
        add_layer(merged, layer, sources.classes)
        extents = EXTENTS.get(value(merged, "kind"), ())
        found = {extent: line for extent, line in found.items() if extent in extents}
        for extent in extents:
            given = [key for key in (extent.cells, extent.size, extent.end) if ("grid", key) in layer]
            old, new = before.get(extent), length(merged, extent)
            before[extent] = new
            if given:
                found.pop(extent, None)
            known = number and len(given) == 1 and given != [extent.end] and None not in (old, new)
            if known and not same(new, old):
                begin = value(merged, extent.start) or 0.0
                found[extent] = changed_length(extent, given[0], value(merged, given[0]), begin, old, new)
    yield from found.values()


def value(merged: Layer, key: str):
    """The value of a key of [grid] that sources have given so far, or its default; None for none."""
    return None if not key else merged["grid", key].value if ("grid", key) in merged else Grid.model_fields[key].default


def length(merged: Layer, extent: Extent) -> float | None:
    """Length of the domain along an axis, m or degrees, by the values that sources have given so far; None: unknown."""
    number, size, end, start = given = [value(merged, key) for key in extent]
    if not all(isinstance(each, int | float | None) for each in given):  # a wrong value that a later source replaces
        return None
    if end is not None:
        return end - (start or 0.0)
    if size is None:
        return CIRCLE if extent.size == "dlon" else None
    return number * size


def same(one: float, other: float) -> bool:
    """Whether two numbers differ by no more than round-off."""
    return math.isclose(one, other, rel_tol=ROUND_OFF)


def changed_length(extent: Extent, key: str, given: float, begin: float, old: float, new: float) -> str:
    """The line about a length that a key has changed, with the keys that keep it."""
    in_words = "{:.10g} degrees".format if extent.start else metres
    number = round(old / given) if key == extent.size else 0
    if number and same(number * given, old):
        remedy = f"grid.{extent.cells}={number}"
    else:
        remedy = f"grid.{extent.end}={old + begin!r}".removesuffix(".0")
        remedy += " in its place" if key == extent.size else ""
    wide = "wide" if extent.cells == "nx" else "high"
    return (
        f"grid.{key}={given:.12g} makes the domain {in_words(new)} {wide} instead of {in_words(old)}; {remedy} keeps it"
    )


def components(config: Config) -> Iterator[str]:
    """Winds of which only one component is given, by a file."""
    for name, other in (pair for both in (VECTORS["wind_x"], VECTORS["u10"]) for pair in (both, both[::-1])):
        if getattr(config.input, name, "") and not has_source(config, other):
            yield f"input.{name} is given and input.{other} is not: that component is 0 everywhere"


def relaxation(config: Config) -> Iterator[str]:
    """Cells of a sponge that relax to zero, as no field of the water outside covers them."""
    for name, missing, cells in outside.unknown_in_sponge(config):
        yield f"input.{name}: has no value at {missing} of the {cells} cells of the sponge, which relaxes to zero there"


def from_zero(config: Config) -> Iterator[str]:
    """What begins anew in a run from the state of another one: functions of t, and tides without a date."""
    names = [name for name in FORCING if varies(config, name) and isinstance(field_of(config, name), Formula)]
    names += [] if config.time.start else config.open_sides.constituents
    if config.input.state and names:
        yield f"input.state: {', '.join(names)} depend on the time since the start of this run, and begin anew"


def apart(config: Config) -> Iterator[str]:
    """Constituents that act either inside or outside of open sides, although both know them."""
    inside, outer = config.tide.constituents, config.open_sides.constituents
    both = [name for name in NAMES if name in EQUILIBRIUM and inside and config.open_sides.sides]
    if lone := ", ".join(name for name in both if name in inside and name not in outer):
        yield f"tide.constituents: nothing of {lone} enters through open sides; give it in [open_sides] too"
    if lone := ", ".join(name for name in both if name in outer and name not in inside):
        yield f"open_sides.constituents: {lone} enters, and is not raised inside; give it in tide.constituents too"


def ramped(config: Config) -> Iterator[str]:
    """A harmonic analysis or the end of a run within the ramp of a tide."""
    ramp, output = config.tide.ramp, config.output
    if ramp and ramp > config.run.steps * config.time.dt:
        yield f"tide.ramp: the run ends before {ramp:g} s, while the tide still grows"
    if ramp and output.harmonics and (output.harmonics_from or 0.0) < ramp:
        yield f'output.harmonics begins within tide.ramp, {ramp:g} s; output.harmonics_from="{ramp:g} s" avoids it'


def rotation(config: Config) -> Iterator[str]:
    """Keys of a plane's Coriolis parameter that replace the rotation of a sphere."""
    for key in CORIOLIS if on_sphere(config.grid) else ():
        if given := getattr(config.physics, key):
            yield (
                f"physics.{key} = {given:g} replaces the rotation of the sphere; physics.{key}=0 gives "
                "f = 2 rotation sin(latitude)"
            )


def record_times(config: Config) -> Iterator[str]:
    """A time step that divides the interval of the records, where the present one does not."""
    every, dt, last = config.output.every, config.time.dt, config.run.steps * config.time.dt
    if every is None or last < every or same(max(1, round(every / dt)) * dt, every):
        return
    better, steps = dividing(every, dt, min(RECORDS, int(last / every)))
    yield (
        f"time.dt = {dt:.6g} s does not divide output.every = {every:.12g} s: records are up to a step late; "
        f"time.dt={better!r} divides it into {steps} steps"
    )
