"""The analysis of tides that a run makes, `output.harmonics`: of which constituents, fields and steps. NumPy only."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from ..errors import suggest
from ..ocean.constituents import Constituent, constituents, table
from ..ocean.harmonics import too_close
from ..ocean.terms.tide import undated

#: Values in the shortest period where the configuration does not say how many.
SAMPLES = 40

DAY = 86400.0


class Analysis(NamedTuple):
    """What is fitted.

    Attributes:
        constituents: as they are at the start of the run.
        fields: names of the series.
        steps: whose states are taken.
    """

    constituents: list[Constituent]
    fields: tuple[str, ...]
    steps: range


def analysis(config) -> Analysis | None:
    """The Analysis of a resolved configuration; None if there is none."""
    output = config.output
    return Analysis(named(config), output.harmonics_fields, steps_of(config)) if output.harmonics else None


def named(config) -> list[Constituent]:
    """The constituents of `output.harmonics`; with f and u where the tide of the run has them, inside or outside."""
    only_outside = config.open_sides.sides and not config.tide.constituents
    nodal = config.open_sides.nodal if only_outside else config.tide.nodal
    return constituents(config.output.harmonics, config.time.start, nodal)


def steps_of(config) -> range:
    """The steps whose states are taken, of a run with time step and length."""
    output, dt = config.output, config.time.dt
    shortest = min(each.period for each in named(config))
    every = output.harmonics_every_steps or max(1, int(shortest / SAMPLES / dt))
    first = math.ceil((output.harmonics_from or 0.0) / dt / every) * every
    return range(max(first, every), config.run.steps + 1, every)


def problems(config) -> Iterator[str]:
    """What is wrong with the analysis: names, the date, the length of the series."""
    key, output, time = "output.harmonics", config.output, config.time
    names = output.harmonics
    for name in (name for name in names if name not in table()):
        close = suggest(name, table())
        yield f'{key}: no constituent "{name}"; {close if close.startswith("did") else "such as M2, S2, K1, O1, M4"}'
    for name, count in Counter(names).items():
        if count > 1:
            yield f'{key}: "{name}" is listed {count} times'
    if not names or len(set(names)) < len(names) or not set(names) <= table().keys():
        return
    if wrong := undated(time):
        yield from () if config.tide.constituents else (wrong,)  # the tide says so, too
    elif time.dt is not None and None not in (time.dt, length_of(config)):
        yield from too_short(key, config)


def length_of(config) -> float | None:
    """s of the run; None where that is not known."""
    run, dt = config.run, config.time.dt
    return run.days * DAY if run.days is not None else run.steps and run.steps * dt


def too_short(key: str, config) -> Iterator[str]:
    """Constituents that the series cannot tell apart, or whose periods its values do not see."""
    found, begin = named(config), config.output.harmonics_from or 0.0
    seconds = length_of(config) - begin
    since = " from output.harmonics_from on" if begin else ""
    for one, other, needed in too_close(found, seconds):
        yield (
            f"{key}: {one} and {other} cannot be told apart in {max(seconds, 0) / DAY:.4g} days{since}; they need "
            f"{needed / DAY:.4g} days (run.days, output.harmonics_from), or leave one out"
        )
    every = config.output.harmonics_every_steps or 1
    for each in found:
        if each.period <= 2 * every * config.time.dt:
            yield (
                f"output.harmonics_every_steps: {each.name} has a period of {each.period:.6g} s, which must be above "
                f"two values, 2 x {every * config.time.dt:g} s apart"
            )
