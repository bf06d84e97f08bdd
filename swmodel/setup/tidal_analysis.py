"""The harmonic analysis of a run, `output.harmonics`: its constituents and steps. NumPy only."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from ..errors import suggest
from ..ocean.constituents import Constituent, constituents, table
from ..ocean.harmonics import too_close
from ..ocean.terms.tide import repeated, undated

#: Default number of values in the shortest period.
SAMPLES = 40

DAY = 86400.0


class Analysis(NamedTuple):
    """The constituents at the start of the run, the series, and the steps whose states are fitted."""

    constituents: list[Constituent]
    fields: tuple[str, ...]
    steps: range


def analysis(config) -> Analysis | None:
    """The Analysis of a resolved configuration, or None."""
    output, dt = config.output, config.time.dt
    if not output.harmonics:
        return None
    found = named(config)
    shortest = min(each.period for each in found)
    every = output.harmonics_every_steps or max(1, int(shortest / SAMPLES / dt))
    first = math.ceil((output.harmonics_from or 0.0) / dt / every) * every
    return Analysis(found, output.harmonics_fields, range(max(first, every), config.run.steps + 1, every))


def named(config) -> list[Constituent]:
    """The constituents of `output.harmonics`, with f and u where the tide of the run has them."""
    only_outside = config.open_sides.sides and not config.tide.constituents
    nodal = config.open_sides.nodal if only_outside else config.tide.nodal
    return constituents(config.output.harmonics, config.time.start, nodal)


def problems(config) -> Iterator[str]:
    """The problems of the analysis: names, the date, the length of the series."""
    names, run, time = config.output.harmonics, config.run, config.time
    unknown = [name for name in names if name not in table()]
    for name in unknown:
        close = suggest(name, table())
        hint = close if close.startswith("did") else "such as M2, S2, K1, O1, M4"
        yield f'output.harmonics: no constituent "{name}"; {hint}'
    twice = list(repeated("output.harmonics", names))
    yield from twice
    if not names or unknown or twice:
        return
    length = run.days * DAY if run.days is not None else run.steps and time.dt and run.steps * time.dt
    if wrong := undated(time):
        yield from () if config.tide.constituents else (wrong,)  # the tide reports it, too
    elif time.dt is not None and length is not None:
        yield from too_short(config, length - (config.output.harmonics_from or 0.0))


def too_short(config, seconds: float) -> Iterator[str]:
    """Constituents that a series cannot separate or resolve."""
    found, since = named(config), " from output.harmonics_from on" if config.output.harmonics_from else ""
    for one, other, needed in too_close(found, seconds):
        yield (
            f"output.harmonics: {one} and {other} cannot be separated in {max(seconds, 0) / DAY:.4g} days{since}; "
            f"they need {needed / DAY:.4g} days (run.days, output.harmonics_from), or leave one out"
        )
    apart = (config.output.harmonics_every_steps or 1) * config.time.dt
    for each in found:
        if each.period <= 2 * apart:
            yield (
                f"output.harmonics_every_steps: {each.name} has a period of {each.period:.6g} s, which must be above "
                f"two values, 2 x {apart:g} s apart"
            )
