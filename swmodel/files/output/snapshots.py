"""Snapshots and means of fields over time, gathered by rows and written by rank 0 in the background."""

from __future__ import annotations

import numpy as np

from ...ocean.table import MAXIMUM, entry_of, maxima_of, row_of
from ..gather import chunk_rows, gathered
from .metadata import DIMENSIONS, attributes, define_checksums, define_grid, define_provenance, define_time, times_of
from .record_file import RecordFile
from .records import Records
from .static import FILL, define_static, land, on_water


class Output(RecordFile):
    """output.nc of a run: CF-1.12 and SGRID-0.3; any number of processes writes the same data.

    `output.fields`, `means`, `maxima` and `arrival` of the configuration say what is written; see `RecordFile`.
    """

    def __init__(self, path, config, transport, command_line: str = "", keep=None):
        self.names, self.means = config.output.fields, config.output.means
        self.extremes = maxima_of(config.output)
        block = transport.block
        rows, columns = np.arange(block.y.start, block.y.stop), np.arange(block.x.start, block.x.stop)
        self._land = land(config, rows, columns)
        super().__init__(path, config, transport, command_line, keep)

    def write(self, step: int, seconds: float, fields: dict, means: dict | None = None, member: int = 0) -> None:
        """Append a record.

        Args:
            step: number of time steps done.
            seconds: model time, s.
            fields: the configured fields on this rank's block, name -> NumPy array [y, x]; with those of `extremes`.
            means: likewise the configured means since the previous record; None: there was no step.
            member: the member of an ensemble to which the fields belong; they are empty if this process has none of it.

        Raises:
            FilesError: this record or one before could not be written, on all ranks.
        """
        named = {name: fields[name] for name in (*self.names, *self.extremes)}
        named |= {mean_name(name): means[name] for name in self.means} if means else {}
        nbytes = len(named) * self.shape[0] * self.shape[1] * self.dtype.itemsize
        self._file.begin(nbytes + nbytes // 100)
        for name, local in named.items():
            row = self.extremes.get(name) or row_of(name.removesuffix(MEAN))
            local = np.asarray(local, self.dtype)
            local = on_water(local, np.isnan(local) if name in self.extremes else None)
            local = on_water(local, self._land[row.location] if np.size(local) else None)
            for first, rows in gathered(self.transport, local, member):
                if rows is not None:
                    rows = np.array(rows, self.dtype)  # a copy: the model may use the memory again
                    self._file.put(Records.put_rows, name, first, rows, nbytes=rows.nbytes)
        self._file.complete(step, seconds)
        self._file.agree()

    def define(self, dataset, config, transport, command_line: str) -> None:
        """See `RecordFile.define`."""
        define_provenance(dataset, config, transport, command_line)
        define_time(dataset, times_of(config.time), bounds=bool(self.means))
        define_grid(dataset, config.grid)
        chunk = chunk_rows(self.shape, self.dtype.itemsize), self.shape[1]
        packed = {"compression": "zlib", "complevel": 1, "shuffle": True}
        define_static(dataset, config, packed | {"chunksizes": chunk})
        methods = dict.fromkeys(self.names, "time: point") | {mean_name(name): "time: mean" for name in self.means}
        of_run = {True: "time: maximum (since the start of the run)", False: ""}
        methods |= {name: of_run[name.endswith(MAXIMUM)] for name in self.extremes}
        for name, method in methods.items():
            entry = self.extremes.get(name) or entry_of(name.removesuffix(MEAN), config.physics)
            dimensions = ("time", *DIMENSIONS[entry.location])
            made = dataset.createVariable(
                name, self.dtype, dimensions, fill_value=FILL, chunksizes=(1, *chunk), **packed
            )
            made.setncatts(attributes(entry, config.grid, cell_methods=method))
        define_checksums(dataset)


MEAN = "_mean"


def mean_name(name: str) -> str:
    """The name in the file of a field's mean over time."""
    return name + MEAN
