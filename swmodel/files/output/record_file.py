"""The base of files of records: their definition and continuation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from ...errors import FilesError
from ..background import BackgroundFile
from ..gather import gathered, row_blocks
from ..records import Records
from . import continuation
from .metadata import define_checksums, define_provenance, define_time, times_of
from .static import static_differences, write_static


class RecordFile(BackgroundFile, ABC):
    """Base of the files with records in time. All processes call all methods together.

    `keep`: function of a step, whether its record of an existing file is kept; None: a new file.
    FilesError, on all processes: the file cannot be written, or belongs to another run.
    """

    #: Whether the file has fields, and also constant ones, whether it has intervals of means, and records in a chunk.
    on_grid, bounds, chunk = True, False, None

    def __init__(self, path, config, transport, command_line: str = "", keep: Callable | None = None):
        self.dtype, self.shape = np.dtype(config.run.dtype), (config.grid.ny, config.grid.nx)
        static = row_blocks(self.shape, self.dtype.itemsize) if self.on_grid else []

        def define(dataset):
            define_provenance(dataset, config, transport, command_line)
            define_time(dataset, times_of(config.time), self.bounds, self.chunk)
            self.define_contents(dataset, config)
            define_checksums(dataset)

        def resume(records):
            found = continuation.differences(records.file, config)
            if found := found or static_differences(records.file, config, static):
                raise FilesError(f"{path} cannot be continued: {'; '.join(found)}")
            continuation.resume(records, keep, config, command_line)

        super().__init__(path, transport, define, resume if keep else None)
        if keep is None:
            for first, last in static:
                self.put(write_static, config, first, last)
            self.put(Records.seal)

    def put_field(self, name: str, local: np.ndarray, member: int = 0) -> None:
        """Write a field of the new record from all parts [y, x]; empty on processes without a part of the member."""
        for first, rows in gathered(self.transport, local, member):
            if rows is not None:
                rows = np.array(rows, self.dtype)  # a copy: the model may use the memory again
                self.put(Records.put_rows, name, first, rows)

    @abstractmethod
    def define_contents(self, dataset, config) -> None:
        """Define everything except times, checksums and global attributes."""
