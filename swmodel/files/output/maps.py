"""A file of maps that do not change with time, such as derivatives: CF-1.12 and SGRID-0.3 like output.nc."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...errors import FilesError
from ...ocean.state import Variable
from .metadata import DIMENSIONS, attributes, define_grid, define_provenance
from .snapshots import CHUNK_BYTES, GATHER_BYTES, rows_in
from .static import FILL, define_static, land, on_water, static_rows


class Number(NamedTuple):
    """A number in the file: name, value, and the attributes of its variable."""

    name: str
    value: float
    attributes: dict[str, str]


class Largest(NamedTuple):
    """The value of a map that is largest in size, and its row and column."""

    value: float
    row: int
    column: int


def write_maps(path, config, transport, maps, numbers, told: dict, command_line: str = "") -> dict[str, Largest]:
    """Write a file of maps and numbers, in place whole or not at all; called by all processes together.

    The data are the same from any number of processes. Maps have no value on land.

    Args:
        maps: pairs of a Variable and the array of this process's block [ny, nx].
        numbers: Numbers.
        told: global attributes besides those of all files.

    Returns:
        {name of a map: its Largest} on rank 0.

    Raises:
        FilesError: it could not be written, on all processes.
    """
    writer = _Writer(Path(path), config) if transport.rank == 0 else None
    error = writer and writer.attempt(writer.define, transport, command_line, maps, numbers, told)
    shape, dtype = (config.grid.ny, config.grid.nx), np.dtype(config.run.dtype)
    height = rows_in(GATHER_BYTES, shape, dtype)
    for entry, local in maps:
        for first in range(0, shape[0], height):
            rows = transport.gather_rows(np.asarray(local), first, min(first + height, shape[0]))
            if writer and error is None:
                error = writer.attempt(writer.store, entry, first, rows)
    if writer and error is None:
        error = writer.attempt(writer.finish)
    error = transport.broadcast(error)
    if error is not None:
        raise error
    return writer.largest if writer else {}


class _Writer:
    """The file under its temporary name, on rank 0. Nothing raises but through `attempt`."""

    def __init__(self, path: Path, config):
        self.path, self.temporary = path, path.with_name(f"{path.name}.writing")
        self.config, self.file, self.largest = config, None, {}

    def attempt(self, action, *arguments) -> Exception | None:
        """Do it; the error, after which nothing is left of the file, if it cannot be done."""
        try:
            action(*arguments)
        except Exception as error:
            if self.file is not None and self.file.isopen():
                self.file.close()
            self.temporary.unlink(missing_ok=True)
            if not isinstance(error, (OSError, RuntimeError)):
                return error
            return FilesError(f"{self.path} cannot be written: {getattr(error, 'strerror', None) or error}")
        return None

    def define(self, transport, command_line, maps, numbers, told) -> None:
        """Make the file with all that is in it but the values of the maps."""
        import netCDF4

        config, dtype = self.config, np.dtype(self.config.run.dtype)
        shape = config.grid.ny, config.grid.nx
        packed = {"compression": "zlib", "complevel": 1, "shuffle": True}
        packed["chunksizes"] = (rows_in(CHUNK_BYTES, shape, dtype), shape[1])
        self.file = netCDF4.Dataset(self.temporary, "w", format="NETCDF4")
        define_provenance(self.file, config, transport, command_line)
        self.file.setncatts(told)
        define_grid(self.file, config.grid)
        define_static(self.file, config, packed)
        for name, values in static_rows(config, 0, shape[0]):
            self.file[name][:] = values
        for name, value, meaning in numbers:
            variable = self.file.createVariable(name, "f8", fill_value=False)
            variable.setncatts(meaning)
            variable[...] = value
        for entry, _ in maps:
            made = self.file.createVariable(entry.name, dtype, DIMENSIONS[entry.location], fill_value=FILL, **packed)
            made.setncatts(attributes(entry))

    def store(self, entry: Variable, first: int, rows: np.ndarray) -> None:
        """Write rows of a map from row `first` on, and keep its Largest."""
        numbers = np.arange(first, first + len(rows)), np.arange(self.config.grid.nx)
        dry = land(self.config, *numbers)[entry.location]
        self.file[entry.name][first : first + len(rows)] = on_water(rows, dry)
        size = np.abs(rows) if dry is None else np.where(dry, -1.0, np.abs(rows))
        row, column = np.unravel_index(np.argmax(size), size.shape)
        found = Largest(float(rows[row, column]), first + int(row), int(column))
        if entry.name not in self.largest or abs(found.value) > abs(self.largest[entry.name].value):
            self.largest[entry.name] = found

    def finish(self) -> None:
        """Close the file and put it into its place."""
        self.file.close()
        self.temporary.replace(self.path)
