"""The fields and the land mask of a run in any rows and columns of the grid, so that a rank builds only its block."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...ocean.coordinates import on_sphere
from ...ocean.table import location_of
from ...ocean.terms.outside import file_of as file_of
from ...ocean.terms.outside import has_source as has_source
from ...ocean.terms.outside import in_case as in_case
from .kinds import Constant, File, field_of, varies
from .kinds import Stored as Stored
from .kinds import constant as constant
from .netcdf_input import InputError
from .stored import stored_field as stored_field
from .vectors import VECTORS as VECTORS
from .vectors import along_axes
from .vectors import given as given

#: Most cells in a band of rows, where the whole grid is checked.
CELLS = 2**17

#: What an uplift of a metre at the start adds: water is lifted with the floor, and keeps its thickness.
BY_UPLIFT = {"depth": -1.0, "eta": 1.0}

#: Step (rows, columns) to the cell across the face, of fields on faces.
ACROSS = {"u": (0, 1), "v": (1, 0)}


def bands(grid) -> Iterator[np.ndarray]:
    """The rows of the grid in bands of at most CELLS cells, which bounds the memory."""
    step = max(1, CELLS // grid.nx)
    for first in range(0, grid.ny, step):
        yield np.arange(first, min(first + step, grid.ny))


def evaluate(config, name: str, rows, columns) -> np.ndarray:
    """Values of a field in the given row and column numbers, wrapped round the rings; float64, SI units.

    On land, missing values and heights of land become `physics.depth` in the depth, zero in other fields. On water
    they stay, and the check of the configuration reports them. Without a mask, cells without a value in the file of
    depths are land. Beside open sides a missing value of a file on a sphere is the nearest one in it. A field that
    varies in time is zero here: its values come from records (`varying`).

    Args:
        name: one of `ocean.table.GIVEN`.
        rows, columns: integer sequences; numbers beyond the grid continue on its other side.
    """
    rows, columns = np.asarray(rows), np.asarray(columns)
    if varies(config, name):
        return np.zeros((1, 1))
    field = field_of(config, name)
    if name == "mask":
        return mask(config, field, rows, columns)
    values = filled(config, name, rows, columns, 0, field)
    if name in BY_UPLIFT and given(config, "uplift"):
        if config.physics.reduced_gravity:
            raise InputError(
                "uplift: has no meaning with physics.reduced_gravity, whose layer does not touch the floor"
            )
        return values + BY_UPLIFT[name] * evaluate(config, "uplift", rows, columns)
    return values


def filled(config, name: str, rows, columns, record: int, field) -> np.ndarray:
    """See `evaluate`, for a record of a field with a known source; NaN where values are missing on water."""
    values = unfilled(config, name, rows, columns, record, field)
    if (lacking := lacking_in_file(config, name, field, values, rows, columns)) is not None:
        values = unfilled(config, name, rows, columns, record, field, lacking)
    return fill_land(config, name, values, rows, columns)


def unfilled(config, name: str, rows, columns, record: int = 0, field=None, fill=None) -> np.ndarray:
    """Values of a field along the axes of the grid, wrapped round the rings; NaN where missing.

    `record`, `fill`: see `kinds.FieldSource`. `field`: its source, where that is known.
    """
    grid, (rows, columns) = config.grid, (np.asarray(each) for each in (rows, columns))
    return along_axes(config, name, field).read(rows % grid.ny, columns % grid.nx, record, fill=fill)


def mask(config, field, rows, columns) -> np.ndarray:
    """1 on water, 0 on land, from a mask, or from a table of depths, where missing values are land."""
    if isinstance(field, Constant) and field_of(config, "depth").tabulated:
        return np.isfinite(unfilled(config, "depth", rows, columns)).astype(np.float64)
    values = unfilled(config, "mask", rows, columns, field=field)
    values = np.where(np.isnan(values), 0.0, values) if field.tabulated else values
    wrong = np.broadcast_to((values != 0) & (values != 1), (len(rows), len(columns)))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        value = np.broadcast_to(values, wrong.shape)[row, column]
        raise InputError(
            f"{field.what}: must be 0 (land) or 1 (water), but is {value:g} at row {rows[row] % config.grid.ny}, "
            f"column {columns[column] % config.grid.nx}; round fractions of water to 0 or 1"
        )
    return values


def fill_land(config, name: str, values: np.ndarray, rows, columns) -> np.ndarray:
    """The values, where numbers replace NaN and depths that are not positive on land and its closed faces."""
    missing = ~(values > 0) if name == "depth" and not config.drying.active else np.isnan(values)
    if not missing.any():
        return values
    if name.startswith("outside_"):
        needed = around_open_faces(config, location_of(name), rows, columns)
    elif name in ACROSS:
        north, east = ACROSS[name]
        needed = wet(config, rows, columns) * wet(config, rows + north, columns + east)
    else:
        needed = evaluate(config, "mask", rows, columns)
    return np.where(missing & (needed == 0), config.physics.depth if name == "depth" else 0.0, values)


def thickness(config, depth, eta):
    """h = depth + eta, m; with drying not below zero."""
    return np.maximum(depth + eta, 0.0) if config.drying.active else depth + eta


def lacking_in_file(config, name: str, field, values, rows, columns) -> np.ndarray | None:
    """Points [rows, columns] of the water outside where a file on a sphere lacks a value; None: nowhere."""
    from_file = isinstance(field, File) and not field.in_time
    if not name.startswith("outside_") or not from_file or not on_sphere(config.grid) or np.isfinite(values).all():
        return None
    lacking = np.isnan(values) & (around_open_faces(config, location_of(name), rows, columns) > 0)
    return lacking if lacking.any() else None


def how_far(config, name: str, rows, columns) -> tuple[np.ndarray, float]:
    """Distances of the values that replace missing ones of the outside, and their limit, degrees of arc."""
    field = field_of(config, name)
    values = unfilled(config, name, rows, columns, field=field)
    if (lacking := lacking_in_file(config, name, field, values, rows, columns)) is None:
        return np.zeros(0), 0.0
    with field.opened() as variable:
        return variable.distances(rows, columns, lacking)


def around_open_faces(config, location: str, rows, columns) -> np.ndarray:
    """1 on the faces of open sides, or at centres beside them, else 0; float64 [rows, columns].

    These faces lie between an outermost wet cell and the next wet one, except at corners of two open sides.
    """
    grid, found = config.grid, np.zeros((len(rows), len(columns)))
    for side in config.open_sides.sides:
        in_rows = side in ("south", "north")
        if location not in ("centre", "v" if in_rows else "u"):
            continue
        numbers, cells = (rows, grid.ny) if in_rows else (columns, grid.nx)
        pair = [0, 1] if side in ("west", "south") else [cells - 2, cells - 1]
        near = np.isin(numbers, pair if location == "centre" else pair[:1])
        inner = np.array(pair[1:] if side in ("west", "south") else pair[:1])
        both = evaluate(config, "mask", pair, columns) if in_rows else evaluate(config, "mask", rows, pair)
        both = both.min(axis=0 if in_rows else 1, keepdims=True)
        both = both * (within(config, inner, columns, 1) if in_rows else within(config, rows, inner, 1))
        found = np.maximum(found, both * (near[:, None] if in_rows else near[None, :]))
    return found * within(config, rows, columns, 0)


def wet(config, rows, columns) -> np.ndarray:
    """1 on water, 0 on land, on water outside and beyond walls, [rows, columns] or broadcast to it; float64."""
    return water(config, rows, columns, 1)


def water(config, rows, columns, margin: int = 0) -> np.ndarray:
    """As `wet`, but 1 on water outside, too, except in `margin` rows along open sides."""
    rows, columns = np.asarray(rows), np.asarray(columns)
    return within(config, rows, columns, margin) * (evaluate(config, "mask", rows, columns) != 0)


def within(config, rows, columns, margin: int) -> np.ndarray:
    """1 within the domain, without the `margin` outermost rows or columns along open sides; [rows, columns] or less."""
    grid, found = config.grid, []
    for numbers, cells, ring, (low, high) in (
        (rows, grid.ny, grid.periodic_y, ("south", "north")),
        (columns, grid.nx, grid.periodic_x, ("west", "east")),
    ):
        first, last = (margin * (side in config.open_sides.sides) for side in (low, high))
        inside = (numbers >= first) & (numbers < cells - last)
        found.append(np.ones(1) if ring else inside.astype(float))
    return found[0][:, None] * found[1][None, :]


def outside(config, rows, columns) -> tuple[np.ndarray, np.ndarray]:
    """1 on water outside in the west and east, and in the south and north; [rows, columns], or [1, 1] if none."""
    grid, sides, found = config.grid, config.open_sides.sides, []
    rows, columns = np.asarray(rows)[:, None], np.asarray(columns)[None, :]
    for numbers, cells, low, high in ((columns, grid.nx, "west", "east"), (rows, grid.ny, "south", "north")):
        if not {low, high} & set(sides):
            found.append(np.zeros((1, 1)))
            continue
        outermost = (numbers == 0) & (low in sides) | (numbers == cells - 1) & (high in sides)
        there = outermost * water(config, rows[:, 0], columns[0])
        found.append(np.broadcast_to(there, (rows.size, columns.size)))
    return tuple(found)
