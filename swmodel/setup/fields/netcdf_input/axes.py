"""The axes of a variable on the grid, from its coordinates: y, x and their directions."""

from __future__ import annotations

import logging
from typing import NamedTuple

import numpy as np

from ....ocean import projection
from ....ocean.coordinates import LOCATION_OFFSETS, Axis, axes, has_lon_lat, is_spherical
from ....ocean.elements import index_of
from .dataset import AXIS_OF_NAME, CFDataset, is_in_degrees, read_values
from .errors import InputError, log_once
from .regridding import Regridder, make_regridder
from .units import DIMENSIONLESS, conversion_factor

#: Largest distance between a coordinate and its grid point, once the first points coincide, cells. If the first points
#: are further apart, a warning says so.
MAX_OFFSET_CELLS = 0.1

#: Largest difference between longitudes or latitudes that count as equal, degrees.
EQUAL_DEGREES = 1e-5

#: Endings of the names of coordinates at each location of a C-grid.
LOCATION_ENDINGS = {
    "centre": ("_z", "_t", "_c", "_r", "_rho"),
    "u": ("_u",),
    "v": ("_v",),
    "corner": ("_q", "_f", "_psi"),
}

#: Words for a reversed axis, its lines of cells, and the sides at its ends.
DIRECTION_WORDS = {"y": ("downward", "rows", "south", "north"), "x": ("leftward", "columns", "west", "east")}


class VariableAxes(NamedTuple):
    """The axes of a variable on the grid.

    Attributes:
        y, x: names of its dimensions.
        is_transposed: whether the dimension of x comes first.
        is_reversed: whether y runs from north to south, and x from east to west.
        regridder: the positions of the grid's points among those of the file, if longitudes and latitudes, or x and y
            in a projection, locate the field; else None.
    """

    y: str
    x: str
    is_transposed: bool
    is_reversed: tuple[bool, bool] = (False, False)
    regridder: Regridder | None = None


def axes_of_variable(dataset: CFDataset, variable, model_variable, grid, context: str) -> VariableAxes:
    """The VariableAxes of a variable in a file for a field of the model, cached; assumptions are logged.

    InputError: the variable does not fit the grid.
    """
    if (key := (variable.name, model_variable, grid)) not in dataset.axes_cache:
        dataset.axes_cache[key] = find_axes(dataset, variable, model_variable, grid, context)
    return dataset.axes_cache[key]


def find_axes(dataset: CFDataset, variable, model_variable, grid, context: str) -> VariableAxes:
    if variable.ndim < 2:
        raise InputError(f"{context} has shape {variable.shape}, but the grid needs {grid.ny, grid.nx} (ny, nx)")
    y, x = find_dimensions(dataset, variable, context)
    is_transposed = variable.dims.index(y) > variable.dims.index(x)
    several = [name for name, size in variable.sizes.items() if name not in (y, x) and size > 1]
    if len(several) > 1:
        raise InputError(
            f"{context} has several records along {' and '.join(several)}, but an entry of [input] "
            "can choose along one axis only; reduce the file to one record along the others"
        )
    coordinates = {
        name: select_coordinates(
            dataset.coordinates_along(name) or dataset.two_dimensional_coordinates(variable, (y, x), axis),
            variable,
            model_variable,
            context,
        )
        for axis, name in (("y", y), ("x", x))
    }
    if has_lon_lat(grid) and all(coordinates.values()):
        pair, crs = locating_coordinates(dataset, coordinates[y], coordinates[x], variable, grid, context)
    else:
        pair, crs = (), ""
    if pair:
        along_y, along_x = pair
        regridder = make_regridder(dataset, along_y, along_x, variable, grid, model_variable, context, crs)
        if words := regridder.describe():
            tide = f"the tide in {dataset.context} is interpolated"
            log_once(tide if index_of(model_variable.name) else f"{context}: {'; '.join(words)}", logging.INFO)
        return VariableAxes(y, x, is_transposed, regridder=regridder)
    shape, grid_shape = (variable.sizes[y], variable.sizes[x]), (grid.ny, grid.nx)
    if shape != grid_shape:
        swapped = "; its axes are swapped" if shape == grid_shape[::-1] else ""
        raise InputError(f"{context} has shape {variable.shape}, but the grid needs {grid_shape} (ny, nx){swapped}")
    is_reversed, words, without_coordinates = [], [], []
    for axis, name, grid_axis, offset in zip(
        "yx", (y, x), reversed(axes(grid)), LOCATION_OFFSETS[model_variable.location], strict=True
    ):
        if not coordinates[name]:
            without_coordinates.append(name)
            is_reversed.append(False)
        elif is_spherical(grid) or (grid.crs and is_position(dataset, coordinates[name][0], name)):
            where = "on a sphere" if is_spherical(grid) else f"in {grid.crs}"
            raise InputError(f"{context}: {coordinates[name][0].name} alone does not locate the field {where}")
        else:
            is_axis_reversed, notes = direction_and_notes(
                dataset, coordinates[name], name, axis, grid_axis, offset, context
            )
            is_reversed.append(is_axis_reversed)
            words += notes
    if is_transposed:
        words.append(f"the model exchanges its axes ({', '.join(variable.dims)})")
    if words:
        log_once(f"{context}: {'; '.join(words)}")
    if without_coordinates:
        names = ", ".join(without_coordinates)
        assumption = "its first row is taken as the southernmost, its first column as the westernmost"
        log_once(f"{dataset.context} has no coordinates along {names}: {assumption}")
    is_y_reversed, is_x_reversed = is_reversed
    return VariableAxes(y, x, is_transposed, (is_y_reversed, is_x_reversed))


