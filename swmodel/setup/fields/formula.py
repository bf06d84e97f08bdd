"""Fields from functions of the points, of a case or handed over: their values, checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from ...errors import ConfigError, failure
from ...ocean.coordinates import Points, points
from ...ocean.own_term import place_of
from ...ocean.table import location_of

#: Difference of a field at the same point, relative to its largest value, that is rounding.
ROUND_OFF = 1e-9


def values_of_case(config: Any, name: str, at: Points, t: float | None = None) -> np.ndarray:
    """Values of a field from the function of the case; see `evaluated`."""
    return evaluated(partial(getattr(config.case, name), config), at, f"{name} of the case {config.case.name}", t)


def evaluated(function: Callable, at: Points, what: str, t: float | None = None) -> np.ndarray:
    """Values of function(at), float64, that broadcast to the points `at`.

    Args:
        what: it is, for messages.
        t: time since the start of the run, s, if it is a function of (at, t).

    Raises:
        ConfigError: it raises, or returns something else; with the line.
    """
    start = place_of(function)
    if t is not None:
        function, what = partial(function, t=t), f"{what} at t = {t:g} s"
    try:
        found = np.asarray(function(at))
    except (ConfigError, MemoryError):
        raise
    except Exception as error:
        raise ConfigError([failure(error, start.rpartition(":")[0], what)]) from error
    place = f"{start}: {what}"
    if found.dtype.kind not in "biuf":
        returned = "nothing" if found.dtype == object and found.item() is None else f"values of type {found.dtype}"
        raise ConfigError([f"{place}: returns {returned}; must be numbers, at the points of at.x and at.y"])
    shape = at.j.size, at.i.size
    try:
        fits = np.broadcast_shapes(found.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        wanted = f"{shape[0]} rows and {shape[1]} columns of points"
        raise ConfigError([f"{place}: returns an array of shape {found.shape} for {wanted}"])
    return np.atleast_2d(found.astype(np.float64, copy=False))


def position_problems(config: Any, functions: Mapping) -> Iterator[str]:
    """Functions whose values at a point depend on the other points that are asked for with it, one line each.

    Random numbers drawn one after the other, or a mean over the points, do: each block would have another field.

    Args:
        functions: {name of a field: (function of the points, what it is)}.

    Raises:
        ConfigError: see `evaluated`.
    """
    grid = config.grid
    rows, columns = (sorted({0, size // 2}) for size in (grid.ny, grid.nx))
    for name, (function, what) in functions.items():
        where = location_of(name)
        together = evaluated(function, points(grid, where, rows, columns), what)
        together = np.broadcast_to(together, (len(rows), len(columns)))
        tolerance = ROUND_OFF * np.abs(np.nan_to_num(together)).max()
        for at in (0, -1):
            row, column, one = rows[at], columns[at], together[at, at]
            alone = evaluated(function, points(grid, where, [row], [column]), what)[0, 0]
            if not np.isclose(alone, one, rtol=0, atol=tolerance, equal_nan=True):
                yield (
                    f"{what}: is {alone:.6g} at row {row}, column {column} alone, and "
                    f"{one:.6g} together with others; must depend on the position of a point only, so that each "
                    "process finds the same"
                )
                break
