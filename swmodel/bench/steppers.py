"""The steppers side by side: error, speed, and speed at equal error (`swmodel bench steppers`).

Every stepper takes parts of its largest stable time step. The error is that of the state at the end, in energy,

    e² = sum [g (h - h')² + H (u - u')² + H (v - v')²] / sum [g (h' - H)² + H u'² + H v'²]

with h', u', v' of `rk4` at a fifth of its largest step, all in double precision. Speeds are those of the case's own
precision, from samples that take turns.
"""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import jax
import numpy as np

import swmodel

from ..config import load
from ..setup.checks.extremes import survey
from ..setup.checks.stability import SHARE, largest_dt
from ..setup.setup import setup_of
from .text import digits, markdown

#: Model days of each case, all and `--quick`.
CASES = {"jet": (4.0, 0.2), "double_gyre": (100.0, 4.0), "global_m2": (1.0, 0.1), "chile2010": (0.25, 0.05)}
STEPPERS = ("ab2", "ab3", "rk3", "rk4", "leapfrog", "gfb")
#: Parts of the largest stable time step: the usual one, and two to know how the error depends on it.
PARTS = (SHARE, 0.9, 0.3)
#: Part for the truth.
FINE = 0.2
#: Samples of a speed, and least seconds of each.
SAMPLES, SECONDS = 5, 0.3


class Row(NamedTuple):
    """What a stepper does in a case with its usual time step."""

    case: str
    stepper: str
    dt: float  # s
    error: float
    days: float  # model days a second
    equal: float  # times the days a second of ab2 with the time step at which it has the same error

    @property
    def cells(self) -> list[str]:
        """The row of the table."""
        numbers = (self.dt, self.error, self.days, self.equal)
        return [self.case, self.stepper, *map(digits, numbers)]


def report(cases, quick: bool) -> str:
    """The table of these cases as Markdown."""
    heads = ["case", "stepper", "dt, s", "error", "model days a second", "times ab2 at this error"]
    return markdown(heads, [row.cells for case in cases for row in measure(case, CASES[case][quick])])


def measure(case: str, days: float) -> list[Row]:
    """The rows of a case."""
    duration = days * 86400.0
    largest = {stepper: largest_of(case, stepper) for stepper in STEPPERS}
    truth, scale = state_after(case, "rk4", divided(duration, FINE * largest["rk4"]), duration)
    steps = {(s, part): divided(duration, part * largest[s]) for s in STEPPERS for part in PARTS}
    error = {}
    for (stepper, part), dt in steps.items():
        if part == SHARE or stepper == "ab2":
            state, _ = state_after(case, stepper, dt, duration)
            error[stepper, part] = math.sqrt(energy(state - truth, scale) / energy(truth, scale))
    seconds = seconds_a_step(case, {stepper: steps[stepper, SHARE] for stepper in STEPPERS})
    known = [(steps["ab2", part], error["ab2", part]) for part in sorted(PARTS)]
    rows = []
    for stepper in STEPPERS:
        dt, found = steps[stepper, SHARE], error[stepper, SHARE]
        equal = min(step_of_error(known, found), known[-1][0])
        rows.append(Row(case, stepper, dt, found, dt / 86400 / seconds[stepper],
                        dt / seconds[stepper] / (equal / seconds["ab2"])))  # fmt: skip
    return rows


def largest_of(case: str, stepper: str) -> float:
    """The largest stable time step, s."""
    config = load(case, {"time.stepper": stepper})
    return largest_dt(config, survey(setup_of(config)))[0]


def divided(duration: float, dt: float) -> float:
    """The longest time step of at most dt that divides the duration."""
    return duration / math.ceil(duration / dt)


def simulation(case: str, stepper: str, dt: float, **options) -> swmodel.Simulation:
    """A simulation of a case."""
    return swmodel.Simulation(case, {"time.stepper": stepper, "time.dt": dt, **options})


def state_after(case: str, stepper: str, dt: float, duration: float) -> tuple[np.ndarray, np.ndarray]:
    """Sea level and velocity [field, y, x] in double precision, and the weights of their squares in energy."""
    model = simulation(case, stepper, dt, **{"run.dtype": "float64"})
    model.advance(round(duration / dt))
    found = model.fields(["h", "eta", "u", "v"])
    depth = found["h"] - found["eta"]
    weights = np.array([np.full_like(depth, model.config.physics.gravity), depth, depth])
    return np.nan_to_num([found["eta"], found["u"], found["v"]]), np.nan_to_num(weights)


def energy(fields: np.ndarray, weights: np.ndarray) -> float:
    """The weighted sum of squares."""
    return float((weights * fields**2).sum())


def seconds_a_step(case: str, steps: dict[str, float]) -> dict[str, float]:
    """Median seconds of a step of each stepper with its time step."""
    models = {stepper: simulation(case, stepper, dt) for stepper, dt in steps.items()}
    number = dict.fromkeys(models, 8)
    times: dict[str, list[float]] = {stepper: [] for stepper in models}
    for stepper, model in models.items():
        while seconds_of(model, number[stepper]) < SECONDS:
            number[stepper] *= 2
    for _ in range(SAMPLES):
        for stepper, model in models.items():
            times[stepper].append(seconds_of(model, number[stepper]) / number[stepper])
    return {stepper: float(np.median(found)) for stepper, found in times.items()}


def seconds_of(model: swmodel.Simulation, steps: int) -> float:
    """Seconds of so many steps."""
    begin = time.perf_counter()
    model.take_steps(steps)
    jax.block_until_ready(model.carry)
    return time.perf_counter() - begin


def step_of_error(known: list[tuple[float, float]], error: float) -> float:
    """The time step with an error, from (dt, error) in ascending order: powers between them and beyond."""
    points = np.log(np.array(known))
    place = int(np.clip(np.searchsorted(points[:, 1], math.log(error)), 1, len(points) - 1))
    (x, y), (z, w) = points[place - 1], points[place]
    return math.exp(x + (math.log(error) - y) * (z - x) / (w - y))
