"""Errors of the first guess and of the analysis in a twin experiment, where the truth is known."""

from __future__ import annotations

import math

import jax
import numpy as np

from .. import fields
from ..coordinates import edges, origin
from ..gradients import Problem
from . import twin
from .experiment import depth_of

#: Places count as unobserved further than so many cells from every observation: comparing the model with one takes the
#: points around it, within a cell.
UNOBSERVED_CELLS = 2.0


def distance_to(observations, config, block) -> np.ndarray:
    """Distance of each cell's centre from the nearest observation, at whatever time, [ny, nx], m."""
    from scipy.spatial import cKDTree

    grid, (x0, y0) = config.grid, origin(config.grid)
    west, east, south, north = edges(grid)
    size = np.array([east - west, north - south])
    rings = np.where([grid.periodic_x, grid.periodic_y], size, 0.0)
    x = x0 - west + grid.dx * np.arange(block.x.start, block.x.stop)
    y = y0 - south + grid.dy * np.arange(block.y.start, block.y.stop)
    places = np.unique(np.stack([observations.x - west, observations.y - south], axis=1), axis=0)
    places = np.where(rings > 0, places % size, places)
    cells = np.stack(np.broadcast_arrays(x, y[:, None]), axis=-1)
    return cKDTree(places, boxsize=rings).query(cells)[0]


class Places:
    """Sets of this process's cells for which errors are told, and means over them; made by all processes together.

    Attributes:
        sets: {"everywhere": mask [ny, nx], "unobserved": mask}: the latter farther than `far` from any observation.
        far: m.
    """

    def __init__(self, config, observations, transport):
        block, self.transport = transport.block, transport
        rows, columns = (np.arange(axis.start, axis.stop) for axis in (block.y, block.x))
        wet = np.broadcast_to(fields.wet(config, rows, columns) > 0, block.shape)
        self.far = UNOBSERVED_CELLS * max(config.grid.dx, config.grid.dy)
        distant = wet & (distance_to(observations, config, block) > self.far)
        self.sets = {"everywhere": wet, "unobserved": distant}
        self.counts = {name: int(total(transport, mask.sum())) for name, mask in self.sets.items()}

    def rms(self, square) -> dict[str, float]:
        """Root mean squares over each set, of fields given by their squares [ny, nx]; not a number for an empty one."""
        square, sets = np.asarray(square, np.float64), self.sets
        sums = {name: total(self.transport, square[mask].sum()) for name, mask in sets.items()}
        return {name: math.sqrt(sums[name] / n) if n else math.nan for name, n in self.counts.items()}


def total(transport, value) -> float:
    """The sum of a number over all processes."""
    return float(transport.reduce(np.asarray(value, np.float64), "sum"))


def control_errors(experiment, analysis: dict, places: Places) -> dict:
    """{control: {of: {where: rms}}} at the start of the window, of the `background` and the `analysis`.

    For a coefficient's field there is one more place, `where_wrong`: where the first guess is off by at least half of
    its largest error. A number has its error under `everywhere`.
    """
    found = {}
    for name in experiment.background.names:
        off = {
            who: np.asarray(x[name], np.float64) - np.asarray(experiment.truth[name], np.float64)
            for who, x in (("background", experiment.base), ("analysis", analysis))
        }
        if not np.ndim(experiment.truth[name]):
            found[name] = {who: {"everywhere": abs(float(error))} for who, error in off.items()}
            continue
        found[name] = {who: places.rms(error**2) for who, error in off.items()}
        if name not in ("eta", "u", "v"):
            size = np.abs(off["background"])
            largest = float(places.transport.reduce(size.max(), "max"))
            wrong = size >= 0.5 * largest
            n = total(places.transport, wrong.sum())
            for who, error in off.items():
                found[name][who]["where_wrong"] = math.sqrt(total(places.transport, (error[wrong] ** 2).sum()) / n)
    return found


def forecast_errors(experiment, analysis: dict, places: Places, memory: int | None = None) -> dict:
    """How the runs from the first guess and from the analysis leave the truth, from the window to the forecast's end.

    Returns:
        {"days": [...], "window_days": its end, "eta" and "current": {of: {where: [rms at these times]}}}, m and m s-1.
    """
    config, names = experiment.true_config, experiment.problem.names
    steps, dt, output = twin.window_and_forecast(config), config.time.dt, config.output
    every = output.every_steps or max(1, round((output.every or steps * dt) / dt))
    every = next(n for n in range(min(every, steps), 0, -1) if steps % n == 0)
    longer = {"run": config.run.model_copy(update={"steps": steps})}

    def run(config, x):
        problem = Problem(config.model_copy(update=longer), names, lambda view, k: view.state, every, memory)
        series = jax.tree.map(np.asarray, problem.series(x))
        return series._replace(h=series.h - np.asarray(problem_depth(problem, x)))

    truth, believed = run(config, experiment.truth), experiment.problem.config
    found = {"days": [k * every * dt / 86400 for k in range(steps // every + 1)]}
    found |= {"window_days": config.run.steps * dt / 86400, "eta": {}, "current": {}}
    for who, x in (("background", experiment.base), ("analysis", analysis)):
        series = run(believed, x)
        h, u, v = (np.square(a.astype(np.float64) - b) for a, b in zip(series, truth, strict=True))
        for name, squares in (("eta", h), ("current", u + v)):
            each = [places.rms(square) for square in squares]
            found[name][who] = {where: [one[where] for one in each] for where in places.sets}
    return found


def problem_depth(problem: Problem, x: dict):
    """Resting depth of the block on a run from x."""
    return x["depth"] if "depth" in x else depth_of(problem)
