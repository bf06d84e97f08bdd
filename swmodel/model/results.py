"""What a run writes besides restarts: output.nc and series, each record when it is due."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TypeAlias

from ..files.output import Diagnostics, Output, Sections, Spectra, Stations, tidal_constants
from ..files.output.continuation import require_intact
from ..files.run_folder import DIAGNOSTICS, HARMONICS, OUTPUT, SECTIONS, SPECTRA, STATIONS
from ..files.schedule import Schedule
from ..ocean.table import maxima_of
from ..setup.positions.crossings import crossings
from ..setup.positions.gauges import gauges
from .extremes import Extremes
from .harmonics import Harmonics
from .recorder import Recorder
from .watching import Watching

#: A context in which the records of a run are written.
Opened: TypeAlias = AbstractContextManager["Results"]

#: The files of a run, in the order in which they are made.
FILES = {DIAGNOSTICS: Diagnostics, OUTPUT: Output, SPECTRA: Spectra, STATIONS: Stations, SECTIONS: Sections}

#: The files of series at places: the function of the configuration that returns the places, and the key of `every`.
PLACES = {STATIONS: (gauges, "stations_every_steps"), SECTIONS: (crossings, "sections_every_steps")}


@contextmanager
def opened(simulation, directory, command_line: str = "", resume: bool = False) -> Iterator[Results]:
    """A context with the Results of a simulation; its end closes the files. See `run.Model.results`."""
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
        yield Results(simulation, files, directory, command_line)


class Results:
    """The records of a run from the simulation's present step on; see `run.Results`.

    Args:
        files: the open ones of FILES, by their names.
        directory: that of the run.
        command_line: recorded in the files' history.
    """

    def __init__(self, simulation, files, directory: Path, command_line: str):
        self.directory, self.told = directory, command_line
        self.simulation, self.files, self.first = simulation, files, simulation.step
        self.schedules = schedules(simulation.config)
        names = simulation.config.output.means
        self.means, self.numbers = simulation.means(names) if names else None, {}
        self.recorded = {name: self.recorder(name) for name in PLACES if name in files}
        self.extremes = Extremes(simulation) if maxima_of(simulation.config.output) else None
        watchers = [recorder for _, recorder in self.recorded.values()]
        watchers += [each for each in (self.extremes, self.means) if each]
        self.watching = Watching(simulation, watchers) if watchers else None
        self.harmonics = Harmonics(simulation) if simulation.config.output.harmonics else None
        if self.means and simulation.restart and simulation.restart.step == simulation.step:
            self.means.reset(simulation.restart.means, simulation.restart.mean_steps)

    def recorder(self, name: str) -> tuple:
        """The places of a file of series, and the Recorder of the values there."""
        config, (places, key) = self.simulation.config, PLACES[name]
        found = places(self.simulation.setup)
        return found, Recorder(found.points, getattr(config.output, key), self.simulation)

    def until(self, last: int) -> int:
        """The step, at most `last`, to which the simulation may go before the next `note`."""
        step = self.simulation.step
        last = min(last, step + self.watching.most(step)) if self.watching else last
        return min(last, self.harmonics.next(step)) if self.harmonics else last

    def note(self) -> None:
        """Add the present state to the harmonics; write the values at places of the steps since the last call."""
        if self.harmonics:
            self.harmonics.add()
        self.write_series()

    def write_series(self) -> None:
        """Write the values at places of the steps since the last call."""
        simulation = self.simulation
        step, dt, over = simulation.step, simulation.dt, simulation.step == simulation.config.run.steps
        for name, (places, recorder) in self.recorded.items():
            steps, values = recorder.taken(step, over)
            self.files[name].write(steps, steps * dt, places.values(values))

    def write(self) -> None:
        """Write the records that are due at the present step; at the first step all are."""
        simulation, means, step = self.simulation, self.means, self.simulation.step
        due = [name for name, schedule in self.schedules.items() if schedule.due(step) or step == self.first]
        if OUTPUT in due:
            fields = simulation.fields(self.files[OUTPUT].names) | (self.extremes.values() if self.extremes else {})
            self.files[OUTPUT].write(step, simulation.time, fields, means and means.values())
            if means and self.schedules[OUTPUT].regular(step):
                means.reset()
        if step == self.first:
            self.write_present(due)
        if DIAGNOSTICS in due:
            self.numbers = simulation.diagnostics()
            self.files[DIAGNOSTICS].write(step, simulation.time, self.numbers)
        if SPECTRA in due:
            self.files[SPECTRA].write(step, simulation.time, simulation.spectra())
        if self.harmonics and step == simulation.config.run.steps:
            self.write_constants()

    def write_constants(self) -> None:
        """Write the harmonic constants of the whole run."""
        simulation, constants = self.simulation, self.harmonics.constants()
        tidal_constants.write(self.directory / HARMONICS, simulation.config, simulation.transport, constants, self.told)

    def write_present(self, due: list[str]) -> None:
        """Write the values at places at the present step; those of later steps are recorded in the loop."""
        for name, (places, recorder) in self.recorded.items():
            if name in due:
                values = recorder.present(self.simulation.carry)
                self.files[name].write([self.simulation.step], [self.simulation.time], places.values(values))

    def next(self, step: int) -> int:
        """The first step after `step` at which a record is due; series at places need no stop."""
        return min(schedule.next(step) for name, schedule in self.schedules.items() if name not in PLACES)

    def flush(self) -> None:
        """Make all records so far durable."""
        for file in self.files.values():
            file.flush()


def schedules(config) -> dict[str, Schedule]:
    """When the records of each file are due, by its name; spectra.nc only if spectra are asked for."""
    options, dt, steps = config.output, config.time.dt, config.run.steps
    snapshots = Schedule(dt, steps, options.every_steps, options.every)
    every = options.diagnostics_every_steps
    found = {OUTPUT: snapshots, DIAGNOSTICS: Schedule(dt, steps, every) if every else snapshots}
    if options.spectra or options.spectra_every_steps:
        found[SPECTRA] = Schedule(dt, steps, options.spectra_every_steps, options.spectra)
    for name, places in {STATIONS: options.stations, SECTIONS: options.sections}.items():
        if places:
            found[name] = Schedule(dt, steps, getattr(options, PLACES[name][1]))
    return found


def keepers(model) -> dict:
    """For each file that a resumed run goes on with, by its name: function of a step, whether its record is kept.

    Records before the first step are kept; that of the first step unless it was written only because a run ended.
    """
    first = model.step
    before, over = schedules(model.restart.config), first == model.config.run.steps
    return {
        name: lambda step, s=s: step < first or (step == first and (over or s.regular(step)))
        for name, s in before.items()
    }
