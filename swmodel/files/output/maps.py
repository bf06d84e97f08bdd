"""A file of constant maps, such as derivatives: CF-1.12 and SGRID-0.3 like output.nc."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

import numpy as np

from ...ocean.variable import Variable
from ..background import BackgroundFile
from ..gather import gathered
from .metadata import define_field, define_grid, define_provenance
from .static import define_static, land, on_water, write_static


class Largest(NamedTuple):
    """The value of a map with the largest size, and its row and column."""

    value: float
    row: int
    column: int


def write_maps(
    path, config, transport, maps, define: Callable, command_line="", outside: Collection[str] = (), axis: str = ""
) -> dict[str, Largest]:
    """Write a file of maps, whole or not at all; all processes call it together.

    The data do not depend on the number of processes. Maps have no value on land. FilesError: it could not be written.

    Args:
        maps: pairs of a Variable and the array of this process's block [ny, nx], or [length of `axis`, ny, nx].
        define: function of the netCDF4.Dataset that adds other contents.
        outside: names of maps that also have values on the water outside open sides.
        axis: the name of a dimension from `define`.

    Returns:
        {name of a map: its Largest} on rank 0.
    """
    largest: dict[str, Largest] = {}
    maps = [(entry, np.asarray(local)) for entry, local in maps]

    def define_all(dataset):
        define_provenance(dataset, config, transport, command_line)
        define_grid(dataset, config.grid)
        define_static(dataset, config)
        define(dataset)
        for entry, local in maps:
            define_field(dataset, entry, config, (axis,) if local.ndim == 3 else ())

    def store(records, entry: Variable, place: tuple[int, ...], first: int, rows: np.ndarray):
        """Write rows of a map at an index of its axis, and keep its Largest."""
        numbers = np.arange(first, first + len(rows)), np.arange(config.grid.nx)
        dry = land(config, *numbers, outside=entry.name in outside)[entry.location]
        records.put_static(entry.name, place, first, on_water(rows, dry))
        size = np.abs(rows) if dry is None else np.where(dry, -1.0, np.abs(rows))
        row, column = np.unravel_index(np.argmax(size), size.shape)
        found = Largest(float(rows[row, column]), first + int(row), int(column))
        if entry.name not in largest or abs(found.value) > abs(largest[entry.name].value):
            largest[entry.name] = found

    with BackgroundFile(path, transport, define_all, draft=True) as file:
        file.put(write_static, config, 0, config.grid.ny)
        for entry, local in maps:
            for number, one in enumerate(local) if local.ndim == 3 else [(None, local)]:
                place = () if number is None else (number,)
                for first, rows in gathered(transport, one):
                    file.put(store, entry, place, first, rows)
    return largest
