"""Snapshots and means of fields over time."""

from __future__ import annotations

import numpy as np

from ...ocean.table import MAXIMUM, MEAN, entry_of, maxima_of
from ...ocean.variable import Variable
from .metadata import define_field, define_grid
from .record_file import RecordFile
from .static import define_static, land, on_water

#: The sea levels, and their attributes where ground may be dry.
DRY_AT = ("eta", "sea_level")
DRY = {"ancillary_variables": "wet", "comment": "where wet is 0, the height of the dry ground"}


class Snapshots:
    """The records of a run: CF-1.12 and SGRID-0.3; the data do not depend on the number of processes.

    `output.fields`, `means`, `maxima` and `arrival` of the configuration choose the contents. A subclass also derives
    from what stores them: a `RecordFile`, or a `store.record_store.RecordStore`.
    """

    def __init__(self, path, config, transport, command_line: str = "", keep=None):
        self.rows, self.bounds = rows_of(config), bool(config.output.means)
        block = transport.block
        rows, columns = np.arange(block.y.start, block.y.stop), np.arange(block.x.start, block.x.stop)
        self._land = land(config, rows, columns)
        super().__init__(path, config, transport, command_line, keep)

    def write(self, step: int, seconds: float, fields: dict, **member: int) -> None:
        """Append a record of the fields [y, x] of `rows_of` on this rank's block, by name.

        NaN is missing in times and largest values. Means are missing before the first step. `member=` is that of an
        ensemble, for an `Output`; fields are empty on processes without a part of it.
        """
        named = {name: (row, fields[name]) for name, (row, _) in self.rows.items() if name in fields}
        nbytes = len(named) * self.shape[0] * self.shape[1] * self.dtype.itemsize
        self.begin(nbytes + nbytes // 100)
        for name, (row, local) in named.items():
            local = np.asarray(local, self.dtype)
            local = on_water(local, np.isnan(local) if row.units == "s" or name.endswith(MAXIMUM) else None)
            local = on_water(local, self._land[row.location] if np.size(local) else None)
            self.put_field(name, local, **member)
        self.complete(step, seconds)

    def define_contents(self, dataset, config) -> None:
        define_grid(dataset, config.grid)
        define_static(dataset, config)
        for name, (row, method) in self.rows.items():
            about = DRY if "wet" in self.rows and name in DRY_AT else {}
            define_field(dataset, row, config, ("time",), name, cell_methods=method, **about)


class Output(Snapshots, RecordFile):
    """output.nc of a run, which rank 0 writes; see `RecordFile`."""


def rows_of(config) -> dict[str, tuple[Variable, str]]:
    """The fields of each record by name: row and cell methods (CF)."""
    rows = {name: entry_of(name, config.physics) for name in (*config.output.fields, *config.output.means)}
    found = {name: (rows[name], "time: point") for name in config.output.fields}
    found |= {name + MEAN: (rows[name], "time: mean") for name in config.output.means}
    of_run = {True: "time: maximum (since the start of the run)", False: ""}
    return found | {name: (row, of_run[name.endswith(MAXIMUM)]) for name, row in maxima_of(config.output).items()}