def locating_coordinates(dataset: CFDataset, along_y: list, along_x: list, variable, grid, context: str):
    """The coordinates of y and x that locate a field on the Earth, and their projection ("": they are in degrees).

    The coordinates are () if those of the file only number cells. A file in m that names no projection is taken to have
    that of the grid.
    """
    in_degrees, in_metres = (along_y[-1], along_x[-1]), (along_y[0], along_x[0])
    has_degrees = all(map(is_in_degrees, in_degrees))
    may_be_metres = all(is_position(dataset, one, *one.dims) for one in in_metres if one.ndim == 1)
    if (is_spherical(grid) and has_degrees) or not (may_be_metres and not any(map(is_in_degrees, in_metres))):
        return (in_degrees if is_spherical(grid) or has_degrees else ()), ""
    file_crs = dataset.projection_of(variable)
    if not file_crs and not grid.crs:
        return in_degrees, ""
    if not file_crs:
        log_once(f"{context} names no coordinate reference system: its x and y are taken as those of {grid.crs}")
    is_that_of_grid = grid.crs and (not file_crs or projection.are_equal(file_crs, grid.crs))
    return in_metres, grid.crs if is_that_of_grid else file_crs


def is_position(dataset: CFDataset, coordinate, dimension: str) -> bool:
    """Whether a coordinate is a longitude, latitude or length, not cell numbers that start between -1 and 1."""
    if is_in_degrees(coordinate):
        return True
    units = coordinate.attrs.get("units", "")
    if units not in DIMENSIONLESS:
        return conversion_factor(units, "m") is not None
    values = dataset.values_along(coordinate, dimension)
    return not (np.allclose(np.diff(values), 1.0) and abs(values[0]) <= 1)


def select_coordinates(coordinates: list, variable, model_variable, context: str) -> list:
    """The coordinates along a dimension that belong to a variable; tidal atlases have several, one for each location.

    Those in degrees are chosen by the variable's attribute `coordinates`, else by endings of names for the location of
    the field, else by the name of the dimension. InputError: several are left, and differ.
    """
    names_in_attribute = str(variable.attrs.get("coordinates", variable.encoding.get("coordinates", ""))).split()
    coordinates_in_degrees = [one for one in coordinates if is_in_degrees(one)]
    selected = [one for one in coordinates_in_degrees if one.name in names_in_attribute]
    selected = selected or [
        one
        for one in coordinates_in_degrees
        if str(one.name).lower().endswith(LOCATION_ENDINGS.get(model_variable.location, ()))
    ]
    selected = selected or [one for one in coordinates_in_degrees if (one.name,) == one.dims] or coordinates_in_degrees
    values = [read_values(one) for one in selected]
    for one, other in zip(selected, values, strict=True):
        if one.dims == selected[0].dims and not np.allclose(
            other, values[0], rtol=0, atol=EQUAL_DEGREES, equal_nan=True
        ):
            raise InputError(
                f"{context}: {selected[0].name} and {one.name} differ, and either may locate it; give "
                f'{variable.name} the attribute coordinates, for example "{selected[0].name} ...", or keep only one'
            )
    return [one for one in coordinates if not is_in_degrees(one) or any(one is each for each in selected)]


def find_dimensions(dataset: CFDataset, variable, context: str) -> tuple[str, str]:
    """The dimensions of y and x of a variable, found by coordinates or names, else the last two.

    InputError: the last two are known not to be y and x.
    """
    axis_of_dimension = {
        name: next(map(dataset.axis_of, dataset.coordinates_along(name)), AXIS_OF_NAME.get(name.lower(), ""))
        for name in variable.dims
    }
    known = [name for axis in "yx" for name, kind in axis_of_dimension.items() if kind == axis]
    if [axis_of_dimension[name] for name in known] == ["y", "x"]:
        return tuple(known)
    y, x = variable.dims[-2:]
    if axis_of_dimension[y] not in ("", "y") or axis_of_dimension[x] not in ("", "x"):
        raise InputError(f"{context} has the axes ({', '.join(variable.dims)}), the last two of which are not y and x")
    return y, x


