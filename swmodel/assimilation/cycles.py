"""The method `letkf` of the task `assimilate`: the cycles of a filter and the forecast from its last analysis."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np

from ..files.run_folder import ANALYSIS
from ..ocean.table import INITIAL_FIELDS
from . import checkpoint
from .analysis_file import write_analysis
from .error_statistics import (
    errors_against_truth,
    forecast_states,
    forecast_steps,
    rms,
    statistics_by_station,
    without_corrections,
)
from .experiment import initial_controls, make_problem
from .filter import CycleAnalysis, EnsembleFilter
from .synthetic import DAY

if TYPE_CHECKING:
    from ..config.options.model import Config

log = logging.getLogger(__name__)


def run_letkf(config: Config, experiment, directory, options, command_line, monitor) -> dict:
    """Run LETKF and write analysis.nc; returns the numbers for assimilation.json. All processes call this together.

    The maps of first guess, analysis and truth are valid at the last analysis, at the end of the window. The first
    guess there is the members' mean before this analysis. In a twin experiment, errors over time are those of a run
    from the first guess at the start, and of the members' mean, in the window and in the forecast.
    """
    monitor.round_name, observations = "cycle", experiment.observations
    run, block = FilterRun(config, experiment, monitor, directory), experiment.problem.block
    if options.get("resume"):
        run.resume()
    moments_before, moments_after = run.run_to_end()

    def block_values(moments: dict, statistic: str) -> dict:
        return {name: crop_to_block(getattr(moments[name], statistic), block) for name in experiment.controls}

    misfits = dict(zip(("background", "analysis"), run.misfits, strict=True))
    departures = {estimate: values * observations.error for estimate, values in misfits.items()}
    results = {
        "method": "letkf",
        "controls": list(experiment.controls),
        "observations": observations.size,
        "members": config.ensemble.members,
        "cycles": run.cycle_rows,
        "misfit": {estimate: rms(values) for estimate, values in misfits.items()},
    }
    results["stations"] = statistics_by_station(observations, departures, None)
    analysis = block_values(moments_after, "mean")
    final_experiment = experiment._replace(first_guess=block_values(moments_before, "mean"))
    if experiment.truth is not None:
        final_experiment = final_experiment._replace(
            truth=experiment.truth | true_state_at_end(experiment, monitor.tick)
        )
        means, spreads = ([crop_to_block(moments[n], block) for moments in run.forecast_moments] for n in (0, 1))
        free_run = forecast_states(experiment, experiment.problem.config, experiment.first_guess, monitor.tick)
        forecasts = {"background": free_run, "analysis": means, "spread": spreads}
        results["twin"] = errors_against_truth(experiment, forecasts, monitor.tick)
    write_analysis(
        directory / ANALYSIS,
        final_experiment,
        analysis,
        departures,
        results,
        command_line,
        spread=block_values(moments_after, "spread"),
    )
    return results


def crop_to_block(field: np.ndarray, block) -> np.ndarray:
    """The part of a global field [..., ny, nx] on a block."""
    return field[..., block.y.start : block.y.stop, block.x.start : block.x.stop]


def true_state_at_end(experiment, tick) -> dict:
    """eta, u and v of the truth at the end of the window, on this process's block."""
    config = experiment.true_config
    problem, _ = make_problem(config, experiment.problem.names, config.run.steps, tick)
    *_, state = problem.states(without_corrections(experiment.truth), config.run.steps)
    return initial_controls(state, problem)


