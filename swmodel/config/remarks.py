"""What a user may not expect of a valid configuration: one line each, before the run starts."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ..ocean.coordinates import on_sphere
from ..setup.checks import outside
from ..setup.checks.stability import dividing
from ..setup.fields import VECTORS, has_source
from .loading.load import load
from .loading.merge import Sources, add_layer
from .messages import metres
from .options.grid import CIRCLE, CORIOLIS, EXTENTS, ROUND_OFF, Extent, Grid
from .options.model import Config

#: Acceleration, m s-2, below which gravity is most likely a reduced one: that of the Moon is 1.62.
SMALL_GRAVITY = 1.0

#: Records whose times are looked at.
RECORDS = 10_000


def remarks(config: Config, sources: Sources, records: bool = True) -> list[str]:
    """The remarks on a resolved configuration and the Sources that it was made from.

    Args:
        records: whether there will be records after intervals of time.
    """
    found = [*domain(sources), *gravity(config), *rotation(config), *components(config), *relaxation(config)]
    found += [*outside.remarks(config), *ramped(config)]
    return [*found, *record_times(config)] if records else found


def domain(sources: Sources) -> Iterator[str]:
    """How the domain changes where a source gives only the number of cells, or only their size."""
    merged, changed, before = {}, {}, {}
    for number, layer in enumerate(sources.layers):
        add_layer(merged, layer, sources.classes, True)
        extents = EXTENTS.get(value(merged, "kind"), ())
        given = {key for section, key in layer.values if section == "grid"}
        changed = {extent: change for extent, change in changed.items() if extent in extents}
        for extent in extents:
            new, old = length(merged, extent), before.get(extent)
            by = given & set(extent[:3])
            if by:
                changed.pop(extent, None)
            if number and len(by) == 1 and None not in (new, old) and not same(new, old):
                (key,) = by
                if key != extent.end:
                    changed[extent] = key, merged["grid", key].value, old, new, value(merged, extent.start)
            before[extent] = new
    if changed:
        yield told(changed)


def components(config: Config) -> Iterator[str]:
    """Winds of which only one component is given, by a file."""
    for pair in (VECTORS["wind_x"], VECTORS["u10"]):
        for name, other in (pair, pair[::-1]):
            if getattr(config.input, name, "") and not has_source(config, other):
                yield f"input.{name} is given and input.{other} is not: that component is 0 everywhere"


def relaxation(config: Config) -> Iterator[str]:
    """Where a sponge relaxes to zero, as nothing is known of the water outside."""
    for name, missing, cells in outside.unknown_in_sponge(config):
        yield f"input.{name}: has no value at {missing} of the {cells} cells of the sponge, which relaxes to zero there"


def ramped(config: Config) -> Iterator[str]:
    """A harmonic analysis of a tide that still grows, and a run that ends while it does."""
    ramp, output = config.tide.ramp, config.output
    if ramp and ramp > config.run.steps * config.time.dt:
        yield f"tide.ramp: at the end of the run, before {ramp:g} s, the tide is not as large yet as it is given"
    if ramp and output.harmonics and (output.harmonics_from or 0.0) < ramp:
        yield f'output.harmonics begins within tide.ramp, {ramp:g} s; output.harmonics_from="{ramp:g} s" is after it'


def value(merged: dict, key: str):
    """The value of a key of [grid] that sources have given so far, or its default; None for none."""
    return None if not key else merged["grid", key].value if ("grid", key) in merged else Grid.model_fields[key].default


def length(merged: dict, extent: Extent) -> float | None:
    """Length of the domain along an axis, m or degrees, from the values that sources have given so far."""
    number, size, end, start = (value(merged, key) for key in extent)
    if end is not None:
        return end - (start or 0.0)
    if size is None:
        return CIRCLE if extent.size == "dlon" else None
    return number * size


def same(one: float, other: float) -> bool:
    """Whether two numbers differ by no more than round-off."""
    return math.isclose(one, other, rel_tol=ROUND_OFF)


def told(changed: dict) -> str:
    """One line for {extent: (key, its value, length of the domain before and now, where it begins)}."""
    s = "s" if len(changed) == 1 else ""
    keys, now, before, remedies = [], [], [], []
    for (cells, size, end, start), (key, value, old, new, begin) in changed.items():
        in_words = "{:.10g} degrees".format if start else metres
        keys.append(f"grid.{key}={value:.12g}")
        now.append(f"{in_words(new)} {'wide' if cells == 'nx' else 'high'}")
        before.append(in_words(old))
        number = round(old / value) if key == size else 0
        fits = number and same(number * value, old)
        instead = " in its place" if key == size else ""
        whole = f"grid.{end}={old + (begin or 0.0)!r}".removesuffix(".0")
        remedies.append(f"grid.{cells}={number}" if fits else whole + instead)
    keys, now, before, remedies = map(" and ".join, (keys, now, before, remedies))
    return f"{keys} make{s} the domain {now} instead of {before}; {remedies} keep{s} it"


def gravity(config: Config) -> Iterator[str]:
    """Where gravity is not that of the case, and so small that it may be a reduced one."""
    physics = config.physics
    if physics.reduced_gravity or physics.gravity >= SMALL_GRAVITY:
        return
    if physics.gravity != load(type(config.case), environ={}).physics.gravity:
        yield (
            f"physics.gravity = {physics.gravity:g} m s-2: if it is the reduced gravity of a layer over a deep one at "
            "rest, say so by physics.reduced_gravity=true; eta is then named displacement of the interface"
        )


def rotation(config: Config) -> Iterator[str]:
    """Where the Coriolis parameter of a plane takes the place of that of a sphere."""
    given = {key: getattr(config.physics, key) for key in CORIOLIS if getattr(config.physics, key)}
    if on_sphere(config.grid) and given:
        keys = " and ".join(f"physics.{key} = {value:g}" for key, value in given.items())
        stands = "stands" if len(given) == 1 else "stand"
        zeros = " and ".join(f"physics.{key}=0" for key in given)
        yield f"{keys} {stands} in place of the rotation of the sphere; {zeros} for f = 2 rotation sin(latitude)"


def record_times(config: Config) -> Iterator[str]:
    """Where the time step does not divide the interval of the records, one that does."""
    every, dt, last = config.output.every, config.time.dt, config.run.steps * config.time.dt
    if every is None or last < every or same(max(1, round(every / dt)) * dt, every):
        return
    better, steps = dividing(every, dt, min(RECORDS, int(last / every)))
    yield (
        f"time.dt = {dt:.6g} s does not divide output.every = {every:.12g} s: records come up to a step late; "
        f"time.dt={better!r} meets them, with {steps} steps between two"
    )
