"""The output of a run besides restarts: snapshots and series, each record when it is due."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np

from ..files.output import Diagnostics, Drifters, Output, Sections, Spectra, Stations, tidal_constants
from ..files.output.continuation import require_intact
from ..files.run_folder import DIAGNOSTICS, DRIFTERS, HARMONICS, OUTPUT, SECTIONS, SPECTRA, STATIONS, STORE
from ..files.schedule import Schedule
from ..files.store.snapshots import OutputStore
from ..ocean.table import maxima_of
from ..setup.positions.crossings import crossings
from ..setup.positions.gauges import gauges
from . import accumulators
from .accumulators import NO_ACCUMULATORS, Accumulators, Extremes, Harmonics, Series

#: The files of a run, in the order of their creation.
FILES = {DIAGNOSTICS: Diagnostics, OUTPUT: Output, SPECTRA: Spectra, STATIONS: Stations, SECTIONS: Sections}
FILES |= {DRIFTERS: Drifters}

#: What holds the snapshots of a run, called OUTPUT here, by `output.format`: the name in its folder, and the class.
FORMATS = {"netcdf": (OUTPUT, Output), "zarr": (STORE, OutputStore)}

#: The files of series at places: the function of the configuration that returns the places, and the key of `every`.
PLACES = {STATIONS: (gauges, "stations_every_steps"), SECTIONS: (crossings, "sections_every_steps")}


class Results:
    """Base of writers of the records of a model, by `write()`, from its present step on.

    All processes call the methods, which raise FilesError on all.

    Attributes:
        files, schedules: the open files, and the schedules of their records, by name.
        accumulators: the Accumulators of the files.
        numbers: `cfl` and `energy` of the latest record, for the progress display.
    """

    def __init__(self, model, files: dict, schedules: dict[str, Schedule]):
        self.model, self.files, self.schedules, self.first = model, files, schedules, model.step
        self.accumulators, self.numbers = NO_ACCUMULATORS, {}

    def due(self) -> list[str]:
        """The files whose records are due at the present step; all at the first step."""
        step = self.model.step
        return [name for name, schedule in self.schedules.items() if schedule.due(step) or step == self.first]

    def next(self, step: int) -> int:
        """The first step after `step` at which a record is due; series at places need no stop."""
        return min(schedule.next(step) for name, schedule in self.schedules.items() if name not in PLACES)

    def failed(self) -> bool:
        """Whether this process alone knows that a file cannot be written."""
        return any(file.failed() for file in self.files.values())

    def flush(self) -> None:
        """Make all records so far durable."""
        for file in self.files.values():
            file.flush()


class ResultsOfRun(Results):
    """The records of a Simulation; `files`: the open ones of FILES."""

    def __init__(self, simulation, files, directory: Path, command_line: str):
        super().__init__(simulation, files, schedules(simulation.config))
        self.directory, self.command_line = directory, command_line
        output, self.series = simulation.config.output, {}
        for name, (places, every) in PLACES.items():
            if name in files:
                self.series[name] = Series(simulation, places(simulation.setup), getattr(output, every), files[name])
        self.harmonics = Harmonics(simulation) if output.harmonics else None
        self.drifters = accumulators.Drifters(simulation) if output.drifters else None
        fields = [self.drifters, simulation.means(output.means) if output.means else None]
        fields += [Extremes(simulation) if maxima_of(output) else None, self.harmonics]
        self.accumulators = Accumulators([*self.series.values(), *filter(None, fields)])
        restart = simulation.restart
        for each in self.accumulators:
            each.begin(restart.kept if restart and restart.step == simulation.step else {})

    def write(self) -> None:
        model, due = self.model, self.due()
        if OUTPUT in due:
            fields = model.fields(model.config.output.fields) | self.accumulators.record()
            self.files[OUTPUT].write(model.step, model.time, fields)
            if self.schedules[OUTPUT].regular(model.step):
                for each in self.accumulators:
                    each.next_record()
        for name, series in self.series.items():
            if name in due and model.step == self.first:  # those of later steps are recorded in the loop
                series.write_present()
        if DIAGNOSTICS in due:
            self.numbers = model.diagnostics()
            self.files[DIAGNOSTICS].write(model.step, model.time, self.numbers)
        if DRIFTERS in due:
            values = {name: places[None] for name, places in self.drifters.values().items()}
            self.files[DRIFTERS].write(np.array([model.step]), np.array([model.time]), values)
        if SPECTRA in due:
            self.files[SPECTRA].write(model.step, model.time, model.spectra())
        if self.harmonics and model.step == model.config.run.steps:
            found, path = self.harmonics.constants(), self.directory / HARMONICS
            tidal_constants.write(path, model.config, model.transport, found, self.command_line)


@contextmanager
def opened(simulation, directory, command_line: str = "", resume: bool = False) -> Iterator[Results]:
    """A context with the Results of a simulation; its end closes the files. See `Model.results`."""
    config, transport, directory = simulation.config, simulation.transport, Path(directory)
    names = [name for name in FILES if name in schedules(config)]
    keep = keepers(simulation) if resume else {}
    made = {name: (directory / name, FILES[name]) for name in names}
    path, kind = FORMATS[config.output.format]
    made[OUTPUT] = directory / path, kind
    if resume:
        require_intact({made[name][0]: keep[name] for name in names if name in keep}, transport)
    with ExitStack() as stack:
        files = {
            name: stack.enter_context(kind(path, config, transport, command_line, keep.get(name)))
            for name, (path, kind) in made.items()
        }
        yield ResultsOfRun(simulation, files, directory, command_line)


def schedules(config) -> dict[str, Schedule]:
    """The schedule of the records of each file, by name; spectra.nc only with `output.spectra`."""
    options, dt, steps = config.output, config.time.dt, config.run.steps
    snapshots = Schedule(dt, steps, options.every_steps, options.every)
    every = options.diagnostics_every_steps
    found = {OUTPUT: snapshots, DIAGNOSTICS: Schedule(dt, steps, every) if every else snapshots}
    if options.spectra or options.spectra_every_steps:
        found[SPECTRA] = Schedule(dt, steps, options.spectra_every_steps, options.spectra)
    if options.drifters:
        own = options.drifters_every or options.drifters_every_steps
        found[DRIFTERS] = (
            Schedule(dt, steps, options.drifters_every_steps, options.drifters_every) if own else snapshots
        )
    for name, places in {STATIONS: options.stations, SECTIONS: options.sections}.items():
        if places:
            found[name] = Schedule(dt, steps, getattr(options, PLACES[name][1]))
    return found


def keepers(model) -> dict:
    """For each file that a resumed run continues, by name: function of a step, whether its record is kept.

    Records before the first step are kept, and that of the first step unless it was only the end of a run.
    """
    first = model.step
    before, over = schedules(model.restart.config), first == model.config.run.steps
    return {
        name: lambda step, s=s: step < first or (step == first and (over or s.regular(step)))
        for name, s in before.items()
    }
