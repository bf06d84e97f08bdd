"""The fields and the land-sea mask of a run in any rows and columns, so that each rank builds only its block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ...ocean.coordinates import has_lon_lat
from ...ocean.table import location_of
from .domain import domain_mask
from .field_sources import STEP_ACROSS_FACE, FileSource, read_mask, source_of, varies_in_time
from .field_sources import uniform_value as uniform_value
from .netcdf_input import InputError
from .vectors import VECTOR_COMPONENTS as VECTOR_COMPONENTS
from .vectors import has_field_source as has_field_source
from .vectors import source_along_axes

if TYPE_CHECKING:
    from ...config.options.model import Config

#: Largest number of cells in a band of rows when fields are read on the whole grid.
MAX_CELLS_PER_BAND = 2**17

#: Changes of fields per metre of the final uplift: the water is lifted with the sea floor and keeps its thickness.
CHANGE_PER_UPLIFT = {"depth": -1.0, "eta": 1.0}


def row_bands(grid) -> Iterator[np.ndarray]:
    """The rows of the grid in bands of at most MAX_CELLS_PER_BAND cells, or of one row, which bounds the memory."""
    step = max(1, MAX_CELLS_PER_BAND // grid.nx)
    for first in range(0, grid.ny, step):
        yield np.arange(first, min(first + step, grid.ny))


def evaluate(config: Config, name: str, rows, columns) -> np.ndarray:
    """Values of a field in these rows and columns; float64, SI units.

    Missing values on land become `physics.depth` in the depth and zero in other fields; without drying, depths on land
    that are not positive also become `physics.depth`. On water such values stay, and the check of the configuration
    reports them. Without a mask, cells without a value in a file or table of depths are land. On grids with longitudes
    and latitudes, boundary data that a file lacks along an open boundary are replaced by the nearest values in it, if
    these are near. A field that varies in time is zero here, because its values come from records (`varying`).

    Args:
        name: name in `ocean.table.INPUT_FIELDS`, of a tracer, or of a coefficient.
        rows, columns: sequences of integers; numbers beyond the grid wrap around to its other side.

    Raises:
        InputError: a file does not hold the field on this grid, a mask is neither 0 nor 1, or the sea floor is lifted
            in a run with reduced gravity.
    """
    rows, columns = np.asarray(rows), np.asarray(columns)
    if varies_in_time(config, name):
        return np.zeros((1, 1))
    source = source_of(config, name)
    if name == "mask":
        return read_mask(config, rows, columns)
    values = evaluate_record(config, name, rows, columns, 0, source)
    if name in CHANGE_PER_UPLIFT and has_field_source(config, "uplift"):
        if config.physics.reduced_gravity:
            raise InputError(
                "uplift: has no meaning with physics.reduced_gravity, because the layer is not on the sea floor"
            )
        return values + CHANGE_PER_UPLIFT[name] * final_uplift(config, rows, columns)
    return values


def final_uplift(config: Config, rows, columns) -> np.ndarray:
    """The uplift of the sea floor, m; that of the last record if it moves in time. Zero where missing on land."""
    source = source_of(config, "uplift")
    return evaluate_record(config, "uplift", rows, columns, source.last_record, source)


def evaluate_record(config: Config, name: str, rows, columns, record: float, source) -> np.ndarray:
    """As `evaluate`, for one record of a field from its `source`, and without uplift; NaN where missing on water.

    Boundary data with records in time are not replaced by the nearest values.
    """
    values = evaluate_unfilled(config, name, rows, columns, record, source)
    if (missing := missing_in_file(config, name, source, values, rows, columns)) is not None:
        values = evaluate_unfilled(config, name, rows, columns, record, source, missing)
    return fill_land(config, name, values, rows, columns)


def evaluate_unfilled(
    config: Config, name: str, rows, columns, record: float = 0, source=None, fill=None
) -> np.ndarray:
    """As `evaluate_record`, but missing values are NaN everywhere except where `fill` is true (`FieldSource.read`)."""
    grid, (rows, columns) = config.grid, (np.asarray(each) for each in (rows, columns))
    return source_along_axes(config, name, source).read(rows % grid.ny, columns % grid.nx, record, fill=fill)


def fill_land(config: Config, name: str, values: np.ndarray, rows, columns) -> np.ndarray:
    """The values with numbers in place of NaN where the model does not need them: on land and on closed faces.

    Boundary data are needed only along open boundaries. Without drying, depths that are not positive count as NaN.
    """
    missing = ~(values > 0) if name == "depth" and not config.drying.active else np.isnan(values)
    if not missing.any():
        return values
    if name.startswith("boundary_"):
        is_needed = open_boundary_mask(config, location_of(name), rows, columns)
    elif name in STEP_ACROSS_FACE:
        north, east = STEP_ACROSS_FACE[name]
        is_needed = wet_mask(config, rows, columns) * wet_mask(config, rows + north, columns + east)
    else:
        is_needed = evaluate(config, "mask", rows, columns)
    return np.where(missing & (is_needed == 0), config.physics.depth if name == "depth" else 0.0, values)


def initial_thickness(config: Config, depth, eta):
    """h = depth + eta, m; with drying not below zero."""
    return np.maximum(depth + eta, 0.0) if config.drying.active else depth + eta


def missing_in_file(config: Config, name: str, source, values, rows, columns) -> np.ndarray | None:
    """Where a file lacks boundary data along open boundaries, [rows, columns].

    None: nowhere, or the grid has no longitudes and latitudes.
    """
    from_file = isinstance(source, FileSource) and not source.varies_in_time
    if not name.startswith("boundary_") or not from_file or not has_lon_lat(config.grid) or np.isfinite(values).all():
        return None
    missing = np.isnan(values) & (open_boundary_mask(config, location_of(name), rows, columns) > 0)
    return missing if missing.any() else None


def replacement_distances(config: Config, name: str, rows, columns) -> tuple[np.ndarray, float]:
    """Distances to the values that replace missing boundary data, and their limit, degrees of arc."""
    source = source_of(config, name)
    values = evaluate_unfilled(config, name, rows, columns, source=source)
    missing = missing_in_file(config, name, source, values, rows, columns)
    if missing is None or not isinstance(source, FileSource):
        return np.zeros(0), 0.0
    with source.open_variable() as variable:
        return variable.distances(rows, columns, missing)


def open_boundary_mask(config: Config, location: str, rows, columns) -> np.ndarray:
    """1 on the faces of open boundaries, or at centres next to them, else 0; float64 [rows, columns].

    These faces lie between an outermost wet cell and the next wet one, except at corners of two open boundaries.
    """
    grid, mask = config.grid, np.zeros((len(rows), len(columns)))
    for side in config.open_boundaries.sides:
        in_rows = side in ("south", "north")
        if location not in ("centre", "v" if in_rows else "u"):
            continue
        indices, n_cells = (rows, grid.ny) if in_rows else (columns, grid.nx)
        pair = [0, 1] if side in ("west", "south") else [n_cells - 2, n_cells - 1]
        is_near = np.isin(indices, pair if location == "centre" else pair[:1])
        inner = np.array(pair[1:] if side in ("west", "south") else pair[:1])
        both = evaluate(config, "mask", pair, columns) if in_rows else evaluate(config, "mask", rows, pair)
        both = both.min(axis=0 if in_rows else 1, keepdims=True)
        both = both * (domain_mask(config, inner, columns, 1) if in_rows else domain_mask(config, rows, inner, 1))
        mask = np.maximum(mask, both * (is_near[:, None] if in_rows else is_near[None, :]))
    return mask * domain_mask(config, rows, columns, 0)


def wet_mask(config: Config, rows, columns) -> np.ndarray:
    """1 on water, but 0 on land, in the outermost cells at open boundaries and beyond walls.

    The mask broadcasts to [rows, columns].
    """
    return water_mask(config, rows, columns, 1)


def water_mask(config: Config, rows, columns, margin: int = 0) -> np.ndarray:
    """As `wet_mask`, but 0 in the `margin` outermost rows or columns along open boundaries instead of one."""
    rows, columns = np.asarray(rows), np.asarray(columns)
    return domain_mask(config, rows, columns, margin) * (evaluate(config, "mask", rows, columns) != 0)


def boundary_water_masks(config: Config, rows, columns) -> tuple[np.ndarray, np.ndarray]:
    """1 in the outermost wet cells at open boundaries in the west and east, and the same in the south and north.

    The masks are [rows, columns], or zero with the shape [1, 1] if both boundaries are closed.
    """
    grid, sides, masks = config.grid, config.open_boundaries.sides, []
    rows, columns = np.asarray(rows)[:, None], np.asarray(columns)[None, :]
    for indices, n_cells, low, high in ((columns, grid.nx, "west", "east"), (rows, grid.ny, "south", "north")):
        if not {low, high} & set(sides):
            masks.append(np.zeros((1, 1)))
            continue
        outermost = (indices == 0) & (low in sides) | (indices == n_cells - 1) & (high in sides)
        outermost_water = outermost * water_mask(config, rows[:, 0], columns[0])
        masks.append(np.broadcast_to(outermost_water, (rows.size, columns.size)))
    west_east, south_north = masks
    return west_east, south_north
