"""What a run writes besides restarts: output.nc and diagnostics.nc, each record when it is due."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..files.output import Diagnostics, Output
from ..files.output.continuation import require_intact
from ..files.run_folder import DIAGNOSTICS, OUTPUT
from ..files.schedule import Schedule


@contextmanager
def opened(simulation, directory, command_line: str = "", resume: bool = False) -> Iterator[Results]:
    """A context with the Results of a simulation, whose files are closed at its end; see `run.Model.results`."""
    config, transport, directory = simulation.config, simulation.transport, Path(directory)
    keep, other = keepers(simulation) if resume else (None, None)
    if resume:
        require_intact({directory / OUTPUT: keep, directory / DIAGNOSTICS: other}, transport)
    with (
        Diagnostics(directory / DIAGNOSTICS, config, transport, command_line, other) as series,
        Output(directory / OUTPUT, config, transport, command_line, keep) as output,
    ):
        yield Results(simulation, output, series)


class Results:
    """The records of a run from the simulation's present step on; see `run.Results`."""

    def __init__(self, simulation, output, series):
        self.simulation, self.output, self.series, self.first = simulation, output, series, simulation.step
        self.snapshots, self.records = schedules(simulation.config)
        names = simulation.config.output.means
        self.means, self.numbers = simulation.means(names) if names else None, {}
        if self.means and simulation.restart and simulation.restart.step == simulation.step:
            self.means.reset(simulation.restart.means, simulation.restart.mean_steps)

    def write(self) -> None:
        """Write the records that are due at the present step, as all are at the first."""
        simulation, means, step = self.simulation, self.means, self.simulation.step
        if self.snapshots.due(step) or step == self.first:
            fields = simulation.fields(self.output.names)
            self.output.write(step, simulation.time, fields, means and means.values())
            if means and self.snapshots.regular(step):
                means.reset()
        if self.records.due(step) or step == self.first:
            self.numbers = simulation.diagnostics()
            self.series.write(step, simulation.time, self.numbers)

    def next(self, step: int) -> int:
        """The first step after `step` at which a record is due."""
        return min(self.snapshots.next(step), self.records.next(step))

    def flush(self) -> None:
        """Make all records so far durable."""
        self.output.flush()
        self.series.flush()


def schedules(config) -> tuple[Schedule, Schedule]:
    """When the records of output.nc and of diagnostics.nc are due."""
    options, dt, steps = config.output, config.time.dt, config.run.steps
    snapshots = Schedule(dt, steps, options.every_steps, options.every)
    every = options.diagnostics_every_steps
    return snapshots, Schedule(dt, steps, every) if every else snapshots


def keepers(model) -> list:
    """Functions of the step that say which records of output.nc and of diagnostics.nc a resumed run leaves.

    Those before its first step; and that of the first step itself unless it was only there because a run ended.
    """
    first = model.step
    before, over = schedules(model.restart.config), first == model.config.run.steps
    return [lambda step, s=s: step < first or (step == first and (over or s.regular(step))) for s in before]
