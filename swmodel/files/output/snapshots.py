"""Snapshots and means of fields over time, gathered by rows and written by rank 0 in the background."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ...ocean.state import VARIABLES, entry_of
from . import continuation
from .background import BackgroundFile
from .metadata import DIMENSIONS, attributes, define_checksums, define_grid, define_provenance, define_time
from .records import Records
from .static import FILL, define_static, land, on_water, static_differences, write_static

#: Uncompressed size aimed at for a chunk of a field, and for the rows gathered at a time.
CHUNK_BYTES = 1 << 20
GATHER_BYTES = 4 << 20


class Output:
    """output.nc of a run: CF-1.12 and SGRID-0.3; its data are the same from any number of processes.

    All methods are called by all ranks together, from their main threads.

    Args:
        path: of the file.
        config: resolved configuration; `output.fields` and `output.means` say what is written.
        transport: of the run.
        command_line: recorded in the file's history.
        keep: continue an existing file behind the records for whose number of steps this function is true; the others
            are dropped. None: a new file.

    Raises:
        FilesError: the file cannot be written, or is that of another run.
    """

    def __init__(self, path, config, transport, command_line: str = "", keep=None):
        self.names, self.means = config.output.fields, config.output.means
        self.transport, self.dtype = transport, np.dtype(config.run.dtype)
        self.shape = config.grid.ny, config.grid.nx
        block = transport.block
        rows, columns = np.arange(block.y.start, block.y.stop), np.arange(block.x.start, block.x.stop)
        self._land = land(config, rows, columns)
        self._chunk_rows = rows_in(CHUNK_BYTES, self.shape, self.dtype)
        gathered = max(1, GATHER_BYTES // CHUNK_BYTES) * self._chunk_rows
        self._row_blocks = [
            (first, min(first + gathered, self.shape[0])) for first in range(0, self.shape[0], gathered)
        ]
        define = partial(self._define, config, command_line)

        def resume(records):
            differences = continuation.differences(records.file, config, define)
            differences = differences or static_differences(records.file, config, self._row_blocks)
            continuation.require_same(path, differences)
            continuation.resume(records, keep, config, command_line)

        self._file = BackgroundFile(path, transport, define, resume if keep else None)
        if keep is None:
            for first, last in self._row_blocks:
                self._file.put(write_static, config, first, last)
            self._file.put(Records.seal)

    def write(self, step: int, seconds: float, fields: dict, means: dict | None = None) -> None:
        """Append a record.

        Args:
            step: number of time steps done.
            seconds: model time, s.
            fields: the configured fields on this rank's block, name -> NumPy array [y, x].
            means: the same for the configured means over the time since the previous record; None where there was none.

        Raises:
            FilesError: this record or one before could not be written, on all ranks.
        """
        named = {name: fields[name] for name in self.names}
        named |= {mean_name(name): means[name] for name in self.means} if means else {}
        nbytes = len(named) * self.shape[0] * self.shape[1] * self.dtype.itemsize
        self._file.begin(nbytes + nbytes // 100)
        for name, local in named.items():
            self._gather(name, np.asarray(local))
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

    def _gather(self, name: str, local: np.ndarray) -> None:
        location = VARIABLES[name.removesuffix(MEAN)].location
        local = on_water(local, self._land[location])
        for first, last in self._row_blocks:
            rows = self.transport.gather_rows(local, first, last)
            if rows is not None:
                rows = np.array(rows, self.dtype)  # a copy: the model may use the memory again
                self._file.put(Records.put_rows, name, first, rows, nbytes=rows.nbytes)

    def _define(self, config, command_line: str, dataset) -> None:
        define_provenance(dataset, config, self.transport, command_line)
        define_time(dataset, bounds=bool(self.means))
        define_grid(dataset, config.grid)
        chunk = self._chunk_rows, self.shape[1]
        packed = {"compression": "zlib", "complevel": 1, "shuffle": True}
        define_static(dataset, config, packed | {"chunksizes": chunk})
        methods = dict.fromkeys(self.names, "time: point") | {mean_name(name): "time: mean" for name in self.means}
        for name, method in methods.items():
            entry = entry_of(name.removesuffix(MEAN), config.physics)
            dimensions = ("time", *DIMENSIONS[entry.location])
            made = dataset.createVariable(
                name, self.dtype, dimensions, fill_value=FILL, chunksizes=(1, *chunk), **packed
            )
            made.setncatts(attributes(entry, cell_methods=method))
        define_checksums(dataset)


MEAN = "_mean"


def mean_name(name: str) -> str:
    """Name in the file of the mean over time of a field."""
    return name + MEAN


def rows_in(nbytes: int, shape: tuple[int, int], dtype: np.dtype) -> int:
    """Rows of a field in equal parts of about `nbytes`."""
    rows, columns = shape
    parts = math.ceil(rows * columns * dtype.itemsize / nbytes)
    return math.ceil(rows / min(parts, rows))
