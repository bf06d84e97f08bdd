"""What a run writes besides restarts: output.nc, diagnostics.nc and spectra.nc, each record when it is due."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TypeAlias

from ..files.output import Diagnostics, Output, Spectra
from ..files.output.continuation import require_intact
from ..files.run_folder import DIAGNOSTICS, OUTPUT, SPECTRA
from ..files.schedule import Schedule

#: What writes the records of a run, for as long as it is open.
Opened: TypeAlias = AbstractContextManager["Results"]

#: The files, in the order in which they are made.
FILES = {DIAGNOSTICS: Diagnostics, OUTPUT: Output, SPECTRA: Spectra}


@contextmanager
def opened(simulation, directory, command_line: str = "", resume: bool = False) -> Iterator[Results]:
    """A context with the Results of a simulation, whose files are closed at its end; see `run.Model.results`."""
    config, transport, directory = simulation.config, simulation.transport, Path(directory)
    names = [name for name in FILES if name in schedules(config)]
    keep = keepers(simulation) if resume else {}
    if resume:
        require_intact({directory / name: keep[name] for name in names if name in keep}, transport)
    with ExitStack() as stack:
        files = {
            name: stack.enter_context(FILES[name](directory / name, config, transport, command_line, keep.get(name)))
            for name in names
        }
        yield Results(simulation, files)


class Results:
    """The records of a run from the simulation's present step on; see `run.Results`.

    Args:
        files: those of FILES that are written, by their names.
    """

    def __init__(self, simulation, files):
        self.simulation, self.files, self.first = simulation, files, simulation.step
        self.schedules = schedules(simulation.config)
        names = simulation.config.output.means
        self.means, self.numbers = simulation.means(names) if names else None, {}
        if self.means and simulation.restart and simulation.restart.step == simulation.step:
            self.means.reset(simulation.restart.means, simulation.restart.mean_steps)

    def write(self) -> None:
        """Write the records that are due at the present step, as all are at the first."""
        simulation, means, step = self.simulation, self.means, self.simulation.step
        due = [name for name, schedule in self.schedules.items() if schedule.due(step) or step == self.first]
        if OUTPUT in due:
            fields = simulation.fields(self.files[OUTPUT].names)
            self.files[OUTPUT].write(step, simulation.time, fields, means and means.values())
            if means and self.schedules[OUTPUT].regular(step):
                means.reset()
        if DIAGNOSTICS in due:
            self.numbers = simulation.diagnostics()
            self.files[DIAGNOSTICS].write(step, simulation.time, self.numbers)
        if SPECTRA in due:
            self.files[SPECTRA].write(step, simulation.time, simulation.spectra())

    def next(self, step: int) -> int:
        """The first step after `step` at which a record is due."""
        return min(schedule.next(step) for schedule in self.schedules.values())

    def flush(self) -> None:
        """Make all records so far durable."""
        for file in self.files.values():
            file.flush()


def schedules(config) -> dict[str, Schedule]:
    """When the records of each file are due, by its name; without spectra.nc where none are asked for."""
    options, dt, steps = config.output, config.time.dt, config.run.steps
    snapshots = Schedule(dt, steps, options.every_steps, options.every)
    every = options.diagnostics_every_steps
    found = {OUTPUT: snapshots, DIAGNOSTICS: Schedule(dt, steps, every) if every else snapshots}
    if options.spectra or options.spectra_every_steps:
        found[SPECTRA] = Schedule(dt, steps, options.spectra_every_steps, options.spectra)
    return found


def keepers(model) -> dict:
    """Of each file that a resumed run goes on with, by its name: a function of the step, whether it leaves its record.

    Those before its first step; and that of the first step itself unless it was only there because a run ended.
    """
    first = model.step
    before, over = schedules(model.restart.config), first == model.config.run.steps
    return {
        name: lambda step, s=s: step < first or (step == first and (over or s.regular(step)))
        for name, s in before.items()
    }
