"""Misfits at each station, and in a twin experiment, which has the truth, the errors of first guess and analysis."""

from __future__ import annotations

import math

import numpy as np

from ..gradients.corrections import extended
from ..ocean.coordinates import axes, largest_cell
from ..ocean.table import CORRECTIONS
from ..parallel.fixed_point import exact_sum
from ..setup import fields
from ..setup.positions.stencils import QUANTITIES
from .experiment import problem_of, resting_depth
from .localisation import along_surface, embedded
from .synthetic import DAY

#: Places count as unobserved beyond this distance from every observation, cells; the operator reaches one cell.
UNOBSERVED_CELLS = 2.0


def by_station(observations, departures: dict, impact: np.ndarray | None) -> list[dict]:
    """The data of each platform and quantity: their number, misfits, and impact if known, largest impact first."""
    rows = []
    for platform, number in sorted({*zip(observations.platform.tolist(), observations.quantity.tolist(), strict=True)}):
        chosen = (observations.platform == platform) & (observations.quantity == number)
        row = {"platform": platform, "quantity": QUANTITIES[number], "observations": int(chosen.sum())}
        parts = {who: (values / observations.error)[chosen] for who, values in departures.items()}
        row["misfit"] = {who: float(np.sqrt(np.mean(part**2))) for who, part in parts.items()}
        rows.append(row | ({"impact": float(impact[chosen].sum())} if impact is not None else {}))
    return sorted(rows, key=lambda row: -abs(row.get("impact", 0.0)))


def distance_to(observations, config, block) -> np.ndarray:
    """Distance of each cell's centre from the nearest observation of the window, [ny, nx], m."""
    from scipy.spatial import cKDTree

    along = axes(config.grid)
    x, y = (
        axis.first + axis.spacing * np.arange(span.start, span.stop)
        for axis, span in zip(along, (block.x, block.y), strict=True)
    )
    (cells, rings), (places, _) = (
        embedded(config.grid, x, y[:, None]),
        embedded(config.grid, observations.x, observations.y),
    )
    straight = cKDTree(np.unique(places, axis=0), boxsize=rings).query(cells)[0]
    return along_surface(config.grid, straight).reshape(block.shape)


class Places:
    """Sets of this process's cells with reported errors, and means over them; all processes make it together.

    Attributes:
        sets: {"everywhere": mask [ny, nx], "unobserved": mask of cells further than `far` from any observation}.
        far: distance, m.
    """

    def __init__(self, config, observations, transport):
        block, self.transport = transport.block, transport
        rows, columns = (np.arange(axis.start, axis.stop) for axis in (block.y, block.x))
        wet = np.broadcast_to(fields.wet(config, rows, columns) > 0, block.shape)
        self.far = UNOBSERVED_CELLS * largest_cell(config.grid)
        distant = wet & (distance_to(observations, config, block) > self.far)
        self.sets = {"everywhere": wet, "unobserved": distant}
        self.counts = {name: int(exact_sum(transport, [mask])) for name, mask in self.sets.items()}

    def rms(self, square) -> dict[str, float]:
        """The root mean square over each set of a field, from its squares [ny, nx]; NaN for an empty set."""
        sums = {name: exact_sum(self.transport, [square[mask]]) for name, mask in self.sets.items()}
        return {name: math.sqrt(sums[name] / n) if n else math.nan for name, n in self.counts.items()}


def against_truth(experiment, courses: dict, tick, analysis: dict | None = None) -> dict:
    """The results of a twin experiment, for assimilation.json; see `control_errors` and `forecast_errors`.

    `analysis`: at the start of the window, if there is one.
    """
    places = Places(experiment.true_config, experiment.observations, experiment.problem.transport)
    return {
        "unobserved_metres": places.far,
        "unobserved_part": places.counts["unobserved"] / max(1, places.counts["everywhere"]),
        "controls": control_errors(experiment, analysis, places) if analysis else {},
        "forecast": forecast_errors(experiment, courses, places, tick),
    }


