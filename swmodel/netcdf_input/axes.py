"""How the axes of a variable lie on the grid, by its coordinates: which is y, which x, and which runs downward."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..coordinates import OFFSETS, points
from .attributes import attribute, numeric
from .errors import InputError, remark
from .units import DEGREES, LENGTHS, SYNONYMS

STANDARD_NAMES = {
    "projection_x_coordinate": "x", "longitude": "x", "grid_longitude": "x",
    "projection_y_coordinate": "y", "latitude": "y", "grid_latitude": "y",
    "time": "t",
}  # fmt: skip
NAMES = {
    "x": "x", "x_c": "x", "x_f": "x", "lon": "x", "longitude": "x",
    "y": "y", "y_c": "y", "y_f": "y", "lat": "y", "latitude": "y",
    "time": "t",
}  # fmt: skip

#: What is taken for granted without a coordinate.
FIRST = {"y": "its first row is taken for the southern one", "x": "its first column is taken for the western one"}

#: How far from its point of the grid a coordinate may be, where the first ones coincide, cells.
NEAR = 0.1


class Axes(NamedTuple):
    """The numbers of a variable's axes of y and x, and whether each runs from north to south, from east to west."""

    numbers: tuple[int, int]
    turned: tuple[bool, bool]


def arrange(dataset, found, variable, grid, place: str) -> Axes:
    """The Axes of a variable; what is not plain is said in a line, once.

    The origin is not compared: that of a projection is not the grid's, and a shift changes nothing.

    Args:
        dataset, found: the file, and the variable in it.
        variable: the entry of VARIABLES that it is read for.
        grid: section of the configuration.
        place: how messages begin.

    Raises:
        InputError: shape or coordinates are not those of the grid.
    """
    numbers = choose(dataset, found, grid, place)
    at = points(grid, variable.location, np.arange(grid.ny), np.arange(grid.nx))
    turned, words, unknown = [], [], {}
    for axis, number, wanted in zip("yx", numbers, (at.y[:, 0], at.x[0]), strict=True):
        coordinate = coordinate_of(dataset, found.dimensions[number])
        if coordinate is None:
            unknown[found.dimensions[number]] = FIRST[axis]
            turned.append(False)
            continue
        line = Line(coordinate, axis, wanted, grid.dy if axis == "y" else grid.dx, f"{place}: {coordinate.name}")
        line.check(OFFSETS[variable.location]["yx".index(axis)])
        turned.append(line.turned)
        words += line.words()
    if numbers[0] > numbers[1]:
        words.append(f"its axes ({', '.join(found.dimensions)}) are exchanged")
    if words:
        remark(f"{place}: {'; '.join(words)}")
    if unknown:
        names, first = ", ".join(unknown), " and ".join(unknown.values())
        remark(f"{dataset.filepath()} has no coordinates along {names}: {first}")
    return Axes(numbers, tuple(turned))


def choose(dataset, found, grid, place: str) -> tuple[int, int]:
    """The numbers of the axes of y and x: those that their coordinates say, else the last two."""
    kinds = [kind(coordinate_of(dataset, name)) for name in found.dimensions]
    if kinds.count("y") == kinds.count("x") == 1:
        numbers = kinds.index("y"), kinds.index("x")
    else:
        numbers = found.ndim - 2, found.ndim - 1
        if found.ndim > 1 and any(kinds[n] not in ("", axis) for n, axis in zip(numbers, "yx", strict=True)):
            raise InputError(
                f"{place} has the axes ({', '.join(found.dimensions)}), the last two of which are not y and x"
            )
    shape, wanted = tuple(found.shape[n] for n in numbers if n >= 0), (grid.ny, grid.nx)
    others = [length for n, length in enumerate(found.shape) if n not in numbers]
    if shape != wanted or sum(length > 1 for length in others) > 1:
        swapped = "; its axes are swapped" if shape == wanted[::-1] else ""
        raise InputError(f"{place} has shape {found.shape}, the grid needs {wanted} (ny, nx){swapped}")
    return numbers


def coordinate_of(dataset, dimension: str):
    """The coordinate along a dimension: the variable of its name, or the only one along it that is known as x or y."""
    along = [v for v in dataset.variables.values() if v.dimensions == (dimension,) and numeric(v)]
    named = [v for v in along if v.name == dimension] or [v for v in along if kind(v)]
    return named[0] if len(named) == 1 else None


