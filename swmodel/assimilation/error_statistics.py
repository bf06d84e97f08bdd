"""Errors of the first guess and of the analysis in a twin experiment, which has the truth."""

from __future__ import annotations

import math

import numpy as np

from ..gradients.corrections import extended
from ..ocean.coordinates import axes, largest_cell, on_sphere
from ..ocean.rotated import directions
from ..ocean.table import CORRECTIONS
from ..setup import fields
from .experiment import depth_of, problem_of
from .synthetic import DAY

#: Places count as unobserved beyond this distance from every observation, cells; the operator reaches one cell.
UNOBSERVED_CELLS = 2.0


def distance_to(observations, config, block) -> np.ndarray:
    """Distance of each cell's centre from the nearest observation of the window, [ny, nx], m."""
    from scipy.spatial import cKDTree

    along, observed = axes(config.grid), (observations.x, observations.y)
    starts = [axis.edges[0] for axis in along]
    x, y = (
        axis.first - start + axis.spacing * np.arange(span.start, span.stop)
        for axis, start, span in zip(along, starts, (block.x, block.y), strict=True)
    )
    if on_sphere(config.grid):
        chords = cKDTree(directions(*observed)).query(directions(x + starts[0], y[:, None] + starts[1]))[0]
        return 2 * config.grid.radius * np.arcsin(np.minimum(chords / 2, 1))
    size = np.array([axis.edges[1] - axis.edges[0] for axis in along])
    rings = np.where([axis.ring for axis in along], size, 0.0)
    places = np.unique(np.stack([place - start for place, start in zip(observed, starts, strict=True)], axis=1), axis=0)
    places = np.where(rings > 0, places % size, places)
    cells = np.stack(np.broadcast_arrays(x, y[:, None]), axis=-1)
    return cKDTree(places, boxsize=rings).query(cells)[0]


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
        self.counts = {name: int(total(transport, mask.sum())) for name, mask in self.sets.items()}

    def rms(self, square) -> dict[str, float]:
        """The root mean square over each set of a field, from its squares [ny, nx]; NaN for an empty set."""
        square, sets = np.asarray(square, np.float64), self.sets
        sums = {name: total(self.transport, square[mask].sum()) for name, mask in sets.items()}
        return {name: math.sqrt(sums[name] / n) if n else math.nan for name, n in self.counts.items()}


def total(transport, value) -> float:
    """The sum of a number over all processes."""
    return float(transport.reduce(np.asarray(value, np.float64), "sum"))


def control_errors(experiment, analysis: dict, places: Places) -> dict:
    """{control: {of: {where: rms}}} of the errors of `background` and `analysis` at the start of the window.

    The field of a coefficient also has `where_wrong`, the cells where the error of the first guess is at least half its
    largest one. The error of a number, or the rms of records, is under `everywhere`. Errors of fields at records are
    means over these.
    """
    found = {}
    for name in experiment.background.names:
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
            n = total(places.transport, wrong.sum())
            for who, error in off.items():
                found[name][who]["where_wrong"] = math.sqrt(total(places.transport, (error[wrong] ** 2).sum()) / n)
    return found


def forecast_errors(experiment, analysis: dict, places: Places, tick=lambda transport: None) -> dict:
    """Errors of the runs from the first guess and the analysis against the truth, up to the forecast's end.

    After the window corrections fade to zero in the time between two records.

    {"days": [...], "window_days": its end, "eta" and "current": {of: {where: [rms at these times]}}}, m and m s-1.
    """
    config, names = experiment.true_config, experiment.problem.names
    dt, output = config.time.dt, config.output
    steps = config.run.steps + round(getattr(config.case, "forecast", 0.0) * DAY / dt)
    every = min(steps, output.every_steps or max(1, round((output.every or steps * dt) / dt)))
    longer = {"run": config.run.model_copy(update={"steps": steps})}

    def run(config, x):
        problem, _ = problem_of(config.model_copy(update=longer), names, every, tick)
        for state in problem.states(extended(x, problem.domain.setup), every):
            depth = x["depth"] if "depth" in x else depth_of(problem)
            eta, u, v = state.h - depth, state.u, state.v
            yield [np.asarray(field, np.float64) for field in (eta, u, v)]

    believed, runs = experiment.problem.config, {"background": experiment.base, "analysis": analysis}
    times = [*range(0, steps, every), steps]
    found = {"days": [step * dt / 86400 for step in times], "window_days": config.run.steps * dt / 86400}
    found |= {name: {who: {where: [] for where in places.sets} for who in runs} for name in ("eta", "current")}
    known = {name: x * 0 if name in CORRECTIONS else x for name, x in experiment.truth.items()}
    for truth, *others in zip(run(config, known), *(run(believed, x) for x in runs.values()), strict=True):
        for who, state in zip(runs, others, strict=True):
            eta, u, v = (np.square(a - b) for a, b in zip(state, truth, strict=True))
            for name, square in (("eta", eta), ("current", u + v)):
                for where, size in places.rms(square).items():
                    found[name][who][where].append(size)
    return found
