"""A file of maps that do not change with time, such as derivatives: CF-1.12 and SGRID-0.3 like output.nc."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...ocean.variable import Variable
from ...parallel.worker import NETCDF
from ..draft import Draft
from ..gather import gathered
from .metadata import define_field, define_grid, define_provenance
from .static import define_static, land, on_water, place_of, static_rows


class Largest(NamedTuple):
    """The value of a map that is largest in size, and its row and column."""

    value: float
    row: int
    column: int


def write_maps(
    path, config, transport, maps, define: Callable, command_line="", outside: Collection[str] = (), axis: str = ""
) -> dict[str, Largest]:
    """Write a file of maps, which appears whole or not at all; called by all processes together.

    Any number of processes writes the same data. Maps have no value on land. FilesError: it could not be written.

    Args:
        maps: pairs of a Variable and the array of this process's block [ny, nx], or [length of `axis`, ny, nx].
        define: function of the netCDF4.Dataset that adds all else that the file holds.
        outside: names of maps that have values on the water outside open sides, too.
        axis: the name of a dimension that `define` makes.

    Returns:
        {name of a map: its Largest} on rank 0.
    """
    writer = _Writer(config, outside)
    draft = Draft(path, transport, writer.close)
    with NETCDF:
        draft.do(writer.open, draft.temporary, transport, command_line)
        draft.do(define, writer.file)
        for entry, local in maps:
            local = np.asarray(local)
            draft.do(define_field, writer.file, entry, config, (axis,) if local.ndim == 3 else ())
            for number, one in enumerate(local) if local.ndim == 3 else [((), local)]:
                draft.fill(partial(writer.store, entry, number), gathered(transport, one))
        draft.do(writer.close)
        draft.finish()
    return writer.largest


class _Writer:
    """The file on rank 0."""

    def __init__(self, config, outside: Collection[str]):
        self.config, self.outside, self.file, self.largest = config, outside, None, {}

    def open(self, path: Path, transport, command_line: str) -> None:
        """Make the file with the fields of the run that do not change."""
        import netCDF4

        self.file = netCDF4.Dataset(path, "w", format="NETCDF4")
        define_provenance(self.file, self.config, transport, command_line)
        define_grid(self.file, self.config.grid)
        define_static(self.file, self.config)
        for name, values in static_rows(self.config, 0, self.config.grid.ny):
            array, at = place_of(self.config, name)
            self.file[array][at or ...] = values

    def store(self, entry: Variable, at, first: int, rows: np.ndarray) -> None:
        """Write rows of a map, or of the one `at` a place of its axis, from row `first` on, and keep its Largest."""
        numbers = np.arange(first, first + len(rows)), np.arange(self.config.grid.nx)
        dry = land(self.config, *numbers, outside=entry.name in self.outside)[entry.location]
        along = (at,) if at != () else ()
        self.file[entry.name][(*along, slice(first, first + len(rows)))] = on_water(rows, dry)
        size = np.abs(rows) if dry is None else np.where(dry, -1.0, np.abs(rows))
        row, column = np.unravel_index(np.argmax(size), size.shape)
        found = Largest(float(rows[row, column]), first + int(row), int(column))
        if entry.name not in self.largest or abs(found.value) > abs(self.largest[entry.name].value):
            self.largest[entry.name] = found

    def close(self) -> None:
        """Close the file."""
        if self.file is not None and self.file.isopen():
            self.file.close()
