"""The output of a run except restart files: snapshots and series, whose records are written when they are due."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..files.output import (
    DiagnosticsFile,
    DriftersFile,
    OutputFile,
    SectionsFile,
    SpectraFile,
    StationsFile,
    tidal_constants,
)
from ..files.output.continuation import require_intact
from ..files.run_folder import DIAGNOSTICS, DRIFTERS, HARMONICS, OUTPUT, OUTPUT_STORE, SECTIONS, SPECTRA, STATIONS
from ..files.schedule import EventSchedule
from ..files.store.snapshots import OutputStore
from ..ocean.table import maxima_variables
from ..setup.positions.cross_sections import make_cross_sections
from ..setup.positions.gauges import make_gauges
from ..setup.tidal_analysis import harmonic_analysis
from .accumulators import (
    NO_ACCUMULATORS,
    Accumulators,
    DrifterAccumulator,
    ExtremesAccumulator,
    HarmonicsAccumulator,
    SeriesAccumulator,
)

if TYPE_CHECKING:
    from ..config.options.model import Config

FILE_CLASSES: dict[str, Callable[..., AbstractContextManager]] = {
    DIAGNOSTICS: DiagnosticsFile,
    OUTPUT: OutputFile,
    SPECTRA: SpectraFile,
    STATIONS: StationsFile,
    SECTIONS: SectionsFile,
    DRIFTERS: DriftersFile,
}

#: By `output.format`: file name and class of the snapshots, which are called OUTPUT here in either format.
SNAPSHOT_FORMATS: dict[str, tuple[str, Callable[..., AbstractContextManager]]] = {
    "netcdf": (OUTPUT, OutputFile),
    "zarr": (OUTPUT_STORE, OutputStore),
}

#: Files of series at positions: the function of the Setup that returns the positions, and the key of the interval.
POSITIONED_SERIES = {
    STATIONS: (make_gauges, "stations_every_steps"),
    SECTIONS: (make_cross_sections, "sections_every_steps"),
}


class Results:
    """Base class of writers of a model's records.

    All processes call `write` and `flush` together; a FilesError is raised on all.

    Attributes:
        files, schedules: the open files, and the schedules of their records, by name.
        accumulators: the Accumulators of the files.
        latest_numbers: diagnostics of the latest record; the progress display shows `cfl` and `energy`.
    """

    def __init__(self, model, files: dict, schedules: dict[str, EventSchedule]):
        self.model, self.files, self.schedules, self.first_step = model, files, schedules, model.step
        self.accumulators = NO_ACCUMULATORS
        self.latest_numbers: dict[str, float] = {}

    def write(self) -> None:
        """Write the records that are due at the present step."""
        raise NotImplementedError

    def files_due(self) -> list[str]:
        """The files whose records are due at the present step; all files at the first step."""
        step = self.model.step
        return [name for name, schedule in self.schedules.items() if schedule.is_due(step) or step == self.first_step]

    def next_step(self, step: int) -> int:
        """The first step after `step` at which a record is due; for series at positions the time loop need not stop."""
        return min(schedule.next(step) for name, schedule in self.schedules.items() if name not in POSITIONED_SERIES)

    def has_failed(self) -> bool:
        """Whether this process cannot write one of its files; other processes may not know of it."""
        return any(file.has_failed() for file in self.files.values())

    def flush(self) -> None:
        """Make all records so far durable."""
        for file in self.files.values():
            file.flush()


class RunResults(Results):
    """The records of a Simulation; `files`: the open files of FILE_CLASSES, by name."""

    def __init__(self, simulation, files, directory: Path, command_line: str):
        super().__init__(simulation, files, schedules(simulation.config))
        self.directory, self.command_line = directory, command_line
        output, self.series = simulation.config.output, {}
        for name, (make_positions, key) in POSITIONED_SERIES.items():
            if name in files:
                positions, every = make_positions(simulation.setup), getattr(output, key)
                self.series[name] = SeriesAccumulator(simulation, positions, every, files[name])
        self.drifters = DrifterAccumulator(simulation) if output.drifters else None
        means = simulation.means(output.means) if output.means else None
        extremes = ExtremesAccumulator(simulation) if maxima_variables(output) else None
        analysis = harmonic_analysis(simulation.config)
        self.harmonics = HarmonicsAccumulator(simulation, analysis) if analysis else None
        further_accumulators = filter(None, (self.drifters, means, extremes, self.harmonics))
        self.accumulators = Accumulators([*self.series.values(), *further_accumulators])
        restart = simulation.restart
        for accumulator in self.accumulators:
            accumulator.start(restart.accumulator_fields if restart and restart.step == simulation.step else {})

    def write(self) -> None:
        model, due = self.model, self.files_due()
        if OUTPUT in due:
            fields = model.fields(model.config.output.fields) | self.accumulators.output_fields()
            self.files[OUTPUT].write(model.step, model.time, fields)
            if self.schedules[OUTPUT].is_regular(model.step):
                for accumulator in self.accumulators:
                    accumulator.start_next_record()
        for name, series in self.series.items():
            if name in due and model.step == self.first_step:  # later values are recorded in the time loop
                series.write_present_values()
        if DIAGNOSTICS in due:
            self.latest_numbers = model.diagnostics()
            self.files[DIAGNOSTICS].write(model.step, model.time, self.latest_numbers)
        if self.drifters and DRIFTERS in due:
            values = {name: positions[None] for name, positions in self.drifters.values().items()}
            self.files[DRIFTERS].write(np.array([model.step]), np.array([model.time]), values)
        if SPECTRA in due:
            self.files[SPECTRA].write(model.step, model.time, model.spectra())
        if self.harmonics and model.step == model.config.run.steps:
            constants, path = self.harmonics.constants(), self.directory / HARMONICS
            tidal_constants.write_harmonics(path, model.config, model.transport, constants, self.command_line)


@contextmanager
def open_results(simulation, directory, command_line: str = "", resume: bool = False) -> Iterator[Results]:
    """A context with the Results of a simulation; see `TimeLoopModel.results`."""
    config, transport, directory = simulation.config, simulation.transport, Path(directory)
    names = [name for name in FILE_CLASSES if name in schedules(config)]
    keep = record_filters(simulation) if resume else {}
    paths_and_classes = {name: (directory / name, FILE_CLASSES[name]) for name in names}
    file_name, file_class = SNAPSHOT_FORMATS[config.output.format]
    paths_and_classes[OUTPUT] = directory / file_name, file_class
    if resume:
        require_intact({paths_and_classes[name][0]: keep[name] for name in names if name in keep}, transport)
    with ExitStack() as stack:
        files = {
            name: stack.enter_context(file_class(path, config, transport, command_line, keep.get(name)))
            for name, (path, file_class) in paths_and_classes.items()
        }
        yield RunResults(simulation, files, directory, command_line)


def schedules(config: Config) -> dict[str, EventSchedule]:
    """{name of a file of records that the run writes: the schedule of its records}."""
    options, dt, steps = config.output, config.time.dt, config.run.steps
    snapshots = EventSchedule(dt, steps, options.every_steps, options.every)
    every = options.diagnostics_every_steps
    by_file = {OUTPUT: snapshots, DIAGNOSTICS: EventSchedule(dt, steps, every) if every else snapshots}
    if options.spectra or options.spectra_every_steps:
        by_file[SPECTRA] = EventSchedule(dt, steps, options.spectra_every_steps, options.spectra)
    if options.drifters:
        interval = options.drifters_every_steps, options.drifters_every
        by_file[DRIFTERS] = EventSchedule(dt, steps, *interval) if any(interval) else snapshots
    for name, positions in {STATIONS: options.stations, SECTIONS: options.sections}.items():
        if positions:
            by_file[name] = EventSchedule(dt, steps, getattr(options, POSITIONED_SERIES[name][1]))
    return by_file


def record_filters(model) -> dict:
    """For each file that a resumed run continues, by name, the function that says whether a step's record is kept.

    Records before the model's present step are kept. The record of this step is kept if its schedule asks for it in a
    run of any length, or if the run has no further steps; otherwise it was only written because the earlier run ended
    there.
    """
    present_step = model.step
    old_schedules, is_at_end = schedules(model.restart.config), present_step == model.config.run.steps
    return {
        name: lambda step, schedule=schedule: (
            step < present_step or (step == present_step and (is_at_end or schedule.is_regular(step)))
        )
        for name, schedule in old_schedules.items()
    }
