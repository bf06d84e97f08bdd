"""Time series of numbers for the whole domain."""

from __future__ import annotations

from functools import partial

from ...ocean.diagnostics import QUANTITIES
from . import continuation
from .background import BackgroundFile
from .metadata import define_checksums, define_provenance, define_time
from .records import Records


class Diagnostics:
    """diagnostics.nc of a run: the QUANTITIES over time. All methods are called by all ranks together.

    Args:
        path: of the file.
        config: resolved configuration.
        transport: of the run.
        command_line: recorded in the file's history.
        keep: continue an existing file behind the records for whose number of steps this function is true; the others
            are dropped. None: a new file.

    Raises:
        FilesError: the file cannot be written, or is that of another run.
    """

    def __init__(self, path, config, transport, command_line: str = "", keep=None):
        define = partial(_define, config, transport, command_line)

        def resume(records):
            continuation.require_same(path, continuation.differences(records.file, config, define))
            continuation.resume(records, keep, config, command_line)

        self._file = BackgroundFile(path, transport, define, resume if keep else None)
        if keep is None:
            self._file.put(Records.seal)

    def write(self, step: int, seconds: float, numbers: dict[str, float]) -> None:
        """Append the numbers of one time.

        Raises:
            FilesError: this record or one before could not be written, on all ranks.
        """
        self._file.begin()
        self._file.put(_store, numbers)
        self._file.complete(step, seconds)
        self._file.agree()

    def flush(self) -> None:
        """Make all records so far durable: they outlive the process and the power.

        Raises:
            FilesError: a record could not be written, on all ranks.
        """
        self._file.flush()

    def close(self) -> None:
        """Finish writing and close the file.

        Raises:
            FilesError: a record could not be written, and no call has said so before.
        """
        self._file.close()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        self._file.close(agree=kind is None)


def _define(config, transport, command_line: str, dataset) -> None:
    define_provenance(dataset, config, transport, command_line)
    define_time(dataset, bounds=False)
    for name, quantity in QUANTITIES.items():
        variable = dataset.createVariable(name, "f8", ("time",), fill_value=False)
        variable.setncatts({"long_name": quantity.long_name, "units": quantity.units})
    define_checksums(dataset)


def _store(records, numbers: dict[str, float]) -> None:
    for name in QUANTITIES:
        records.put(name, numbers[name])
