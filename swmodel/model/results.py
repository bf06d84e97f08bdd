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
from .accumulators import Accumulators, Extremes, Harmonics, Series

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
    """The records of a run from the present step on; see `run.Results`. `files`: the open ones of FILES."""

    def __init__(self, simulation, files, directory: Path, command_line: str):
        self.directory, self.command_line = directory, command_line
        self.simulation, self.files, self.first = simulation, files, simulation.step
        output, self.numbers = simulation.config.output, {}
        self.schedules = schedules(simulation.config)
        self.series = {name: self._series(name) for name in PLACES if name in files}
        self.harmonics = Harmonics(simulation) if output.harmonics else None
        fields = [simulation.means(output.means) if output.means else None]
        fields += [Extremes(simulation) if maxima_of(output) else None, self.harmonics]
        self.accumulators = Accumulators([*self.series.values(), *filter(None, fields)])
        restart = simulation.restart
        self.accumulators.begin(restart.kept if restart and restart.step == simulation.step else {})

    def _series(self, name: str) -> Series:
        """The Series of a file."""
        simulation, (places, every) = self.simulation, PLACES[name]
        found, steps = places(simulation.setup), getattr(simulation.config.output, every)
        return Series(simulation, found, steps, self.files[name])

    def write(self) -> None:
        """Write the records that are due at the present step; at the first step all are."""
        simulation, step = self.simulation, self.simulation.step
        due = [name for name, schedule in self.schedules.items() if schedule.due(step) or step == self.first]
        if OUTPUT in due:
            fields = simulation.fields(simulation.config.output.fields) | self.accumulators.record()
            self.files[OUTPUT].write(step, simulation.time, fields)
            if self.schedules[OUTPUT].regular(step):
                self.accumulators.next_record()
        for name, series in self.series.items():
            if name in due and step == self.first:  # those of later steps are recorded in the loop
                series.write_present()
        if DIAGNOSTICS in due:
            self.numbers = simulation.diagnostics()
            self.files[DIAGNOSTICS].write(step, simulation.time, self.numbers)
        if SPECTRA in due:
            self.files[SPECTRA].write(step, simulation.time, simulation.spectra())
        if self.harmonics and step == simulation.config.run.steps:
            found, path = self.harmonics.constants(), self.directory / HARMONICS
            tidal_constants.write(path, simulation.config, simulation.transport, found, self.command_line)

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