class FilterRun:
    """The run of a filter's members through the window and, in a twin experiment, through the forecast.

    Attributes:
        misfits: departures of the observations so far, divided by their errors, before and after the analysis, [2, n].
        cycle_rows: one dict of numbers for each cycle so far, for assimilation.json.
        forecast_moments: in a twin experiment, mean and spread [2, 3, ny, nx] at each of the `forecast_steps` so far.
    """

    def __init__(self, config: Config, experiment, monitor, directory):
        self.config, self.experiment, self.monitor, self.directory = config, experiment, monitor, directory
        self.filter = EnsembleFilter(config, experiment)
        self.cycle_rows: list[dict] = []
        self.forecast_moments: list[np.ndarray] = []
        self.misfits = np.zeros((2, experiment.observations.size))

    def save_checkpoint(self) -> None:
        filter_, metadata = self.filter, {"step": self.filter.members.step, "rows": self.cycle_rows}
        arrays = {"misfits": self.misfits.ravel(), "records": np.ravel(self.forecast_moments)}
        checkpoint.save(
            self.directory,
            filter_.to_checkpoint() | arrays,
            metadata,
            self.config,
            filter_.observations,
            filter_.transport,
        )

    def resume(self) -> None:
        """Continue from the last cycle in the folder, if there is one."""
        filter_, grid = self.filter, self.config.grid
        if saved := checkpoint.load(self.directory, self.config, filter_.observations, filter_.transport):
            fields, metadata = saved
            self.cycle_rows, self.misfits = metadata["rows"], fields.pop("misfits").reshape(self.misfits.shape)
            self.forecast_moments = [*fields.pop("records").reshape(-1, 2, len(INITIAL_FIELDS), grid.ny, grid.nx)]
            self.monitor.iteration = len(self.cycle_rows)
            filter_.from_checkpoint(metadata["step"], fields)

    def run_to_end(self):
        """Run cycles and forecast; returns {name: MeanAndSpread} of all fields before and after the last analysis."""
        config, filter_ = self.config, self.filter
        options, steps, members = config.assimilation, config.run.steps, filter_.members
        cycle_steps = options.cycle_steps or steps
        record_steps = forecast_steps(config) if self.experiment.truth is not None else []
        stop_steps = {*range(0, steps + 1, options.every_steps), *record_steps}
        for step in sorted(step for step in stop_steps if step > members.step or not self.cycle_rows):
            members.take_steps(step - members.step)
            self.monitor.tick(self.monitor.transport)
            if step <= steps and step % options.every_steps == 0:
                filter_.observe(step // options.every_steps)
            if step == steps:
                moments_before = self.moments_by_name()
            if is_cycle_end := 0 < step <= steps and step % cycle_steps == 0:
                self.analyse(step, cycle_steps)
            if step == steps:
                moments_after = self.moments_by_name()
            if step in record_steps:
                moments = self.moments_by_name()
                self.forecast_moments.append(np.array([[moments[name][n] for name in INITIAL_FIELDS] for n in (0, 1)]))
            if is_cycle_end and step < steps:
                self.save_checkpoint()
        return moments_before, moments_after

    def moments_by_name(self) -> dict:
        """{name: MeanAndSpread} of all fields of the members."""
        return {name: self.filter.moments(values) for name, values in self.filter.fields().items()}

    def analyse(self, step: int, cycle_steps: int) -> None:
        """Analyse the members at `step`, the end of a cycle of `cycle_steps` steps.

        The observations are those whose samples are in the cycle, after its start; the first cycle includes its start.
        """
        filter_, options = self.filter, self.config.assimilation
        filter_.health.check()
        sample_steps = filter_.operator.sample * options.every_steps
        indices = np.flatnonzero((sample_steps <= step) & ((sample_steps > step - cycle_steps) | (step == cycle_steps)))
        cycle = filter_.analyse(indices)
        self.misfits[:, indices] = cycle.scaled.departures, cycle.departures_after
        self.cycle_rows.append(cycle_row(cycle, step * self.config.time.dt / DAY))
        self.monitor.iteration = len(self.cycle_rows)
        row = self.cycle_rows[-1]
        misfits = f"misfit {row['background']:.3f} (expected {row['expected']:.3f}) -> {row['analysis']:.3f}"
        words = f"{row['observations']} observations  {misfits}" if len(indices) else "no observations"
        self.monitor.report_progress(f"day {row['day']:.4g}: {words}", self.config.run.steps // cycle_steps)


def cycle_row(cycle: CycleAnalysis, day: float) -> dict:
    """The numbers of a cycle, as in `analysis_file.CYCLE_LABELS`; NaN without observations."""
    variance = cycle.scaled.perturbations.var(axis=0, ddof=1)
    return {
        "day": day,
        "observations": len(cycle.indices),
        "background": rms(cycle.scaled.departures),
        "expected": rms(np.sqrt(1 + variance)),
        "analysis": rms(cycle.departures_after),
    }
