"""Which variables of a file are coordinates, of which axis, and how they run."""

from __future__ import annotations

import numpy as np

from .attributes import LENGTHS, attribute, axis_of_degrees, numeric

STANDARD_NAMES = {
    "projection_x_coordinate": "x", "longitude": "x", "grid_longitude": "x",
    "projection_y_coordinate": "y", "latitude": "y", "grid_latitude": "y",
    "time": "t",
}  # fmt: skip
NAMES = {
    "x": "x", "x_c": "x", "x_f": "x", "lon": "x", "longitude": "x", "nav_lon": "x",
    "y": "y", "y_c": "y", "y_f": "y", "lat": "y", "latitude": "y", "nav_lat": "y",
    "time": "t",
}  # fmt: skip


def kind(coordinate) -> str:
    """What a coordinate is: x, y, z or t; empty if that is not known."""
    axis, units = attribute(coordinate, "axis").lower(), attribute(coordinate, "units")
    return (
        (axis if axis in ("x", "y", "z", "t") else "")
        or STANDARD_NAMES.get(attribute(coordinate, "standard_name"), "")
        or axis_of_degrees(units)
        or NAMES.get(coordinate.name.lower(), "")
    )


def in_degrees(coordinate) -> bool:
    """Whether the units of a coordinate are degrees."""
    return axis_of_degrees(attribute(coordinate, "units")) is not None


def along(dataset, dimension: str) -> list:
    """The coordinates along a dimension, all of a kind, best first: the variable of its name, and those that are known.

    What is known comes before what is not, m before cells, and these before degrees.
    """
    found = [v for v in dataset.variables.values() if v.dimensions == (dimension,) and numeric(v)]
    found = best_first([v for v in found if v.name == dimension or kind(v)], dimension)
    return [v for v in found if kind(v) == kind(found[0])]


def across(dataset, field, dimension: str, other: str, axis: str) -> list:
    """The coordinates of y or x that vary along two dimensions of a field, best first: latitude(y, x)."""
    found = [
        v
        for v in dataset.variables.values()
        if {dimension, other} <= set(v.dimensions) <= set(field.dimensions) and v.name != field.name
    ]
    return best_first([v for v in found if numeric(v) and kind(v) == axis], dimension)


def best_first(coordinates: list, dimension: str) -> list:
    """The order in which they are taken: see `along`."""
    return sorted(
        coordinates,
        key=lambda v: (not kind(v), attribute(v, "units") not in LENGTHS, in_degrees(v), v.name != dimension),
    )


def values_along(coordinate, dimension: str) -> np.ndarray:
    """Values along a dimension, float64, NaN where missing; along the middle of any other dimension.

    Longitudes go on beyond 360.
    """
    sizes = zip(coordinate.dimensions, coordinate.shape, strict=True)
    index = tuple(slice(None) if name == dimension else size // 2 for name, size in sizes)
    values = np.ma.filled(np.ma.asarray(coordinate[index], dtype=np.float64), np.nan)
    return np.unwrap(values, period=360.0) if in_degrees(coordinate) and kind(coordinate) == "x" else values
