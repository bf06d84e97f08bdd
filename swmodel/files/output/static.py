"""The fields that do not vary in time: depth, mask, Coriolis parameter, coefficients of terms, and sizes of cells.

Where the axes of the grid are not east and north, they include longitudes and latitudes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ...ocean.coordinates import axis_angle_from, has_rotated_axes, is_spherical, metrics, points
from ...ocean.elements import array_of, index_of
from ...ocean.masks import fractions_around
from ...ocean.patch import Patch
from ...ocean.table import COEFFICIENTS, variable_in_run
from ...ocean.terms.boundary_data import PARTS, TIDE_ARRAYS
from ...ocean.variable import Variable
from ...setup import fields
from ...setup.setup import coriolis
from .metadata import FILL_VALUE, LOCATION_SUFFIXES, define_field, define_variable

if TYPE_CHECKING:
    from ...config.options.model import Config

CELL_AREA = Variable("cell_area", "centre", "m2", "cell_area", "area of the cells")

#: Grid spacings, m, which vary along at most one dimension: {name: (dimension, description)}.
SPACING = {
    "dx_c": ("x_c", "size of the cells in x"),
    "dx_f": ("x_f", "distance in x between the centres on both sides of the faces"),
    "dy_c": ("y_c", "size of the cells in y"),
    "dy_f": ("y_f", "distance in y between the centres on both sides of the faces"),
}

#: Entries that replace those of SPACING on a sphere, where lengths in x vary from row to row.
SPACING_ON_SPHERE = {
    "dx_c": ("y_c", "size of the cells in x, and distance in x between their centres"),
    "dx_f": ("y_f", "length of the cells' northern edges"),
}

#: The leading dimensions of the boundary tide: its constituents, and the PARTS of an oscillation.
TIDE_AXES = {"boundary_constituent": "constituent of the boundary tide", "boundary_part": "part of the oscillation"}

#: The name of the angle from eastward to the x axis.
ANGLE_NAME = "angle"

#: Longitudes and latitudes of the points, and the angle of the axes, for grids whose axes are not east and north.
GEOGRAPHIC_VARIABLES = {
    f"{prefix}{LOCATION_SUFFIXES[location]}": Variable(
        f"{prefix}{LOCATION_SUFFIXES[location]}", location, f"degrees_{direction}", word, f"{word} of the {points_name}"
    )
    for location, points_name in (("centre", "cells"), ("u", "east faces"), ("v", "north faces"), ("corner", "corners"))
    for prefix, word, direction in (("lon", "longitude", "east"), ("lat", "latitude", "north"))
} | {
    ANGLE_NAME: Variable(
        ANGLE_NAME, "centre", "degree", "angle_of_rotation_from_east_to_x", "angle from eastward to the x axis"
    )
}


def land_masks(config: Config, rows, columns, with_boundary_cells: bool = False) -> dict[str, np.ndarray | None]:
    """{location: mask [rows, columns], True where a point touches no water of the model; None if all touch some}.

    Cells outside open boundaries count as water only `with_boundary_cells`, for fields such as depth that have values
    there.
    """
    rows_and_columns = np.append(rows, rows[-1] + 1), np.append(columns, columns[-1] + 1)  # and the next row and column
    water_mask = fields.water_mask if with_boundary_cells else fields.wet_mask
    shape = len(rows), len(columns)
    adjacent_water = fractions_around(Patch(water_mask(config, *rows_and_columns), (0, 0)))
    masks = {location: patch.block_values(shape) == 0 for location, patch in adjacent_water.items()}
    return {location: is_land if is_land.any() else None for location, is_land in masks.items()}


def land_mask(config: Config, rows, columns) -> np.ndarray:
    """True where the field `mask` is land; the array broadcasts to [rows, columns]."""
    return fields.evaluate(config, "mask", rows, columns) == 0


def mark_missing(values: np.ndarray, is_missing: np.ndarray | None) -> np.ndarray:
    """The values, replaced by FILL_VALUE where `is_missing` is true; None: no value is missing."""
    return values if is_missing is None else np.where(is_missing, np.asarray(FILL_VALUE, values.dtype), values)


def define_static(dataset, config: Config) -> None:
    """Define the constant fields in a netCDF4.Dataset whose grid is defined, and write those with one dimension."""
    lengths = metrics(config.grid, range(config.grid.ny))
    for name, (dimension, description) in (SPACING | (SPACING_ON_SPHERE if is_spherical(config.grid) else {})).items():
        length_at_points = lengths[name[:2]]
        values = (length_at_points.corner if name.endswith("f") else length_at_points.centre)[:, 0]
        values = np.broadcast_to(values, len(dataset.dimensions[dimension]))
        define_variable(dataset, name, (dimension,), {"long_name": description, "units": "m"}, values)
    variables = static_fields(config)
    if any(map(index_of, variables)):
        for (axis, description), labels in zip(TIDE_AXES.items(), tide_axis_labels(config), strict=True):
            dataset.createDimension(axis, len(labels))
            define_variable(dataset, axis, (axis,), {"long_name": description}, np.array(labels, object), str)
    for name, variable in {array_of(name): variable for name, variable in variables.items()}.items():
        datatype = "i1" if name == "mask" else "f8"
        fill_value = FILL_VALUE if is_missing_on_land(variable.name) else False
        is_coordinate = name in GEOGRAPHIC_VARIABLES and name != ANGLE_NAME
        attrs = dict.fromkeys(("coordinates", "grid_mapping", "cell_measures") if is_coordinate else (), "")
        leading_dimensions = tuple(TIDE_AXES) if index_of(variable.name) else ()
        if leading_dimensions:
            attrs["long_name"] = f"boundary tide of the {TIDE_ARRAYS[name][2]}"
        define_field(dataset, variable, config, leading_dimensions, name, datatype, fill_value, **attrs)


def write_static(writer, config: Config, first: int, last: int) -> None:
    """Write rows [first, last) of the constant fields with the RecordWriter `writer`, in ascending order of rows."""
    for name, values in static_rows(config, first, last):
        writer.write_static_rows(*array_and_indices(config, name), first, values)


def static_differences(file, config: Config, row_ranges) -> list[str]:
    """A message for each constant field whose values in a file and in a run differ in one of the `row_ranges`."""

    def differs(name: str, first: int, last: int, values: np.ndarray) -> bool:
        array, indices = array_and_indices(config, name)
        return array in file and not np.array_equal(file[array][(*indices, slice(first, last))], values)

    changed_names = {
        name
        for first, last in row_ranges
        for name, values in static_rows(config, first, last)
        if differs(name, first, last, values)
    }
    return [f"{name} has other values in the file" for name in static_fields(config) if name in changed_names]


def tide_axis_labels(config: Config) -> tuple[tuple[str, ...], ...]:
    """The values of the coordinates of the TIDE_AXES."""
    return tuple(config.open_boundaries.constituents), tuple(PARTS)


def array_and_indices(config: Config, name: str) -> tuple[str, tuple[int, ...]]:
    """The variable in the file that contains a field [y, x], and the indices of the field along the TIDE_AXES."""
    return array_of(name), tuple(
        labels.index(label) for labels, label in zip(tide_axis_labels(config), index_of(name), strict=False)
    )


def static_rows(config: Config, first: int, last: int) -> Iterator[tuple[str, np.ndarray]]:
    """Rows [first, last) of the constant fields as they are written to the file."""
    return static_fields_on(config, (first, last, 0, config.grid.nx))


def static_fields_on(config: Config, part: tuple[int, int, int, int]) -> Iterator[tuple[str, np.ndarray]]:
    """The constant fields as they are written, for rows [a, b) and columns [c, d) of `part` = (a, b, c, d)."""
    rows, columns = np.arange(*part[:2]), np.arange(*part[2:])
    is_land = land_mask(config, rows, columns)
    for name in static_fields(config):
        values = evaluate_static(config, name, rows, columns)
        values = mark_missing(values, is_land) if is_missing_on_land(name) else values
        yield name, np.broadcast_to(values, (len(rows), len(columns)))


def is_missing_on_land(name: str) -> bool:
    return name == "depth" or name in COEFFICIENTS


def static_fields(config: Config) -> dict[str, Variable]:
    """{name: variable} of the constant fields [y, x], among them coefficients of terms that are fields, not numbers.

    Coefficients that vary in time, or that the records contain, are left out.
    """
    recorded = (*config.output.fields, *(name for name in COEFFICIENTS if fields.varies_in_time(config, name)))
    coefficients = (name for name in COEFFICIENTS if name not in recorded and fields.has_field_source(config, name))
    variables = {name: variable_in_run(name, config.physics) for name in ("depth", "mask", "f", *coefficients)}
    return variables | {"cell_area": CELL_AREA} | (GEOGRAPHIC_VARIABLES if has_rotated_axes(config.grid) else {})


def geographic_coordinate(grid, name: str, rows, columns) -> np.ndarray:
    """The field `name` of GEOGRAPHIC_VARIABLES at its points [rows, columns], degrees."""
    location = GEOGRAPHIC_VARIABLES[name].location
    if name == ANGLE_NAME:
        cosine, sine = axis_angle_from(grid, None, location, rows, columns)
        return np.degrees(np.arctan2(sine, cosine))
    positions = points(grid, location, rows, columns)
    return positions.lon if name.startswith("lon") else positions.lat


def evaluate_static(config: Config, name: str, rows, columns) -> np.ndarray:
    """The values of a constant field; they broadcast to [rows, columns]."""
    if name == "f":
        return coriolis(config, rows, columns)
    if name in GEOGRAPHIC_VARIABLES:
        return geographic_coordinate(config.grid, name, rows, columns)
    if name == "cell_area":
        return metrics(config.grid, rows)["area"].centre
    if name == "mask":
        return ~land_mask(config, rows, columns)
    return fields.evaluate(config, name, rows, columns)
