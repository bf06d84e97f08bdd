"""Misfits at each station; in a twin experiment, whose truth is known, also errors of first guess and analysis."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..gradients.corrections import extend_corrections
from ..ocean.coordinates import axes, max_cell_size
from ..ocean.table import CORRECTIONS
from ..parallel.fixed_point import exact_sum
from ..setup import fields
from ..setup.positions.stencils import OBSERVED_QUANTITIES
from .experiment import make_problem, resting_depth
from .localisation import embed_positions, surface_distance
from .synthetic import DAY

if TYPE_CHECKING:
    from ..config.options.model import Config
    from ..parallel.transport.transport import Transport

#: A cell is unobserved if all observations are farther away than this, in cells; the observation operator reads points
#: up to one cell away.
UNOBSERVED_DISTANCE_CELLS = 2.0


def statistics_by_station(observations, departures: dict, impact: np.ndarray | None) -> list[dict]:
    """For each platform and quantity: number of observations, misfits and, if known, impact; largest impact first."""
    rows = []
    for platform, quantity in sorted(
        {*zip(observations.platform.tolist(), observations.quantity.tolist(), strict=True)}
    ):
        in_row = (observations.platform == platform) & (observations.quantity == quantity)
        row = {"platform": platform, "quantity": OBSERVED_QUANTITIES[quantity], "observations": int(in_row.sum())}
        parts = {estimate: (values / observations.error)[in_row] for estimate, values in departures.items()}
        row["misfit"] = {estimate: rms(part) for estimate, part in parts.items()}
        rows.append(row | ({"impact": float(impact[in_row].sum())} if impact is not None else {}))
    return sorted(rows, key=lambda row: -abs(row.get("impact", 0.0)))


def distance_to_observations(observations, config: Config, block) -> np.ndarray:
    """Distance of each cell centre to the nearest observation of the window, [ny, nx], m."""
    from scipy.spatial import cKDTree

    grid_axes = axes(config.grid)
    x, y = (
        axis.first + axis.spacing * np.arange(span.start, span.stop)
        for axis, span in zip(grid_axes, (block.x, block.y), strict=True)
    )
    cells, periods = embed_positions(config.grid, x, y[:, None])
    observation_points, _ = embed_positions(config.grid, observations.x, observations.y)
    chords = cKDTree(np.unique(observation_points, axis=0), boxsize=periods).query(cells)[0]
    return surface_distance(config.grid, chords).reshape(block.shape)


class CellSets:
    """The sets of cells over which errors are averaged; all processes create this and call its methods together.

    Attributes:
        masks: {"everywhere": mask of this process's wet cells, "unobserved": mask of the wet cells that are farther
            than `unobserved_distance`, m, from any observation}, both [ny, nx].
        counts: the number of cells of each set on all processes.
    """

    def __init__(self, config: Config, observations, transport: Transport):
        block, self.transport = transport.block, transport
        rows, columns = (np.arange(axis.start, axis.stop) for axis in (block.y, block.x))
        wet = np.broadcast_to(fields.wet_mask(config, rows, columns) > 0, block.shape)
        self.unobserved_distance = UNOBSERVED_DISTANCE_CELLS * max_cell_size(config.grid)
        unobserved = wet & (distance_to_observations(observations, config, block) > self.unobserved_distance)
        self.masks = {"everywhere": wet, "unobserved": unobserved}
        self.counts = {name: int(exact_sum(transport, [mask])) for name, mask in self.masks.items()}

    def rms(self, square) -> dict[str, float]:
        """The root mean square of a field over each set, from its squares [ny, nx]; NaN for an empty set."""
        sums = {name: exact_sum(self.transport, [square[mask]]) for name, mask in self.masks.items()}
        return {name: math.sqrt(sums[name] / n) if n else math.nan for name, n in self.counts.items()}


def errors_against_truth(experiment, forecasts: dict, tick, analysis: dict | None = None) -> dict:
    """The results of a twin experiment, for assimilation.json.

    Args:
        forecasts: see `forecast_errors`.
        analysis: the analysed controls, as at the start of the window; None with letkf, which analyses later times.
    """
    cell_sets = CellSets(experiment.true_config, experiment.observations, experiment.problem.transport)
    return {
        "unobserved_metres": cell_sets.unobserved_distance,
        "unobserved_part": cell_sets.counts["unobserved"] / max(1, cell_sets.counts["everywhere"]),
        "controls": control_errors(experiment, analysis, cell_sets) if analysis else {},
        "forecast": forecast_errors(experiment, forecasts, cell_sets, tick),
    }


def rms(values) -> float:
    """Root mean square; NaN if there are no values."""
    return float(np.sqrt(np.mean(np.square(values)))) if np.size(values) else math.nan


def control_errors(experiment, analysis: dict, cell_sets: CellSets) -> dict:
    """{control: {estimate: {region: rms}}}: errors of `background` and `analysis` at the start of the window.

    Regions are the sets of CellSets. Fields other than the initial state and corrections have the region `where_wrong`,
    too: the cells where the error of the first guess is at least half of its largest value. The error of a number is
    under `everywhere`. For controls with records the rms is also over the records.
    """
    errors_by_control = {}
    for name in experiment.controls:
        errors = {
            estimate: np.asarray(x[name], np.float64) - np.asarray(experiment.truth[name], np.float64)
            for estimate, x in (("background", experiment.first_guess), ("analysis", analysis))
        }
        if np.ndim(experiment.truth[name]) < 2:
            errors_by_control[name] = {estimate: {"everywhere": rms(error)} for estimate, error in errors.items()}
            continue
        squares = {
            estimate: np.square(error).reshape(-1, *error.shape[-2:]).mean(axis=0) for estimate, error in errors.items()
        }
        errors_by_control[name] = {estimate: cell_sets.rms(square) for estimate, square in squares.items()}
        if name not in ("eta", "u", "v", *CORRECTIONS):
            magnitude = np.abs(errors["background"])
            max_error = float(cell_sets.transport.reduce(magnitude.max(), "max"))
            is_wrong = magnitude >= 0.5 * max_error
            n = exact_sum(cell_sets.transport, [is_wrong])
            for estimate, error in errors.items():
                errors_by_control[name][estimate]["where_wrong"] = math.sqrt(
                    exact_sum(cell_sets.transport, [error[is_wrong] ** 2]) / n
                )
    return errors_by_control


def forecast_steps(config: Config) -> list[int]:
    """The steps, from 0 to the end of the forecast, at which its errors are computed."""
    dt, output = config.time.dt, config.output
    steps = config.run.steps + round(getattr(config.case, "forecast", 0.0) * DAY / dt)
    every = min(steps, output.every_steps or max(1, round((output.every or steps * dt) / dt)))
    return [*range(0, steps, every), steps]


def forecast_states(experiment, config: Config, x: dict, tick):
    """Iterate over eta, u and v, [ny, nx] of the block, at the `forecast_steps` of the run from controls x.

    After their last record, corrections fade linearly to zero within one interval between records.
    """
    record_steps = forecast_steps(config)
    overrides = {"run": config.run.model_copy(update={"steps": record_steps[-1]})}
    problem, _ = make_problem(config.model_copy(update=overrides), experiment.problem.names, record_steps[1], tick)
    depth = x["depth"] if "depth" in x else resting_depth(problem.domain)
    for state in problem.states(extend_corrections(x, problem.domain.setup), record_steps[1]):
        yield [np.asarray(field, np.float64) for field in (state.h - depth, state.u, state.v)]


def without_corrections(truth: dict) -> dict:
    """The true controls with corrections of zero, because the true configuration needs none."""
    return {name: x * 0 if name in CORRECTIONS else x for name, x in truth.items()}


def forecast_errors(experiment, forecasts: dict, cell_sets: CellSets, tick) -> dict:
    """Errors of forecasts relative to the truth, up to the end of the forecast.

    Args:
        forecasts: {estimate: eta, u and v [ny, nx] of the block at the `forecast_steps`}. The fields of the estimate
            "spread" are estimated errors, so the truth is not subtracted from them.

    Returns:
        {"days": [...], "window_days": end of the window, "eta" (m) and "current" (m s-1): {estimate: {region: [rms]}}}.
    """
    config = experiment.true_config
    record_steps = forecast_steps(config)
    results: dict[str, Any] = {"days": [step * config.time.dt / DAY for step in record_steps]}
    results["window_days"] = config.run.steps * config.time.dt / DAY
    for name in ("eta", "current"):
        results[name] = {estimate: {region: [] for region in cell_sets.masks} for estimate in forecasts}
    true_states = forecast_states(experiment, config, without_corrections(experiment.truth), tick)
    for truth, *states in zip(true_states, *forecasts.values(), strict=True):
        for estimate, state in zip(forecasts, states, strict=True):
            reference = truth if estimate != "spread" else (0, 0, 0)
            eta, u, v = (np.square(a - b) for a, b in zip(state, reference, strict=True))
            for name, square in (("eta", eta), ("current", u + v)):
                for region, value in cell_sets.rms(square).items():
                    results[name][estimate][region].append(value)
    return results
