"""The controls with records in time: corrections, such as `wind_x_correction`, and the incident wave.

A correction is added to a coefficient c. Its record x_k is a field [ny, nx] at the time k T, where T is
`assimilation.correction_every`, with linear interpolation in time:

    c(t) + (1 - s) x_k + s x_(k+1),   s = t / T - k

With corrections an assimilation finds model errors that vary in time, such as those of the wind, together with the
initial state (weak-constraint 4D-Var). The records of the incident wave are numbers: see `incident_wave`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np

from ..ocean.records import record_names
from ..ocean.table import CORRECTIONS
from ..setup.fields.field_sources import source_of
from . import incident_wave

if TYPE_CHECKING:
    from ..setup.setup import Setup

#: {control with records in time: the coefficient whose records are at the same times}.
RECORD_CONTROLS = {incident_wave.CONTROL: incident_wave.LEVEL} | {name: name for name in CORRECTIONS}


def controls_with_records(names) -> tuple[str, ...]:
    return tuple(name for name in names if name in RECORD_CONTROLS)


def record_number(setup: Setup, name: str, step: int) -> int:
    """The index of a control's last record at or before the start of a step."""
    return source_of(setup.config, RECORD_CONTROLS[name]).record_at(step)[0]


def n_records(setup: Setup, name: str) -> int:
    """The number of a correction's records in a run; the last record is after the start of the last step."""
    return record_number(setup, name, setup.config.run.steps - 1) + 2


def first_guess_records(setup: Setup, name: str, shape: tuple[int, int]) -> np.ndarray:
    """A control's records in the configuration: zeros [records, ny, nx], or the incident wave [records]."""
    if name == incident_wave.CONTROL:
        return incident_wave.first_guess_records(setup)
    return np.zeros((n_records(setup, name), *shape))


def record_times(setup: Setup, name: str) -> np.ndarray:
    """The times of a control's records, s since the start, [records]."""
    if name in CORRECTIONS:
        return setup.config.assimilation.correction_every * np.arange(n_records(setup, name))
    coefficients = setup.varying_coefficients()
    source = coefficients.sources[RECORD_CONTROLS[name]]
    spans = dict(source.record_at(step) for step in coefficients.change_steps(setup.config.run.steps)[:-1])
    # A step may pass several records; the times of those that no step uses are interpolated.
    step_of_record = {k: span.before for k, span in spans.items()} | {k + 1: span.after for k, span in spans.items()}
    return setup.config.time.dt * np.interp(
        np.arange(max(step_of_record) + 1), sorted(step_of_record), sorted(step_of_record.values())
    )


def extend_corrections(x: dict, setup: Setup) -> dict:
    """The controls x for a longer run, in which the corrections are zero after their last record in x."""
    extended = dict(x)
    for name in (name for name in x if name in CORRECTIONS):
        n_missing = record_times(setup, name).size - len(x[name])
        extended[name] = jnp.pad(x[name], ((0, n_missing), (0, 0), (0, 0)))
    return extended


def param_names(setup: Setup, name: str) -> tuple[str, ...]:
    """The names of the params that a step takes from a control's records."""
    return incident_wave.param_names(setup) if name == incident_wave.CONTROL else record_names(name)[:2]


def make_expand(setup: Setup, names) -> Callable | None:
    """The function (active fields, FixedInputs) -> active fields of the present step; None if no control has records.

    It replaces all records of a control by the two records around the step, under the names of `param_names`.
    """
    if not controls_with_records(names):
        return None
    expand_wave = incident_wave.make_expand(setup) if incident_wave.CONTROL in names else None

    def expand(active, fixed):
        fields = {name: field for name, field in active.items() if name not in RECORD_CONTROLS}
        for name in controls_with_records(active):
            before, after = (active[name][fixed.record_numbers[name] + k] for k in (0, 1))
            if expand_wave and name == incident_wave.CONTROL:
                fields |= expand_wave(before, after, fixed)
            else:
                fields |= dict(zip(param_names(setup, name), (before, after), strict=True))
        return fields

    return expand
