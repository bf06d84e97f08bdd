"""The constant fields: depth, mask, Coriolis parameter, coefficients of terms, and the sizes of cells."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...ocean.coordinates import metrics, on_sphere, points, turned
from ...ocean.elements import array_of, index_of
from ...ocean.masks import water_around
from ...ocean.patch import Patch
from ...ocean.table import COEFFICIENTS, entry_of
from ...ocean.terms.outside import ARRAYS, PARTS
from ...ocean.variable import Variable
from ...setup import fields
from ...setup.setup import coriolis
from .metadata import END, FILL, define_field, define_variable

CELL_AREA = Variable("cell_area", "centre", "m2", "cell_area", "area of the cells")

#: Grid spacing along one axis, at the points of one dimension: name -> (dimension, description).
SPACING = {
    "dx_c": ("x_c", "size of the cells in x"),
    "dx_f": ("x_f", "distance in x of the centres on both sides of the faces"),
    "dy_c": ("y_c", "size of the cells in y"),
    "dy_f": ("y_f", "distance in y of the centres on both sides of the faces"),
}

#: Spacings that differ on a sphere, where lengths in x vary from row to row.
ON_SPHERE = {
    "dx_c": ("y_c", "size of the cells in x, distance in x of their centres"),
    "dx_f": ("y_f", "length of the cells' northern edges"),
}


#: The axes of the tide outside: constituents of the open sides, and the parts of an oscillation.
AXES = {"boundary_constituent": "constituent of the tide outside", "boundary_part": "part of the oscillation"}

#: The name of the angle of the x axis of a turned grid.
ANGLE = "angle"

#: Further fields on a turned grid.
TURNED = {
    f"{short}{END[location]}": Variable(
        f"{short}{END[location]}", location, f"degrees_{way}", word, f"{word} of the {what}"
    )
    for location, what in (("centre", "cells"), ("u", "east faces"), ("v", "north faces"), ("corner", "corners"))
    for short, word, way in (("lon", "longitude", "east"), ("lat", "latitude", "north"))
} | {
    ANGLE: Variable(ANGLE, "centre", "degree", "angle_of_rotation_from_east_to_x", "angle from eastward to the x axis")
}


def land(config, rows, columns, outside: bool = False) -> dict[str, np.ndarray | None]:
    """For each location, the points without adjacent water of the model, on [rows, columns]; None: none.

    Water outside open sides counts only for fields with values `outside`, as depth.
    """
    beyond = np.append(rows, rows[-1] + 1), np.append(columns, columns[-1] + 1)
    water = fields.water if outside else fields.wet
    shape = len(rows), len(columns)
    around = water_around(Patch(water(config, *beyond), (0, 0)))
    found = {location: patch.on(shape) == 0 for location, patch in around.items()}
    return {location: dry if dry.any() else None for location, dry in found.items()}


def ground(config, rows, columns) -> np.ndarray:
    """The land of the mask; broadcasts to [rows, columns]."""
    return fields.evaluate(config, "mask", rows, columns) == 0


def on_water(values: np.ndarray, dry: np.ndarray | None) -> np.ndarray:
    """The values with FILL on land."""
    return values if dry is None else np.where(dry, np.asarray(FILL, values.dtype), values)


def define_static(dataset, config) -> None:
    """Make the constant fields in a netCDF4.Dataset with a grid; write those with one axis."""
    lengths = metrics(config.grid, range(config.grid.ny))
    for name, (dimension, description) in (SPACING | (ON_SPHERE if on_sphere(config.grid) else {})).items():
        places = lengths[name[:2]]
        values = (places.corner if name.endswith("f") else places.centre)[:, 0]
        values = np.broadcast_to(values, len(dataset.dimensions[dimension]))
        define_variable(dataset, name, (dimension,), {"long_name": description, "units": "m"}, values)
    found = static_fields(config)
    if any(map(index_of, found)):
        for (axis, words), names in zip(AXES.items(), axes(config), strict=True):
            dataset.createDimension(axis, len(names))
            define_variable(dataset, axis, (axis,), {"long_name": words}, np.array(names, object), str)
    for name, row in {array_of(name): row for name, row in found.items()}.items():
        kind, fill = ("i1", False) if name == "mask" else ("f8", FILL if on_water_only(row.name) else False)
        bare = ("coordinates", "grid_mapping", "cell_measures") if name in TURNED and name != ANGLE else ()
        about = dict.fromkeys(bare, "")
        if index_of(row.name):
            about["long_name"] = f"tide of the outside {ARRAYS[name][2]}"
        define_field(dataset, row, config, tuple(AXES) if index_of(row.name) else (), name, kind, fill, **about)


def write_static(records, config, first: int, last: int) -> None:
    """Write rows first to last of the constant fields into a file's Records, in rising order."""
    for name, values in static_rows(config, first, last):
        records.put_static(*place_of(config, name), first, values)


