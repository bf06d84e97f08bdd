"""Comparison of the time steppers: error, speed, and speed at equal error (`swmodel bench steppers`).

Every stepper runs with a fraction of its largest stable time step. The error of the final state is measured in energy,

    e² = sum [g (h - h')² + H (u - u')² + H (v - v')²] / sum [g (h' - H)² + H u'² + H v'²]

with the depth H, and h', u', v' from `rk4` with a fifth of its largest step, all in double precision. Speeds are
measured in the precision of the case. The steppers take turns, so that a slow minute of the machine affects all of
them.
"""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import jax
import numpy as np

import swmodel

from ..config import load
from ..ocean.timestep import STEPPERS
from ..setup.checks.extremes import survey
from ..setup.checks.stability import DT_SAFETY_FACTOR, max_stable_dt
from ..setup.setup import setup_of
from .text import format_markdown_table, format_number

#: Model days of each case: in full, and with `--quick`.
CASE_DAYS = {"jet": (4.0, 0.2), "double_gyre": (100.0, 4.0), "global_m2": (1.0, 0.1), "chile2010": (0.25, 0.05)}
#: Fractions of the largest stable time step for ab2: the default, and two others that show how the error depends on it.
STEP_FRACTIONS = (DT_SAFETY_FACTOR, 0.9, 0.3)
#: The fraction for the run of rk4 that counts as the truth.
REFERENCE_STEP_FRACTION = 0.2
#: Number of samples of a speed, and the shortest duration of a sample, s.
N_SAMPLES, MIN_SAMPLE_SECONDS = 5, 0.3


class StepperResult(NamedTuple):
    """The error and speed of a stepper in a case with its default time step."""

    case: str
    stepper: str
    dt: float  # s
    error: float
    model_days_per_second: float
    speed_at_equal_error: float  # relative to ab2 with at most this error

    @property
    def table_cells(self) -> list[str]:
        numbers = (self.dt, self.error, self.model_days_per_second, self.speed_at_equal_error)
        return [self.case, self.stepper, *map(format_number, numbers)]


def make_report(cases, quick: bool) -> str:
    headers = ["case", "stepper", "dt, s", "error", "model days per second", "speed over ab2 at this error"]
    rows = [row.table_cells for case in cases for row in measure_case(case, CASE_DAYS[case][quick])]
    return format_markdown_table(headers, rows)


def measure_case(case: str, days: float) -> list[StepperResult]:
    """The results of all steppers in runs of `days` model days."""
    duration = days * 86400.0
    max_stable_dts = {stepper: find_max_stable_dt(case, stepper) for stepper in STEPPERS}

    def dt_of(stepper: str, fraction: float = DT_SAFETY_FACTOR) -> float:
        return longest_dividing_step(duration, fraction * max_stable_dts[stepper])

    reference, energy_weights = run_to_state(case, "rk4", dt_of("rk4", REFERENCE_STEP_FRACTION), duration)

    def error_with(stepper: str, dt: float) -> float:
        state, _ = run_to_state(case, stepper, dt, duration)
        energy_of_error = weighted_energy(state - reference, energy_weights)
        return math.sqrt(energy_of_error / weighted_energy(reference, energy_weights))

    dts_of_ab2 = [dt_of("ab2", fraction) for fraction in sorted(STEP_FRACTIONS)]
    dt_and_error_of_ab2 = [(dt, error_with("ab2", dt)) for dt in dts_of_ab2]
    seconds_by_stepper = measure_seconds_per_step(case, {stepper: dt_of(stepper) for stepper in STEPPERS})
    rows = []
    for stepper in STEPPERS:
        dt = dt_of(stepper)
        error = dict(dt_and_error_of_ab2)[dt] if stepper == "ab2" else error_with(stepper, dt)
        dt_at_equal_error = min(interpolate_dt(dt_and_error_of_ab2, error), dt_and_error_of_ab2[-1][0])
        speed, speed_of_ab2 = dt / seconds_by_stepper[stepper], dt_at_equal_error / seconds_by_stepper["ab2"]
        rows.append(StepperResult(case, stepper, dt, error, speed / 86400, speed / speed_of_ab2))
    return rows


def find_max_stable_dt(case: str, stepper: str) -> float:
    """The largest stable time step, s."""
    config = load(case, {"time.stepper": stepper})
    return max_stable_dt(config, survey(setup_of(config)))[0]


def longest_dividing_step(duration: float, dt: float) -> float:
    """The longest time step of at most dt that divides the duration."""
    return duration / math.ceil(duration / dt)


def make_simulation(case: str, stepper: str, dt: float, **options) -> swmodel.Simulation:
    return swmodel.Simulation(case, {"time.stepper": stepper, "time.dt": dt, **options})


def run_to_state(case: str, stepper: str, dt: float, duration: float) -> tuple[np.ndarray, np.ndarray]:
    """Sea level and velocity [field, y, x] in double precision, and the weights of their squares in energy."""
    model = make_simulation(case, stepper, dt, **{"run.dtype": "float64"})
    model.advance(round(duration / dt))
    fields = model.fields(["h", "eta", "u", "v"])
    depth = fields["h"] - fields["eta"]
    weights = np.array([np.full_like(depth, model.config.physics.gravity), depth, depth])
    return np.nan_to_num([fields["eta"], fields["u"], fields["v"]]), np.nan_to_num(weights)


def weighted_energy(fields: np.ndarray, weights: np.ndarray) -> float:
    return float((weights * fields**2).sum())


def measure_seconds_per_step(case: str, dt_by_stepper: dict[str, float]) -> dict[str, float]:
    """Median seconds per step of each stepper with its time step."""
    models = {stepper: make_simulation(case, stepper, dt) for stepper, dt in dt_by_stepper.items()}
    n_steps_by_stepper = dict.fromkeys(models, 8)
    times: dict[str, list[float]] = {stepper: [] for stepper in models}
    for stepper, model in models.items():
        while time_steps(model, n_steps_by_stepper[stepper]) < MIN_SAMPLE_SECONDS:
            n_steps_by_stepper[stepper] *= 2
    for _ in range(N_SAMPLES):
        for stepper, model in models.items():
            n_steps = n_steps_by_stepper[stepper]
            times[stepper].append(time_steps(model, n_steps) / n_steps)
    return {stepper: float(np.median(samples)) for stepper, samples in times.items()}


def time_steps(model: swmodel.Simulation, n_steps: int) -> float:
    """Duration of `n_steps` steps, s."""
    start_time = time.perf_counter()
    model.take_steps(n_steps)
    jax.block_until_ready(model.carry)
    return time.perf_counter() - start_time


def interpolate_dt(dt_and_error: list[tuple[float, float]], error: float) -> float:
    """The time step that gives an error, from power laws between and beyond points (dt, error) in ascending order."""
    points = np.log(np.array(dt_and_error))
    index = int(np.clip(np.searchsorted(points[:, 1], math.log(error)), 1, len(points) - 1))
    (log_dt, log_error), (next_log_dt, next_log_error) = points[index - 1], points[index]
    log_error_ratio = math.log(error) - log_error
    return math.exp(log_dt + log_error_ratio * (next_log_dt - log_dt) / (next_log_error - log_error))
