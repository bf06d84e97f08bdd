"""A coordinate beside that of the grid: its direction, its steps, its range."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from .dataset import CFDataset, in_degrees
from .errors import InputError
from .units import LENGTHS, SYNONYMS

#: How far from its point of the grid a coordinate may be, where the first ones coincide, cells.
NEAR = 0.1


class Line:
    """A coordinate beside the grid's.

    Args:
        dataset, coordinate: the file, and the variable in it; of several dimensions it is taken along one, in the
            middle of the others.
        dimension: along which it is compared.
        axis: y or x.
        wanted: positions of the grid, m.
        size: distance of these, m.
        place: how messages begin.
    """

    def __init__(self, dataset: CFDataset, coordinate, dimension: str, axis: str, wanted, size: float, place: str):
        self.coordinate, self.axis, self.wanted, self.size = coordinate, axis, wanted, size
        self.units = coordinate.attrs.get("units", "")
        self.dimension, self.place = dimension, f"{place}: {coordinate.name}"
        self.degrees = in_degrees(coordinate)
        values = dataset.values_along(coordinate, dimension)
        if self.degrees and coordinate.ndim > 1:  # missing on land
            values = values[np.isfinite(values)]
        self.direction = float(np.sign(values[-1] - values[0])) if len(values) > 1 else 0.0
        self.turned = self.direction < 0
        self.values = values[::-1] if self.turned else values

    @property
    def counts(self) -> bool:
        """Whether it numbers cells: steps of one without units."""
        return self.units in SYNONYMS["1"] and np.allclose(np.diff(self.values), 1.0)

    @cached_property
    def factor(self) -> float:
        """Metres in a unit; numbers without units that do not count cells are metres."""
        if self.units not in LENGTHS and self.units not in SYNONYMS["1"]:
            raise InputError(
                f'{self.place} is in "{self.units}"{self.between()}; it needs "m", "km" or degrees; {self.asked()}'
            )
        return self.size if self.counts else LENGTHS.get(self.units, 1.0)

    @cached_property
    def metres(self) -> np.ndarray:
        """Values in m."""
        return self.values * self.factor

    def between(self, unit: str = "") -> str:
        """The least and the largest value, in words that follow others; nothing where all are missing."""
        values = self.values[np.isfinite(self.values)]
        return f", between {values.min():g} and {values.max():g}{unit}" if values.size else ""

    def asked(self) -> str:
        """What the grid has."""
        return f"the grid has {self.axis} {span(self.wanted)} in steps of {self.size:g} m"

    def check(self, shift: float) -> None:
        """Raise InputError unless the coordinate has the steps of the grid, in one direction.

        Args:
            shift: of the points of the field from the centres of cells, cells.
        """
        steps, unit = np.diff(self.values), f" {self.units}".rstrip()
        if not np.isfinite(self.values).all() or not len(self.values):
            raise InputError(f"{self.place} has missing values{self.between(unit)}; {self.asked()}")
        if not (steps > 0).all():
            raise InputError(f"{self.place} does not run in one direction{self.between(unit)}; {self.asked()}")
        given = self.coordinate.attrs.get("c_grid_axis_shift", shift)
        if not np.array_equal(given, shift):
            raise InputError(
                f"{self.place} lies {given} cells off the centres; this field lies {shift:g} cells off them"
            )
        if not self.degrees:
            self.compare(steps)

    def compare(self, steps: np.ndarray) -> None:
        """Raise InputError unless the points lie as those of the grid do, counted from the first one."""
        rounding = 4 * np.finfo(np.float32).eps if self.coordinate.dtype.itemsize < 8 else 0.0
        away = np.abs(self.metres - self.metres[0] - (self.wanted - self.wanted[0])).max()
        if away > NEAR * self.size + rounding * np.abs(self.metres).max():
            least, most = steps.min() * self.factor, steps.max() * self.factor
            between = f"{least:g}" if np.isclose(least, most, rtol=1e-3) else f"{least:g} to {most:g}"
            raise InputError(f"{self.place} runs {span(self.metres)} in steps of {between} m; {self.asked()}")

    def words(self) -> list[str]:
        """What a user should know, in words."""
        name, found = self.coordinate.name, []
        if self.turned:
            way, what = {"y": ("downward", "rows"), "x": ("leftward", "columns")}[self.axis]
            found.append(f"{name} runs {way}, so its {what} are turned")
        if self.degrees:
            found.append(f"{name} is in degrees, so its steps are not compared with {self.size:g} m")
        elif not self.counts and abs(away := (self.metres[0] - self.wanted[0]) / self.size) > NEAR:
            side = {"y": ("south", "north"), "x": ("west", "east")}[self.axis][int(away > 0)]
            half = abs(abs(away) - 0.5) < NEAR
            what = f"half a cell to the {side}" if half else "origins are not compared"
            found.append(f"{name} runs {span(self.metres)}, the grid's points {span(self.wanted)}: {what}")
        return found


def span(values: np.ndarray) -> str:
    """From where to where values in m run."""
    return f"from {values[0]:g} to {values[-1]:g} m"
