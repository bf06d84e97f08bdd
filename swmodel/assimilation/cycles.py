"""The method `letkf` of the task `assimilate`: cycles of a filter, and the forecast from its last analysis."""

from __future__ import annotations

import logging

import numpy as np

from ..files.run_folder import ANALYSIS
from . import checkpoint
from .analysis_file import write_analysis
from .error_statistics import against_truth, by_station, course_of, forecast_times, in_its_winds, rms
from .experiment import controls_of, problem_of
from .filter import Cycle, Filter
from .settings import STATE

log = logging.getLogger(__name__)


def filtered(config, experiment, directory, options, command_line, course) -> dict:
    """The analyses by LETKF; writes analysis.nc, and returns the numbers for assimilation.json.

    All processes call it together. The first guess, analysis and truth of its maps are those of the last analysis, at
    the end of the window. Errors over time are those of the members' mean, also in the forecast.
    """
    course.rounds, observations = "cycles", experiment.observations
    run, block = Run(config, experiment, course, directory), experiment.problem.block
    if options.get("resume"):
        run.go_on()
    before, after = run.to_the_end()

    def here(moments: dict, which: str) -> dict:
        return {name: on_block(getattr(moments[name], which), block) for name in experiment.controls}

    misfits = dict(zip(("background", "analysis"), run.misfits, strict=True))
    departures = {who: values * observations.error for who, values in misfits.items()}
    results = {
        "method": "letkf",
        "controls": list(experiment.controls),
        "observations": observations.size,
        "members": config.ensemble.members,
        "cycles": run.rows,
        "misfit": {who: rms(values) for who, values in misfits.items()},
    }
    results["stations"] = by_station(observations, departures, None)
    analysis = here(after, "mean")
    last = experiment._replace(base=here(before, "mean"))
    if experiment.truth is not None:
        last = last._replace(truth=experiment.truth | truth_at_the_end(experiment, course.tick))
        means, spreads = ([on_block(each[n], block) for each in run.records] for n in (0, 1))
        free = course_of(experiment, experiment.problem.config, experiment.base, course.tick)
        courses = {"background": free, "analysis": means, "spread": spreads}
        results["twin"] = against_truth(experiment, courses, course.tick)
    write_analysis(
        directory / ANALYSIS, last, analysis, departures, results, command_line, spread=here(after, "spread")
    )
    return results


def on_block(field: np.ndarray, block) -> np.ndarray:
    """The part of a whole field [..., ny, nx] on a block."""
    return field[..., block.y.start : block.y.stop, block.x.start : block.x.stop]


def truth_at_the_end(experiment, tick) -> dict:
    """eta, u and v of the truth at the end of the window, on this process's block."""
    config = experiment.true_config
    problem, _ = problem_of(config, experiment.problem.names, config.run.steps, tick)
    *_, state = problem.states(in_its_winds(experiment.truth), config.run.steps)
    return controls_of(state, problem)


class Run:
    """The run of a filter's members through the window, and in a twin experiment through the forecast.

    Attributes:
        misfits: of the observations so far, over their errors, before and after their analysis [2, n].
        rows: the numbers of the cycles so far, for assimilation.json.
        records: in a twin experiment, mean and spread [2, 3, ny, nx] at the `forecast_times` so far.
    """

    def __init__(self, config, experiment, course, directory):
        self.config, self.experiment, self.course, self.directory = config, experiment, course, directory
        self.filter, self.rows, self.records = Filter(config, experiment), [], []
        self.misfits = np.zeros((2, experiment.observations.size))

    def keep(self) -> None:
        """Write the file from which `go_on` continues."""
        of, about = self.filter, {"step": self.filter.members.step, "rows": self.rows}
        arrays = {"misfits": self.misfits.ravel(), "records": np.ravel(self.records)}
        checkpoint.save(self.directory, of.kept() | arrays, about, self.config, of.observations, of.transport)

    def go_on(self) -> None:
        """Continue from the last cycle in the folder, if there is one."""
        of, grid = self.filter, self.config.grid
        if before := checkpoint.load(self.directory, self.config, of.observations, of.transport):
            fields, about = before
            self.rows, self.misfits = about["rows"], fields.pop("misfits").reshape(self.misfits.shape)
            self.records = [*fields.pop("records").reshape(-1, 2, len(STATE), grid.ny, grid.nx)]
            self.course.iteration = len(self.rows)
            of.go_on(about["step"], fields)

    def to_the_end(self):
        """The Moments of all fields before and after the last analysis."""
        config, filter_ = self.config, self.filter
        options, steps, members = config.assimilation, config.run.steps, filter_.members
        length = options.cycle_steps or steps
        records = forecast_times(config) if self.experiment.truth is not None else []
        stops = {*range(0, steps + 1, options.every_steps), *records}
        for step in sorted(step for step in stops if step > members.step or not self.rows):
            members.take_steps(step - members.step)
            self.course.tick(self.course.transport)
            if step <= steps and step % options.every_steps == 0:
                filter_.observe(step // options.every_steps)
            if step == steps:
                before = self.moments()
            if ends := 0 < step <= steps and step % length == 0:
                self.analyse(step, length)
            if step == steps:
                after = self.moments()
            if step in records:
                now = self.moments()
                self.records.append(np.array([[now[name][n] for name in STATE] for n in (0, 1)]))
            if ends and step < steps:
                self.keep()
        return before, after

    def moments(self) -> dict:
        """The Moments of all fields of the members, by name."""
        return {name: self.filter.moments(values) for name, values in self.filter.fields().items()}

    def analyse(self, step: int, length: int) -> None:
        """The analysis at the end of a cycle of `length` steps."""
        filter_, options = self.filter, self.config.assimilation
        filter_.health.check()
        sample = filter_.operator.sample * options.every_steps
        chosen = np.flatnonzero((sample <= step) & ((sample > step - length) | (step == length)))
        cycle = filter_.analyse(chosen)
        self.misfits[:, chosen] = cycle.seen.departures, cycle.after
        self.rows.append(row_of(cycle, step * self.config.time.dt / 86400))
        self.course.iteration = len(self.rows)
        row = self.rows[-1]
        misfits = f"misfit {row['background']:.3f} (expected {row['expected']:.3f}) -> {row['analysis']:.3f}"
        words = f"{row['observations']} observations  {misfits}" if len(chosen) else "no observations"
        self.course.say(f"day {row['day']:.4g}: {words}", self.config.run.steps // length)


def row_of(cycle: Cycle, day: float) -> dict:
    """The numbers of a cycle, as in `analysis_file.CYCLE`; NaN without observations."""
    variance = cycle.seen.perturbations.var(axis=0, ddof=1)
    row = {"day": day, "observations": len(cycle.chosen)}
    row |= {
        "background": rms(cycle.seen.departures),
        "expected": rms(np.sqrt(1 + variance)),
        "analysis": rms(cycle.after),
    }
    return row
