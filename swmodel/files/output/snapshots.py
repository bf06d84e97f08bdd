"""Records of fields: snapshots, means, and extremes since the start of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...ocean.table import MAXIMUM_SUFFIX, MEAN_SUFFIX, maxima_variables, variable_in_run
from ...ocean.variable import Variable
from .metadata import define_field, define_grid
from .record_file import RecordFile
from .static import define_static, land_masks, mark_missing

if TYPE_CHECKING:
    from ...config.options.model import Config
    from ...parallel.transport.transport import Transport

    class Storage:
        """The part of `RecordFile` and `store.record_store.RecordStore` that `Snapshots` uses."""

        shape: tuple[int, int]
        dtype: np.dtype

        def __init__(self, path, config: Config, transport: Transport, command_line: str = "", keep=None): ...
        def begin(self, nbytes: int = 0) -> None: ...
        def write_field(self, name: str, local: np.ndarray, member: int = 0) -> None: ...
        def complete(self, step: int, seconds: float) -> None: ...

else:
    Storage = object

#: The fields of sea level, and the attributes that they have in addition if ground can be dry.
LEVELS_ON_DRY_GROUND = ("eta", "sea_level")
DRY_GROUND_ATTRIBUTES = {"ancillary_variables": "wet", "comment": "where wet is 0, the height of the dry ground"}


class Snapshots(Storage):
    """The fields that a run records, described by CF-1.12 and SGRID-0.3; they do not depend on the number of processes.

    `output.fields`, `means`, `maxima`, `arrival` and `inundation` of the configuration choose the contents. A subclass
    also derives from the class that stores them: `RecordFile`, or `store.record_store.RecordStore`.
    """

    def __init__(self, path, config: Config, transport: Transport, command_line: str = "", keep=None):
        self.variables, self.has_time_bounds = record_variables(config), bool(config.output.means)
        block = transport.block
        rows, columns = np.arange(block.y.start, block.y.stop), np.arange(block.x.start, block.x.stop)
        self._land = land_masks(config, rows, columns)
        super().__init__(path, config, transport, command_line, keep)

    def write(self, step: int, seconds: float, fields: dict, **member: int) -> None:
        """Append a record of the fields [y, x] of `record_variables` on this rank's block, by name.

        NaN marks missing maxima and times. A field that `fields` lacks, such as a mean at step 0, is missing
        in the record. `member`: the member of an ensemble (`OutputFile` only); its fields are empty on processes
        without a part of it.
        """
        variables_and_fields = {
            name: (variable, fields[name]) for name, (variable, _) in self.variables.items() if name in fields
        }
        nbytes = len(variables_and_fields) * self.shape[0] * self.shape[1] * self.dtype.itemsize
        self.begin(nbytes + nbytes // 100)
        for name, (variable, local) in variables_and_fields.items():
            local = np.asarray(local, self.dtype)
            may_be_nan = variable.units == "s" or name.endswith(MAXIMUM_SUFFIX)
            local = mark_missing(local, np.isnan(local) if may_be_nan else None)
            local = mark_missing(local, self._land[variable.location] if np.size(local) else None)
            self.write_field(name, local, **member)
        self.complete(step, seconds)

    def define_contents(self, dataset, config: Config) -> None:
        define_grid(dataset, config.grid)
        define_static(dataset, config)
        for name, (variable, cell_methods) in self.variables.items():
            attrs = DRY_GROUND_ATTRIBUTES if "wet" in self.variables and name in LEVELS_ON_DRY_GROUND else {}
            define_field(dataset, variable, config, ("time",), name, cell_methods=cell_methods, **attrs)


class OutputFile(Snapshots, RecordFile):
    """output.nc of a run, which rank 0 writes; see `RecordFile`."""


def record_variables(config: Config) -> dict[str, tuple[Variable, str]]:
    """{name of a field in each record: its variable and CF cell methods}."""
    names = (*config.output.fields, *config.output.means)
    variable_by_name = {name: variable_in_run(name, config.physics) for name in names}
    variables = {name: (variable_by_name[name], "time: point") for name in config.output.fields}
    variables |= {name + MEAN_SUFFIX: (variable_by_name[name], "time: mean") for name in config.output.means}
    since_start = "time: maximum (since the start of the run)"
    return variables | {
        name: (variable, since_start if name.endswith(MAXIMUM_SUFFIX) else "")
        for name, variable in maxima_variables(config.output).items()
    }
