"""The harmonic analysis of a run, `output.harmonics`: its constituents and steps. NumPy only."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ..errors import suggest
from ..ocean.constituents import DAY_SECONDS, Constituent, constituent_data, constituents_at
from ..ocean.harmonics import inseparable_pairs
from ..ocean.terms.tide import date_problem, repetition_problems

if TYPE_CHECKING:
    from ..config.options.model import Config

#: At least so many steps in the shortest period are analysed if it has as many, and if `output.harmonics_every_steps`
#: is not set.
SAMPLES_PER_PERIOD = 40


class HarmonicAnalysis(NamedTuple):
    """The constituents at the start of the run, the analysed fields, and the steps whose states are fitted."""

    constituents: list[Constituent]
    fields: tuple[str, ...]
    steps: range


def harmonic_analysis(config: Config) -> HarmonicAnalysis | None:
    """The HarmonicAnalysis of a resolved configuration; None if `output.harmonics` is empty."""
    output, dt = config.output, config.time.dt
    if not output.harmonics:
        return None
    constituents = analysed_constituents(config)
    min_period = min(each.period for each in constituents)
    every_steps = output.harmonics_every_steps or max(1, int(min_period / SAMPLES_PER_PERIOD / dt))
    first_step = max(math.ceil((output.harmonics_from or 0.0) / dt / every_steps) * every_steps, every_steps)
    return HarmonicAnalysis(constituents, output.harmonics_fields, range(first_step, config.run.steps + 1, every_steps))


def analysed_constituents(config: Config) -> list[Constituent]:
    """The constituents of `output.harmonics`, with nodal corrections f and u if the tide of the run has them."""
    only_at_boundaries = config.open_boundaries.sides and not config.tide.constituents
    nodal = config.open_boundaries.nodal if only_at_boundaries else config.tide.nodal
    return constituents_at(config.output.harmonics, config.time.start, nodal)


def problems(config: Config) -> Iterator[str]:
    """Problems of the analysis: unknown or repeated names, a wrong date, a series that is too short or too sparse."""
    names, run, time = config.output.harmonics, config.run, config.time
    unknown = [name for name in names if name not in constituent_data()]
    for name in unknown:
        close = suggest(name, constituent_data())
        hint = close if close.startswith("did") else "such as M2, S2, K1, O1, M4"
        yield f'output.harmonics: no constituent "{name}"; {hint}'
    duplicates = list(repetition_problems("output.harmonics", names))
    yield from duplicates
    if not names or unknown or duplicates:
        return
    run_seconds = run.days * DAY_SECONDS if run.days is not None else run.steps and time.dt and run.steps * time.dt
    if wrong := date_problem(time):
        yield from () if config.tide.constituents else (wrong,)  # the check of the tide reports it already
    elif time.dt is not None and run_seconds is not None:
        yield from unresolved_constituents(config, run_seconds - (config.output.harmonics_from or 0.0))


def unresolved_constituents(config: Config, seconds: float) -> Iterator[str]:
    """Messages about constituents that a series of this length, s, cannot separate, or that are sampled too rarely."""
    constituents = analysed_constituents(config)
    since = " from output.harmonics_from on" if config.output.harmonics_from else ""
    for one, other, needed in inseparable_pairs(constituents, seconds):
        yield (
            f"output.harmonics: {one} and {other} cannot be separated in {max(seconds, 0) / DAY_SECONDS:.4g} "
            f"days{since}; they need {needed / DAY_SECONDS:.4g} days (run.days, output.harmonics_from), or leave one "
            "out"
        )
    sampling_seconds = (config.output.harmonics_every_steps or 1) * config.time.dt
    for each in constituents:
        if each.period <= 2 * sampling_seconds:
            yield (
                f"output.harmonics_every_steps: {each.name} has a period of {each.period:.6g} s, but is sampled "
                f"only every {sampling_seconds:g} s; a period must be longer than two such intervals"
            )