def static_differences(file, config, row_blocks) -> list[str]:
    """The constant fields that differ in the file, in words; read in blocks of rows (first, last)."""

    def differs(name: str, first: int, last: int, values: np.ndarray) -> bool:
        array, at = place_of(config, name)
        return array in file and not np.array_equal(file[array][(*at, slice(first, last))], values)

    blocks = ((*block, *row) for block in row_blocks for row in static_rows(config, *block))
    others = {name for first, last, name, values in blocks if differs(name, first, last, values)}
    return [f"{name} has other values in the file" for name in static_fields(config) if name in others]


def axes(config) -> tuple[tuple[str, ...], ...]:
    """The names along the AXES."""
    return tuple(config.open_sides.constituents), tuple(PARTS)


def place_of(config, name: str) -> tuple[str, tuple[int, ...]]:
    """The variable in the file with a field [y, x], and its index along the AXES."""
    return array_of(name), tuple(axis.index(at) for axis, at in zip(axes(config), index_of(name), strict=False))


def static_rows(config, first: int, last: int) -> Iterator[tuple[str, np.ndarray]]:
    """Rows first to last of the constant fields, as in the file."""
    return static_cells(config, (first, last, 0, config.grid.nx))


def static_cells(config, part: tuple[int, int, int, int]) -> Iterator[tuple[str, np.ndarray]]:
    """The constant fields, as in the file, in the rows [a, b) and columns [c, d) of `part` = (a, b, c, d)."""
    rows, columns = np.arange(*part[:2]), np.arange(*part[2:])
    dry = ground(config, rows, columns)
    for name in static_fields(config):
        values = evaluate(config, name, rows, columns)
        values = on_water(values, dry) if on_water_only(name) else values
        yield name, np.broadcast_to(values, (len(rows), len(columns)))


def on_water_only(name: str) -> bool:
    """Whether a constant field has no value on land."""
    return name == "depth" or name in COEFFICIENTS


def static_fields(config) -> dict[str, Variable]:
    """The constant fields [y, x], with coefficients of terms that are fields without records."""
    moving = (*config.output.fields, *(name for name in COEFFICIENTS if fields.varies(config, name)))
    coefficients = (name for name in COEFFICIENTS if name not in moving and fields.given(config, name))
    found = {name: entry_of(name, config.physics) for name in ("depth", "mask", "f", *coefficients)}
    return found | {"cell_area": CELL_AREA} | (TURNED if turned(config.grid) else {})


def place(grid, name: str, rows, columns) -> np.ndarray:
    """Longitude, latitude or angle of the axes at the points of a location, degrees [rows, columns]."""
    at = points(grid, TURNED[name].location, rows, columns)
    if name == ANGLE:
        return np.degrees(np.arctan2(at.turn[1], at.turn[0]))
    return at.lon if name.startswith("lon") else at.lat


def evaluate(config, name: str, rows, columns) -> np.ndarray:
    """Values of a constant field, which broadcast to [rows, columns]."""
    if name == "f":
        return coriolis(config, rows, columns)
    if name in TURNED:
        return place(config.grid, name, rows, columns)
    if name == "cell_area":
        return metrics(config.grid, rows)["area"].centre
    if name == "mask":
        return ~ground(config, rows, columns)
    return fields.evaluate(config, name, rows, columns)
