"""How the axes of a variable lie on the grid, by its coordinates: which is y, which x, and which runs downward."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....ocean.coordinates import OFFSETS, axes, on_sphere
from ....ocean.elements import index_of
from . import degrees
from .dataset import NAMES, CFDataset, in_degrees
from .errors import InputError, remark
from .line import Line

#: What is taken for granted without a coordinate.
FIRST = {"y": "its first row is taken for the southern one", "x": "its first column is taken for the western one"}


class Axes(NamedTuple):
    """How a variable lies on the grid.

    Attributes:
        numbers: of its axes of y and x.
        turned: whether each runs from north to south, from east to west.
        along: on a sphere, where the points of the grid lie among those of the file; else None.
    """

    numbers: tuple[int, int]
    turned: tuple[bool, bool] = (False, False)
    along: degrees.Places | None = None


def arrange(dataset: CFDataset, found, row, grid, place: str) -> Axes:
    """The Axes of the variable `found` of a file for the field `row`; one line says what is not plain."""
    if on_sphere(grid) and (coordinates := both(dataset, found)):
        return between_points(dataset, coordinates, found, row, grid, place)
    numbers = choose(dataset, found, grid, place)
    turned, words, unknown = [], [], {}
    for axis, along, offset in zip("yx", reversed(axes(grid)), OFFSETS[row.location], strict=True):
        wanted, size = along.first + (np.arange(along.cells) + offset) * along.spacing, along.spacing
        dimension, other = (found.dims[number] for number in (numbers if axis == "y" else numbers[::-1]))
        coordinates = coordinates_of(dataset, found, dimension, other, axis, place)
        if not coordinates:
            unknown[dimension] = FIRST[axis]
            turned.append(False)
            continue
        if on_sphere(grid):
            raise InputError(f"{place}: {coordinates[0].name} alone does not say where the field lies on a sphere")
        lines = [Line(dataset, one, dimension, axis, wanted, size, place) for one in coordinates]
        line = agreed(lines, place)
        line.check(offset)
        turned.append(line.turned)
        words += line.words()
    if numbers[0] > numbers[1]:
        words.append(f"its axes ({', '.join(found.dims)}) are exchanged")
    if words:
        remark(f"{place}: {'; '.join(words)}")
    if unknown:
        names, first = ", ".join(unknown), " and ".join(unknown.values())
        remark(f"{dataset.place} has no coordinates along {names}: {first}")
    return Axes(numbers, tuple(turned))


def both(dataset: CFDataset, found) -> dict:
    """{"y": (coordinate, its dimension), "x": ...} of a field, in degrees rather than in others; empty without both."""
    pairs = {}
    for dimension in found.dims:
        for one in sorted(dataset.along(dimension), key=in_degrees):
            pairs[dataset.kind(one)] = one, dimension
    for axis, dimension in zip("yx", found.dims[-2:], strict=False):
        if axis not in pairs:
            for one in dataset.across(found, *found.dims[-2:], axis):
                pairs[axis] = one, dimension
    return {axis: pairs[axis] for axis in "yx"} if {"y", "x"} <= pairs.keys() else {}


def between_points(dataset: CFDataset, coordinates: dict, found, row, grid, place: str) -> Axes:
    """The Axes of a variable on a sphere; one line says what is interpolated."""
    made = degrees.places(dataset, coordinates, found, grid, row, place)
    if words := made.words():
        remark(f"the tide in {dataset.place} is interpolated" if index_of(row.name) else f"{place}: {'; '.join(words)}")
    numbers = tuple(found.dims.index(coordinates[axis][1]) for axis in "yx")
    check_records(found, numbers, place)
    return Axes(numbers, along=made)


def check_records(found, numbers: tuple[int, int], place: str) -> None:
    """Raise InputError where a variable has records along several axes besides those of y and x."""
    several = [name for n, name in enumerate(found.dims) if n not in numbers and found.shape[n] > 1]
    if len(several) > 1:
        raise InputError(
            f"{place} has several records along {' and '.join(several)}, and one is chosen along one axis only; "
            "cut the file to one record along the others"
        )


def choose(dataset: CFDataset, found, grid, place: str) -> tuple[int, int]:
    """The numbers of the axes of y and x: those that their coordinates or names say, else the last two."""
    kinds = [next(map(dataset.kind, dataset.along(name)), NAMES.get(name.lower(), "")) for name in found.dims]
    if kinds.count("y") == kinds.count("x") == 1:
        numbers = kinds.index("y"), kinds.index("x")
    else:
        numbers = found.ndim - 2, found.ndim - 1
        if found.ndim > 1 and any(kinds[n] not in ("", axis) for n, axis in zip(numbers, "yx", strict=True)):
            raise InputError(f"{place} has the axes ({', '.join(found.dims)}), the last two of which are not y and x")
    shape, wanted = tuple(found.shape[n] for n in numbers if n >= 0), (grid.ny, grid.nx)
    if shape != wanted:
        swapped = "; its axes are swapped" if shape == wanted[::-1] else ""
        raise InputError(f"{place} has shape {found.shape}, the grid needs {wanted} (ny, nx){swapped}")
    check_records(found, numbers, place)
    return numbers


def coordinates_of(dataset: CFDataset, found, dimension: str, other: str, axis: str, place: str) -> list:
    """The coordinates of y or x of a field, best first: those along its dimension, else those that vary along both."""
    if coordinates := dataset.along(dimension):
        return coordinates
    coordinates = dataset.across(found, dimension, other, axis)
    for one in coordinates:
        mine, its = (extent(dataset.values_along(one, name)) for name in (dimension, other))
        if mine < its:
            raise InputError(
                f"{place}: {one.name} changes by {mine:g} along {dimension} and by {its:g} along {other}: these "
                "are not the axes of y and x"
            )
    return coordinates


def extent(values: np.ndarray) -> float:
    """From the least to the largest that is there; zero where none is."""
    some = values[np.isfinite(values)]
    return np.ptp(some) if some.size else 0.0


def agreed(lines: list[Line], place: str) -> Line:
    """The first of the coordinates along an axis."""
    rising, falling = ([line for line in lines if line.direction == sign] for sign in (1.0, -1.0))
    if rising and falling:
        names = f"{rising[0].coordinate.name} rises and {falling[0].coordinate.name} falls"
        raise InputError(f"{place}: {names} along {lines[0].dimension}; leave only the right one in the file")
    return lines[0]
