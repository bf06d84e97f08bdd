"""The controls with records in time, as `wind_x_correction`: fields that are added to a coefficient.

Record k is a field [ny, nx], at the time k T with T = `assimilation.correction_every`. Between two records the
correction is linear in time:

    c(t) + (1 - s) x_k + s x_(k+1),   s = t / T - k

So the errors of a model that vary in time, such as those of its winds, are found together with the initial state
(weak-constraint 4D-Var). An incident wave has records, too, which are numbers (`incident`).
"""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np

from ..model.forcing import Forcing
from ..ocean.records import names_of
from ..ocean.table import CORRECTIONS
from ..setup.fields.kinds import field_of
from . import incident

#: The controls with records in time, and for each the coefficient with records at the same times.
SERIES = {incident.NAME: incident.LEVEL} | {name: name for name in CORRECTIONS}


def with_records(names) -> tuple[str, ...]:
    """Those of the controls that have records in time."""
    return tuple(name for name in names if name in SERIES)


def number_at(setup, name: str, step: int) -> int:
    """The number of a control's record before a step."""
    return field_of(setup.config, SERIES[name]).at(step)[0]


def count(setup, name: str) -> int:
    """The number of a correction's records in a run, up to the one after its last step begins."""
    return number_at(setup, name, setup.config.run.steps - 1) + 2


def given(setup, name: str, shape: tuple[int, int]) -> np.ndarray:
    """The control's records in the configuration: zeros [records, ny, nx], or the wave [records]."""
    if name == incident.NAME:
        return incident.given(setup)
    return np.zeros((count(setup, name), *shape))


def times(setup, name: str) -> np.ndarray:
    """The times of a control's records, s since the start, [records]."""
    if name in CORRECTIONS:
        return setup.config.assimilation.correction_every * np.arange(count(setup, name))
    series, cuts = setup.records().series[SERIES[name]], Forcing(setup, None).cuts(setup.config.run.steps)
    spans = dict(series.at(step) for step in cuts[:-1])
    at = {k: span.before for k, span in spans.items()} | {k + 1: span.after for k, span in spans.items()}
    return setup.config.time.dt * np.interp(np.arange(max(at) + 1), sorted(at), sorted(at.values()))


def extended(x: dict, setup) -> dict:
    """Controls of a longer run, in which the corrections are zero after their last record."""
    found = dict(x)
    for name in (name for name in x if name in CORRECTIONS):
        more = times(setup, name).size - len(x[name])
        found[name] = jnp.pad(x[name], ((0, more), (0, 0), (0, 0)))
    return found


def fields_of(setup, name: str) -> tuple[str, ...]:
    """The names in the params of the fields that a step takes from a control's records."""
    return incident.fields_of(setup) if name == incident.NAME else names_of(name)[:2]


def expansion(setup, names) -> Callable | None:
    """The function (active fields, Fixed) to those of a step, without records; None: no control has records."""
    waves = {name: incident.expansion(setup) for name in names if name == incident.NAME}
    if not with_records(names):
        return None

    def expand(active, fixed):
        found = {name: field for name, field in active.items() if name not in SERIES}
        for name in with_records(active):
            before, after = (active[name][fixed.records[name] + k] for k in (0, 1))
            if name in waves:
                found |= waves[name](before, after, fixed)
            else:
                found |= dict(zip(fields_of(setup, name), (before, after), strict=True))
        return found

    return expand
