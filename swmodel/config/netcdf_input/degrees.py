"""Fields on longitudes and latitudes, taken to the points of a grid on a sphere by bilinear interpolation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...ocean.coordinates import CIRCLE, OFFSETS, Axis, axes
from .attributes import DEGREES, attribute
from .coordinates import in_degrees, values_along
from .errors import InputError

#: A point this near to one of the file, in steps of it, is that point.
SNAP = 1e-6


class Between(NamedTuple):
    """For each row (or column) of the grid the two of the file that it lies between, and how far it is from the first.

    Attributes:
        first, second: [n]; the same where it lies on one, or beyond the last by half a step or less.
        part: of the step between them, [n].
    """

    first: np.ndarray
    second: np.ndarray
    part: np.ndarray


def between(coordinate, dimension: str, axis: Axis, shift: float, place: str) -> tuple[Between, str]:
    """Where the points of the grid lie among those of a coordinate, and what a user should know of it.

    Args:
        axis: of the grid.
        shift: of the points of the field from the centres of cells, cells.
        place: how messages begin.

    Raises:
        InputError: it is no coordinate in degrees along one dimension, or does not cover the grid.
    """
    place = f"{place}: {coordinate.name}"
    if not in_degrees(coordinate):
        units = attribute(coordinate, "units") or "no units"
        raise InputError(f'{place} is in "{units}"; a grid on a sphere needs {min(DEGREES["xy"[axis.name == "lat"]])}')
    if coordinate.ndim > 1:
        raise InputError(
            f"{place} varies along {' and '.join(coordinate.dimensions)}; a grid on a sphere takes fields whose "
            "longitudes vary along one axis and whose latitudes along the other"
        )
    values = values_along(coordinate, dimension)
    steps = np.diff(values)
    if not np.isfinite(values).all() or len(values) < 2 or not ((steps > 0).all() or (steps < 0).all()):
        raise InputError(f"{place} has missing values, or does not run in one direction")
    order = np.argsort(values)
    wanted = axis.first + (np.arange(axis.cells) + shift) * axis.spacing
    found, covered = located(values[order], wanted, axis.turns)
    if not covered.all():
        away = wanted[~covered][0]
        raise InputError(
            f"{place} runs from {values.min():.10g} to {values.max():.10g} degrees, which does not cover the grid, "
            f"{axis.span()}: there is nothing at {axis.told(away)}"
        )
    found = Between(order[found.first], order[found.second], found.part)
    nearest = values[np.where(found.part > 0.5, found.second, found.first)]
    step, away = np.abs(steps).mean(), np.abs((wanted - nearest + CIRCLE / 2) % CIRCLE - CIRCLE / 2)
    if (away < SNAP * step).all():
        return found, ""
    return found, f"{coordinate.name} has steps of {step:.4g} degrees, between which values are interpolated"


def located(values: np.ndarray, wanted: np.ndarray, turns: bool) -> tuple[Between, np.ndarray]:
    """The Between of positions among values that rise, and whether these cover each: to half a step beyond both ends.

    Where positions turn round a circle the last value is a neighbour of the first if they are no more than a step and
    a half apart.
    """
    count, step = len(values), np.diff(values).max()
    if turns:
        wanted = values[0] + (wanted - values[0] + SNAP * step) % CIRCLE - SNAP * step
        closed = values[0] + CIRCLE - values[-1] <= 1.5 * step
        wanted = wanted if closed else np.where(wanted > values[-1] + 0.5 * step, wanted - CIRCLE, wanted)
        if closed:
            values = np.append(values, values[0] + CIRCLE)
    covered = (wanted >= values[0] - (0.5 + SNAP) * step) & (wanted <= values[-1] + (0.5 + SNAP) * step)
    first = np.clip(np.searchsorted(values, wanted, side="right") - 1, 0, len(values) - 2)
    part = np.clip((wanted - values[first]) / (values[first + 1] - values[first]), 0.0, 1.0)
    nearest = np.rint(part)
    part = np.where(np.abs(part - nearest) < SNAP, nearest, part)
    return Between(first % count, (first + 1) % count, part), covered


def places(found: dict, grid, variable, place: str) -> tuple[tuple[Between, Between], list[str]]:
    """The Between of rows and of columns, and what a user should know. A mask is that of the nearest point.

    Args:
        found: {"y": (coordinate, its dimension), "x": ...} of the file.
        variable: the entry of VARIABLES that they are for.
    """
    made, words = [], []
    for name, axis, shift in zip("yx", reversed(axes(grid)), OFFSETS[variable.location], strict=True):
        one, said = between(*found[name], axis, shift, place)
        nearest = variable.name == "mask"
        made.append(one._replace(part=np.rint(one.part)) if nearest else one)
        words += [said.replace("between which values are interpolated", "of which the nearest is taken")
                  if nearest else said] if said else []  # fmt: skip
    return tuple(made), words


def interpolated(read, along: tuple[Between, Between], rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Values in rows and columns of the grid.

    A value that is missing has no weight; where those that are have less than half of it, the result is missing too.

    Args:
        read: function of row and column numbers of the file to their values [rows, columns], NaN where missing.
        along: of rows and of columns.
    """
    y, x = (Between(*(part[numbers] for part in one)) for one, numbers in zip(along, (rows, columns), strict=True))
    needed = [np.unique(np.concatenate([one.first, one.second])) for one in (y, x)]
    window = read(*needed)
    total = weight = np.zeros((len(rows), len(columns)))
    for row, of_row in ((y.first, 1 - y.part), (y.second, y.part)):
        for column, of_column in ((x.first, 1 - x.part), (x.second, x.part)):
            values = window[np.ix_(np.searchsorted(needed[0], row), np.searchsorted(needed[1], column))]
            weights = of_row[:, None] * of_column
            there = np.isfinite(values) & (weights > 0)
            total = total + np.where(there, weights * values, 0.0)
            weight = weight + np.where(there, weights, 0.0)
    enough = weight >= 0.5
    return np.where(enough, total / np.where(enough, weight, 1.0), np.nan)