def kind(coordinate) -> str:
    """What a coordinate is: x, y, z or t; empty if that is not known."""
    if coordinate is None:
        return ""
    axis, units = attribute(coordinate, "axis").lower(), attribute(coordinate, "units")
    return (
        (axis if axis in ("x", "y", "z", "t") else "")
        or STANDARD_NAMES.get(attribute(coordinate, "standard_name"), "")
        or next((axis for axis, words in DEGREES.items() if units in words), "")
        or NAMES.get(coordinate.name.lower(), "")
    )


class Line:
    """A coordinate beside the grid's.

    Args:
        coordinate: variable of the file.
        axis: y or x.
        wanted: positions of the grid, m.
        size: distance of these, m.
        place: how messages begin.
    """

    def __init__(self, coordinate, axis: str, wanted: np.ndarray, size: float, place: str):
        self.coordinate, self.axis, self.wanted, self.size, self.place = coordinate, axis, wanted, size, place
        values = np.ma.filled(np.ma.asarray(coordinate[:], dtype=np.float64), np.nan)
        self.turned = bool(len(values) > 1 and values[-1] < values[0])
        self.values = values[::-1] if self.turned else values
        self.degrees = any(self.units in words for words in DEGREES.values())
        self.metres = self.values * self.factor()

    @property
    def units(self) -> str:
        """Units of the coordinate as they stand in the file."""
        return attribute(self.coordinate, "units")

    def factor(self) -> float:
        """Metres in a unit; NaN for degrees. Without units, steps of one count cells, and other numbers are metres."""
        if self.degrees:
            return np.nan
        if self.units in SYNONYMS["1"]:
            return self.size if np.allclose(np.diff(self.values), 1.0) else 1.0
        if self.units not in LENGTHS:
            raise InputError(f'{self.place} is in "{self.units}"; it needs "m", "km" or degrees')
        return LENGTHS[self.units]

    def check(self, shift: float) -> None:
        """Raise InputError unless the coordinate has the steps of the grid, in one direction.

        Args:
            shift: of the points of the field from the centres of cells, cells.
        """
        steps = np.diff(self.values)
        if not np.isfinite(self.values).all():
            raise InputError(f"{self.place} has missing values")
        if not (steps > 0).all():
            raise InputError(f"{self.place} does not run in one direction")
        given = getattr(self.coordinate, "c_grid_axis_shift", shift)
        if not np.array_equal(given, shift):
            raise InputError(
                f"{self.place} lies {given} cells off the centres; this field lies {shift:g} cells off them"
            )
        if self.degrees:
            return
        rounding = 4 * np.finfo(np.float32).eps if self.coordinate.dtype.itemsize < 8 else 0.0
        away = np.abs(self.metres - self.metres[0] - (self.wanted - self.wanted[0])).max()
        if away > NEAR * self.size + rounding * np.abs(self.metres).max():
            least, most = steps.min() * self.factor(), steps.max() * self.factor()
            between = f"{least:g}" if np.isclose(least, most, rtol=1e-3) else f"{least:g} to {most:g}"
            raise InputError(
                f"{self.place} runs {self.span(self.metres)} in steps of {between} m; "
                f"the grid has {self.axis} {self.span(self.wanted)} in steps of {self.size:g} m"
            )

    def span(self, values: np.ndarray) -> str:
        """From where to where values in m run."""
        return f"from {values[0]:g} to {values[-1]:g} m"

    def words(self) -> list[str]:
        """What a user should know, in words."""
        name, found = self.coordinate.name, []
        if self.turned:
            way, what = {"y": ("downward", "rows"), "x": ("leftward", "columns")}[self.axis]
            found.append(f"{name} runs {way}, so its {what} are turned")
        if self.degrees:
            found.append(f"{name} is in degrees, so its steps are not compared with {self.size:g} m")
        elif abs(abs(self.metres[0] - self.wanted[0]) / self.size - 0.5) < NEAR:
            side = {"y": ("south", "north"), "x": ("west", "east")}[self.axis][int(self.metres[0] > self.wanted[0])]
            found.append(f"{name} lies half a cell to the {side} of the grid's points")
        return found