def direction_and_notes(
    dataset: CFDataset, coordinates, dimension: str, axis: str, grid_axis: Axis, offset: float, context: str
):
    """Whether the coordinates of y or x run from north to south or from east to west, and words for a message.

    Args:
        coordinates: coordinates along a dimension, best first.
        offset: offset of the field's points from cell centres, cells.

    Raises:
        InputError: the first coordinate has missing values, other units, other steps than the grid or no single
            direction, is at another location than the field, or runs against the other coordinates.
    """
    first, values = coordinates[0], checked_values(dataset, coordinates, dimension, context)
    cell_size = grid_axis.spacing
    grid_positions = grid_axis.first + (np.arange(grid_axis.n_cells) + offset) * cell_size
    name, units, is_degrees = first.name, first.attrs.get("units", ""), is_in_degrees(first)

    def raise_mismatch(what: str):
        finite = drop_missing(values)
        ends = f" (it runs from {finite.min():g} to {finite.max():g} {units}".rstrip() + ")" if finite.size else ""
        raise InputError(
            f"{context}: {name} {what}{ends}; the grid has {axis} {format_range(grid_positions)} in steps of "
            f"{cell_size:g} m"
        )

    is_reversed = len(values) > 1 and bool(values[-1] < values[0])
    values = values[::-1] if is_reversed else values
    if not values.size or not np.isfinite(values).all():
        raise_mismatch("has missing values")
    steps = np.diff(values)
    if not (steps > 0).all():
        raise_mismatch("does not run in one direction")
    if not np.array_equal(shift := first.attrs.get("c_grid_axis_shift", offset), offset):
        raise_mismatch(f"lies {shift} cells off the centres, but this field needs {offset:g}")
    direction, cell_lines, *sides = DIRECTION_WORDS[axis]
    notes = [f"{name} runs {direction}, so the model reverses its {cell_lines}"] if is_reversed else []
    if is_degrees:
        return is_reversed, [*notes, f"{name} is in degrees, so its steps are not compared with {cell_size:g} m"]
    is_dimensionless, size_of_unit = units in DIMENSIONLESS, conversion_factor(units, "m")
    if size_of_unit is None and not is_dimensionless:
        raise_mismatch('needs "m", "km" or degrees')
    counts_cells = is_dimensionless and np.allclose(steps, 1.0)  # numbers of cells
    metres = values * (cell_size if counts_cells else size_of_unit or 1.0)
    rounding = 4 * np.finfo(np.float32).eps * np.abs(metres).max() if first.dtype.itemsize < 8 else 0.0
    if (
        np.abs(metres - metres[0] - (grid_positions - grid_positions[0])).max()
        > MAX_OFFSET_CELLS * cell_size + rounding
    ):
        raise_mismatch("has other steps")
    offset_in_cells = (metres[0] - grid_positions[0]) / cell_size
    if not counts_cells and abs(offset_in_cells) > MAX_OFFSET_CELLS:
        is_half_a_cell = abs(abs(offset_in_cells) - 0.5) < MAX_OFFSET_CELLS
        what = f"half a cell to the {sides[int(offset_in_cells > 0)]}" if is_half_a_cell else "origins may differ"
        notes.append(f"{name} runs {format_range(metres)}, the grid's points {format_range(grid_positions)}: {what}")
    return is_reversed, notes


def checked_values(dataset: CFDataset, coordinates, dimension: str, context: str) -> np.ndarray:
    """Values of the first coordinate along a dimension.

    InputError: the coordinates run in opposite directions, or the first changes more along its other dimension.
    """
    first = coordinates[0]
    if first.ndim > 1:
        values_of_dimensions = {name: drop_missing(dataset.values_along(first, name)) for name in first.dims}
        extents = {name: np.ptp(values) if values.size else 0.0 for name, values in values_of_dimensions.items()}
        if extents[dimension] < max(extents.values()):
            changes = " and ".join(f"by {extent:g} along {name}" for name, extent in extents.items())
            raise InputError(f"{context}: {first.name} changes {changes}: these are not the axes of y and x")
        # Degrees may be missing on land.
        return values_of_dimensions[dimension] if is_in_degrees(first) else dataset.values_along(first, dimension)
    values = [dataset.values_along(one, dimension) for one in coordinates]
    ends = np.array([(each[0], each[-1]) for each in values])
    if {1.0, -1.0} <= {*np.sign(ends[:, 1] - ends[:, 0])}:
        names = " and ".join(one.name for one in coordinates)
        raise InputError(f"{context}: {names} run in opposite directions along {dimension}; keep only one in the file")
    return values[0]


def drop_missing(values: np.ndarray) -> np.ndarray:
    return values[np.isfinite(values)]


def format_range(values: np.ndarray) -> str:
    """The range of values in m, in words."""
    return f"from {values[0]:g} to {values[-1]:g} m"
