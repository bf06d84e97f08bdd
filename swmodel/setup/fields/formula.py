"""Find, call and check functions that give fields at points, and functions of a case that define terms."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ConfigError, describe_failure
from ...ocean.coordinates import Points
from ...ocean.user_term import FIXED_PARAMETERS, source_line_of

if TYPE_CHECKING:
    from ...config.options.model import Config

#: Parameters of functions for fields and for fields in time; first parameters of functions for terms.
FIELD_SIGNATURE = ["self", "config", "at"]
TIME_VARYING_FIELD_SIGNATURE = [*FIELD_SIGNATURE, "t"]
TERM_SIGNATURE = ["self", *FIXED_PARAMETERS]

#: Largest difference at the same point that counts as rounding, relative to the largest value of the field.
ROUND_OFF = 1e-9


def evaluate_function(
    function: Callable, at: Points, label: str, t: float | None = None, index: tuple = ()
) -> np.ndarray:
    """Values of function(at), or of function(at, t) at t s after the start, float64, that broadcast to the points.

    `index`: the element to take where the function returns an array of constituents and parts. ConfigError: the
    function fails, or does not return such numbers.
    """
    source_line = source_line_of(function)
    if t is not None:
        function, label = partial(function, t=t), f"{label} at t = {t:g} s"
    try:
        values = function(at)
        for number in index:
            values = values[number]
        values = np.asarray(values)
    except (ConfigError, MemoryError):
        raise
    except (Exception, SystemExit) as error:  # a rank that exits alone would leave the others waiting
        raise ConfigError([describe_failure(error, source_line.rpartition(":")[0], label)]) from error
    if values.dtype.kind not in "biuf":
        returned = "nothing" if values.dtype == object and values.item() is None else f"values of type {values.dtype}"
        raise ConfigError(
            [f"{source_line}: {label}: returns {returned}; must return numbers at the points of at.x and at.y"]
        )
    rows, columns = at.j.size, at.i.size
    try:
        np.broadcast_to(values, (rows, columns))
    except ValueError:
        points = f"{rows} rows and {columns} columns of points"
        raise ConfigError([f"{source_line}: {label}: returns an array of shape {values.shape} for {points}"]) from None
    return np.atleast_2d(values.astype(np.float64, copy=False))


def position_problems(config: Config, formulas: Iterable) -> Iterator[str]:
    """Messages about formulas whose value at a point depends on the other points of the call.

    Examples are a sequence of random numbers, or a mean over the points: each block would get a different field.
    """
    rows, columns = (np.array(sorted({0, size // 2})) for size in (config.grid.ny, config.grid.nx))
    for formula in formulas:
        together = np.broadcast_to(formula.read(rows, columns), (len(rows), len(columns)))
        tolerance = ROUND_OFF * np.abs(np.nan_to_num(together)).max()
        for end in (0, -1):
            row, column, value_together = rows[end], columns[end], together[end, end]
            value_alone = formula.read(rows[[end]], columns[[end]])[0, 0]
            if not np.isclose(value_alone, value_together, rtol=0, atol=tolerance, equal_nan=True):
                yield (
                    f"{formula.label}: is {value_alone:.6g} at row {row}, column {column} alone, but "
                    f"{value_together:.6g} together with other points; must depend only on the position of a point"
                )
                break


def parameter_names(value: Any) -> list[str]:
    """Names of the parameters of a function; none for other objects."""
    return list(inspect.signature(value).parameters) if isinstance(value, types.FunctionType) else []


def is_time_varying_field(value: Any) -> bool:
    """Whether an attribute of a case class is a function for a field that varies in time, by its parameters."""
    return parameter_names(value) == TIME_VARYING_FIELD_SIGNATURE


def is_term_function(value: Any) -> bool:
    """Whether an attribute of a case class is a function for a term, by its parameters."""
    return parameter_names(value)[: len(TERM_SIGNATURE)] == TERM_SIGNATURE


@lru_cache
def term_function_names(case: type) -> tuple[str, ...]:
    """Names of the functions in a case class that define terms, those of its base classes first."""
    names = dict.fromkeys(name for cls in reversed(case.__mro__) for name in vars(cls) if not name.startswith("_"))
    return tuple(name for name in names if is_term_function(getattr(case, name, None)))
