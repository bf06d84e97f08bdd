"""The base class of files with records in time: it defines a new file, or continues an existing one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ...errors import FilesError
from ..background import BackgroundFile
from ..gather import gather_row_ranges, row_ranges
from ..records import RecordWriter
from . import continuation
from .metadata import define_checksums, define_provenance, define_time, time_attributes
from .static import static_differences, write_static

if TYPE_CHECKING:
    from ...config.options.model import Config
    from ...parallel.transport.transport import Transport


class RecordFile(BackgroundFile, ABC):
    """Base of files with records in time. All processes must call all methods together.

    `keep`: function of a step that says whether to keep its record in an existing file; None: create a new file.
    FilesError, on all processes: the file cannot be written, or belongs to another run.
    """

    #: Whether the file has fields, also constant ones; whether it has time bounds for means; records per chunk.
    has_fields, has_time_bounds = True, False
    records_per_chunk: int | None = None

    def __init__(
        self, path, config: Config, transport: Transport, command_line: str = "", keep: Callable | None = None
    ):
        self.dtype, self.shape = np.dtype(config.run.dtype), (config.grid.ny, config.grid.nx)
        static_row_ranges = row_ranges(self.shape, self.dtype.itemsize) if self.has_fields else []

        def define(dataset):
            define_provenance(dataset, config, transport, command_line)
            define_time(dataset, time_attributes(config.time), self.has_time_bounds, self.records_per_chunk)
            self.define_contents(dataset, config)
            define_checksums(dataset)

        def resume(writer):
            differences = continuation.differences(writer.file, config)
            if differences := differences or static_differences(writer.file, config, static_row_ranges):
                raise FilesError(f"{path} cannot be continued: {'; '.join(differences)}")
            continuation.resume(writer, keep, config, command_line)

        super().__init__(path, transport, define, resume if keep else None)
        if keep is None:
            for first, last in static_row_ranges:
                self.submit(write_static, config, first, last)
            self.submit(RecordWriter.write_static_checksums)

    def write_field(self, name: str, local: np.ndarray, member: int = 0) -> None:
        """Write a field of the new record; `local`: this process's part [y, x], empty if it has none of the member."""
        for first, rows in gather_row_ranges(self.transport, local, member):
            if rows is not None:
                rows = np.array(rows, self.dtype)  # a copy, because the model may reuse the memory
                self.submit(RecordWriter.write_rows, name, first, rows)

    @abstractmethod
    def define_contents(self, dataset, config: Config) -> None:
        """Define everything except times, checksums and global attributes."""