def rms(values) -> float:
    """Root mean square; NaN of nothing."""
    return float(np.sqrt(np.mean(np.square(values)))) if np.size(values) else math.nan


def control_errors(experiment, analysis: dict, places: Places) -> dict:
    """{control: {of: {where: rms}}} of the errors of `background` and `analysis` at the start of the window.

    The field of a coefficient also has `where_wrong`, the cells where the error of the first guess is at least half its
    largest one. The error of a number, or the rms of records, is under `everywhere`. Errors of fields at records are
    means over these.
    """
    found = {}
    for name in experiment.controls:
        off = {
            who: np.asarray(x[name], np.float64) - np.asarray(experiment.truth[name], np.float64)
            for who, x in (("background", experiment.base), ("analysis", analysis))
        }
        if np.ndim(experiment.truth[name]) < 2:
            found[name] = {who: {"everywhere": float(np.sqrt(np.mean(error**2)))} for who, error in off.items()}
            continue
        squares = {who: np.square(error).reshape(-1, *error.shape[-2:]).mean(axis=0) for who, error in off.items()}
        found[name] = {who: places.rms(square) for who, square in squares.items()}
        if name not in ("eta", "u", "v", *CORRECTIONS):
            size = np.abs(off["background"])
            largest = float(places.transport.reduce(size.max(), "max"))
            wrong = size >= 0.5 * largest
            n = exact_sum(places.transport, [wrong])
            for who, error in off.items():
                found[name][who]["where_wrong"] = math.sqrt(exact_sum(places.transport, [error[wrong] ** 2]) / n)
    return found


def forecast_times(config) -> list[int]:
    """The steps at which errors of forecasts are taken, from 0 to the forecast's end."""
    dt, output = config.time.dt, config.output
    steps = config.run.steps + round(getattr(config.case, "forecast", 0.0) * DAY / dt)
    every = min(steps, output.every_steps or max(1, round((output.every or steps * dt) / dt)))
    return [*range(0, steps, every), steps]


def course_of(experiment, config, x: dict, tick=lambda transport: None):
    """Iterate over eta, u and v, [ny, nx] of the block, of the run from controls x, at the `forecast_times`.

    After the window corrections fade to zero in the time between two records.
    """
    times = forecast_times(config)
    longer = {"run": config.run.model_copy(update={"steps": times[-1]})}
    problem, _ = problem_of(config.model_copy(update=longer), experiment.problem.names, times[1], tick)
    for state in problem.states(extended(x, problem.domain.setup), times[1]):
        depth = x["depth"] if "depth" in x else resting_depth(problem.domain)
        yield [np.asarray(field, np.float64) for field in (state.h - depth, state.u, state.v)]


def in_its_winds(truth: dict) -> dict:
    """The true controls of a run with the true configuration, which needs no corrections."""
    return {name: x * 0 if name in CORRECTIONS else x for name, x in truth.items()}


def forecast_errors(experiment, courses: dict, places: Places, tick=lambda transport: None) -> dict:
    """Errors of forecasts against the truth, up to the forecast's end.

    {"days": [...], "window_days": its end, "eta" and "current": {of: {where: [rms at these times]}}}, m and m s-1.

    Args:
        courses: {of: eta, u and v [ny, nx] of the block at the `forecast_times`}; those of the spread are no errors.
    """
    config = experiment.true_config
    times = forecast_times(config)
    found = {"days": [step * config.time.dt / 86400 for step in times]}
    found["window_days"] = config.run.steps * config.time.dt / 86400
    found |= {name: {who: {where: [] for where in places.sets} for who in courses} for name in ("eta", "current")}
    truths = course_of(experiment, config, in_its_winds(experiment.truth), tick)
    for truth, *others in zip(truths, *courses.values(), strict=True):
        for who, state in zip(courses, others, strict=True):
            known = truth if who != "spread" else (0, 0, 0)
            eta, u, v = (np.square(a - b) for a, b in zip(state, known, strict=True))
            for name, square in (("eta", eta), ("current", u + v)):
                for where, size in places.rms(square).items():
                    found[name][who][where].append(size)
    return found
