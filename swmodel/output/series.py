"""Time series of numbers for the whole domain."""

from __future__ import annotations

from functools import partial

from ..diagnostics import QUANTITIES
from .background import BackgroundFile
from .metadata import define_time, describe
from .records import RECORD_METADATA_BYTES, begin, complete


class Diagnostics:
    """diagnostics.nc of a run: the QUANTITIES over time. All methods are called by all ranks together.

    Args:
        path: of the file.
        config: resolved configuration.
        transport: of the run.
        command_line: recorded in the file's history.

    Raises:
        FilesError: the file cannot be written.
    """

    def __init__(self, path, config, transport, command_line: str = ""):
        self._records = 0
        self._file = BackgroundFile(path, transport, partial(_define, config, transport, command_line))

    def write(self, step: int, seconds: float, numbers: dict[str, float]) -> None:
        """Append the numbers of one time.

        Raises:
            FilesError: this record or one before could not be written, on all ranks.
        """
        self._file.put(self._file.require, RECORD_METADATA_BYTES)
        self._file.put(begin, self._records)
        self._file.put(_store, self._records, numbers)
        self._file.put(complete, self._records, step, seconds, seconds)
        self._records += 1
        self._file.agree()

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
    describe(dataset, config, transport, command_line)
    define_time(dataset, bounds=False)
    for name, quantity in QUANTITIES.items():
        variable = dataset.createVariable(name, "f8", ("time",), fill_value=False)
        variable.setncatts({"long_name": quantity.long_name, "units": quantity.units})


def _store(file, record: int, numbers: dict[str, float]) -> None:
    for name in QUANTITIES:
        file[name][record] = numbers[name]
