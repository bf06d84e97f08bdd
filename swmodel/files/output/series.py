"""Time series of the whole domain: mass, energy, ..."""

from __future__ import annotations

from ...ocean.diagnostics import quantities
from ...setup.setup import setup_of
from .metadata import define_checksums, define_provenance, define_time, times_of
from .record_file import RecordFile


class Series(RecordFile):
    """A file of time series of the whole domain: numbers, or vectors of them."""

    on_grid = False

    def write(self, step: int, seconds: float, values: dict) -> None:
        """Append the values at one time, by the names of their variables.

        Raises:
            FilesError: this record or one before could not be written, on all ranks.
        """
        self._file.begin()
        self._file.put(put_series, values)
        self._file.complete(step, seconds)
        self._file.agree()


class Diagnostics(Series):
    """diagnostics.nc of a run: the `quantities` over time; see `RecordFile`."""

    def define(self, dataset, config, transport, command_line: str) -> None:
        """See `RecordFile.define`."""
        define_provenance(dataset, config, transport, command_line)
        define_time(dataset, times_of(config.time), bounds=False)
        for name, quantity in quantities(setup_of(config).scheme, config.open_sides.sides).items():
            variable = dataset.createVariable(name, "f8", ("time",), fill_value=False)
            variable.setncatts({"long_name": quantity.long_name, "units": quantity.units})
        define_checksums(dataset)


def put_series(records, values: dict) -> None:
    """Write variables without rows and columns in the last record; a file of an earlier version may lack some."""
    for name, each in values.items():
        if name in records.file:
            records.put(name, each)
