"""Write a file of constant maps, such as derivatives, with the conventions of output.nc (CF-1.12 and SGRID-0.3)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...ocean.variable import Variable
from ..background import BackgroundFile
from ..gather import gather_row_ranges
from .metadata import define_field, define_grid, define_provenance
from .static import define_static, land_masks, mark_missing, write_static

if TYPE_CHECKING:
    from ...config.options.model import Config
    from ...parallel.transport.transport import Transport


class ExtremeValue(NamedTuple):
    """The value of largest magnitude in a map, and its row and column."""

    value: float
    row: int
    column: int


def write_maps(
    path,
    config: Config,
    transport: Transport,
    maps,
    define: Callable,
    command_line="",
    maps_on_boundary: Collection[str] = (),
    leading_dimension: str = "",
) -> dict[str, ExtremeValue]:
    """Write a file of maps atomically; all processes must call this together.

    The data do not depend on the number of processes. Maps are missing on land. FilesError: the file could not be
    written.

    Args:
        maps: pairs of a Variable and its values on this process's block, [y, x] or [leading dimension, y, x].
        define: function of the netCDF4.Dataset that defines other contents.
        maps_on_boundary: names of maps that also have values in the cells outside open boundaries.
        leading_dimension: the name of a dimension, which `define` must define.

    Returns:
        On rank 0, {name of a map: its ExtremeValue}; on other ranks {}.
    """
    largest: dict[str, ExtremeValue] = {}
    maps = [(model_variable, np.asarray(local)) for model_variable, local in maps]

    def define_all(dataset):
        define_provenance(dataset, config, transport, command_line)
        define_grid(dataset, config.grid)
        define_static(dataset, config)
        define(dataset)
        for model_variable, local in maps:
            define_field(dataset, model_variable, config, (leading_dimension,) if local.ndim == 3 else ())

    def write_rows(writer, model_variable: Variable, leading_indices: tuple[int, ...], first: int, rows: np.ndarray):
        rows_and_columns = np.arange(first, first + len(rows)), np.arange(config.grid.nx)
        is_land = land_masks(config, *rows_and_columns, with_boundary_cells=model_variable.name in maps_on_boundary)[
            model_variable.location
        ]
        writer.write_static_rows(model_variable.name, leading_indices, first, mark_missing(rows, is_land))
        magnitude = np.abs(rows) if is_land is None else np.where(is_land, -1.0, np.abs(rows))
        row, column = np.unravel_index(np.argmax(magnitude), magnitude.shape)
        largest_in_rows = ExtremeValue(float(rows[row, column]), first + int(row), int(column))
        if model_variable.name not in largest or abs(largest_in_rows.value) > abs(largest[model_variable.name].value):
            largest[model_variable.name] = largest_in_rows

    with BackgroundFile(path, transport, define_all, is_draft=True) as file:
        file.submit(write_static, config, 0, config.grid.ny)
        for model_variable, local in maps:
            for number, local_map in enumerate(local) if local.ndim == 3 else [(None, local)]:
                leading_indices = () if number is None else (number,)
                for first, rows in gather_row_ranges(transport, local_map):
                    file.submit(write_rows, model_variable, leading_indices, first, rows)
    return largest
