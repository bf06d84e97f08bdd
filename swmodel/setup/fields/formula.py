"""Find, call and check functions of the points that give fields, and functions of terms in the class of a case."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ...errors import ConfigError, failure
from ...ocean.coordinates import Points
from ...ocean.own_term import FIXED, place_of

#: Parameters of a function for a field, also in time; first parameters of a term.
SIGNATURE = ["self", "config", "at"]
IN_TIME = [*SIGNATURE, "t"]
OF_TERM = ["self", *FIXED]

#: Largest difference of a field at the same point, relative to its largest value, that counts as rounding.
ROUND_OFF = 1e-9


def evaluated(function: Callable, at: Points, what: str, t: float | None = None, index: tuple = ()) -> np.ndarray:
    """Values of function(at), or of function(at, t) at t s after the start, float64, that broadcast to the points.

    `index`: the element of an array of constituents and parts that the function returns.
    """
    start = place_of(function)
    if t is not None:
        function, what = partial(function, t=t), f"{what} at t = {t:g} s"
    try:
        found = function(at)
        for number in index:
            found = found[number]
        found = np.asarray(found)
    except (ConfigError, MemoryError):
        raise
    except (Exception, SystemExit) as error:  # a rank that ended alone would leave the others waiting
        raise ConfigError([failure(error, start.rpartition(":")[0], what)]) from error
    if found.dtype.kind not in "biuf":
        returned = "nothing" if found.dtype == object and found.item() is None else f"values of type {found.dtype}"
        raise ConfigError([f"{start}: {what}: returns {returned}; must be numbers, at the points of at.x and at.y"])
    rows, columns = at.j.size, at.i.size
    try:
        np.broadcast_to(found, (rows, columns))
    except ValueError:
        points = f"{rows} rows and {columns} columns of points"
        raise ConfigError([f"{start}: {what}: returns an array of shape {found.shape} for {points}"]) from None
    return np.atleast_2d(found.astype(np.float64, copy=False))


def position_problems(config: Any, formulas: Iterable) -> Iterator[str]:
    """Formulas whose values at a point depend on the other points of the call, one line each.

    Examples are a sequence of random numbers, or a mean over the points: each block would have another field.
    """
    rows, columns = (np.array(sorted({0, size // 2})) for size in (config.grid.ny, config.grid.nx))
    for formula in formulas:
        together = np.broadcast_to(formula.read(rows, columns), (len(rows), len(columns)))
        tolerance = ROUND_OFF * np.abs(np.nan_to_num(together)).max()
        for at in (0, -1):
            row, column, one = rows[at], columns[at], together[at, at]
            alone = formula.read(rows[[at]], columns[[at]])[0, 0]
            if not np.isclose(alone, one, rtol=0, atol=tolerance, equal_nan=True):
                yield (
                    f"{formula.what}: is {alone:.6g} at row {row}, column {column} alone, but {one:.6g} "
                    "together with others; must depend on the position of a point only"
                )
                break


def parameters(value: Any) -> list[str]:
    """Names of the parameters of a function; none for other objects."""
    return list(inspect.signature(value).parameters) if isinstance(value, types.FunctionType) else []


def in_time(value: Any) -> bool:
    """Whether an attribute of the class of a case is the function of a field that varies in time."""
    return parameters(value) == IN_TIME


def is_term(value: Any) -> bool:
    """Whether an attribute of the class of a case is the function of a term, by its parameters."""
    return parameters(value)[: len(OF_TERM)] == OF_TERM


@lru_cache
def terms_in(case: type) -> tuple[str, ...]:
    """Names of the functions of terms in the class of a case, those of its base classes first."""
    names = dict.fromkeys(name for cls in reversed(case.__mro__) for name in vars(cls) if not name.startswith("_"))
    return tuple(name for name in names if is_term(getattr(case, name, None)))
