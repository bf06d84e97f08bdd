"""Fields and terms from Python, and terms of the case: check them and add them to the configuration."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ConfigError
from ...ocean.coordinates import Points, frame_of
from ...ocean.elements import index_of
from ...ocean.table import INPUT_FIELDS, VARIABLES
from ...ocean.terms import Term
from ...ocean.user_term import case_term
from ...ocean.variable import Variable
from .field_sources import FormulaSource, PythonField, source_of
from .formula import term_function_names
from .netcdf_input import InputError, times_of_array, variable_from_array
from .vectors import VECTOR_COMPONENTS

if TYPE_CHECKING:
    from xarray import DataArray

    from ...config.options.grid import GridOptions
    from ...config.options.model import Config


@dataclass(frozen=True, eq=False)
class LocalArray:
    """Values [y, x] of the part of the grid that this process computes (`swmodel.local`).

    Until all parts are gathered it acts as a PythonField: a table that does not vary in time.
    """

    values: Any
    varies_in_time = False
    is_table = True

    @property
    def value(self) -> dict[str, Any]:
        return {"": self.values}


#: The forms of a field in Python (docs/python.md).
Field: TypeAlias = Union[Callable[[Points], ArrayLike], ArrayLike, LocalArray, "DataArray"]


def local(values: ArrayLike) -> LocalArray:
    """Mark an array [y, x] as covering only this process's part of the grid, `Simulation.block`, not the whole."""
    return LocalArray(values)


def python_field(value: Any, variable: Variable, grid: GridOptions) -> PythonField | LocalArray:
    """The checked field. ConfigError: the value is not a Field, or does not fit the grid.

    A coefficient may vary in time: a function of (at, t), or a DataArray with several records.
    """
    context = f"fields: {variable.name}"
    if isinstance(value, LocalArray):
        if hasattr(value.values, "dims"):
            raise ConfigError(
                [f"{context}: local takes an array with rows from south to north, such as DataArray.values"]
            )
        return LocalArray(to_float_array(value.values, context))
    if callable(value):
        if (in_time := is_function_of_time(value)) and not variable.varies_in_time:
            raise ConfigError([f"{context}: cannot vary in time; must be a function of (at)"])
        return PythonField(value, in_time)
    if hasattr(value, "dims") and hasattr(value, "coords") and not hasattr(value, "data_vars"):
        try:
            return field_from_data_array(value, variable, grid, context)
        except InputError as error:
            raise ConfigError([str(error)]) from None
    values, grid_shape = to_float_array(value, context), (grid.ny, grid.nx)
    values = values.reshape(1, 1) if values.ndim == 0 else values
    if values.ndim != 2 or any(
        length not in (1, wanted) for length, wanted in zip(values.shape, grid_shape, strict=True)
    ):
        swapped = "; its axes are swapped" if values.shape == grid_shape[::-1] else ""
        raise ConfigError([f"{context} has shape {values.shape}, but the grid needs {grid_shape} (ny, nx){swapped}"])
    return field_from_table(values)


def field_from_data_array(array: DataArray, variable: Variable, grid: GridOptions, context: str) -> PythonField:
    """The field of a DataArray; without records in time it becomes a table. InputError: it does not fit the grid."""
    record_times = times_of_array(array, context) if variable.varies_in_time else None
    grid_variable = variable_from_array(
        array.isel({record_times[0]: 0}) if record_times else array, variable, grid, context
    )
    if variable.name in VECTOR_COMPONENTS and grid_variable.frame != frame_of(grid):
        raise InputError(
            f"{context}: its axes and the grid's have different {'directions' if grid.crs else 'poles'}; "
            f"write it to a file for input.{variable.name}, or give a function of the points"
        )
    values = np.ascontiguousarray(grid_variable.read(range(grid.ny), range(grid.nx)))
    return PythonField(array, varies_in_time=True, is_table=True) if record_times else field_from_table(values)


def field_from_table(values: np.ndarray) -> PythonField:
    """The field of a table of values that broadcast to [ny, nx]; the table becomes read-only."""
    values.flags.writeable = False
    return PythonField({"": values}, is_table=True)


def is_function_of_time(function: Callable) -> bool:
    """Whether a function needs (at, t): the points, and a parameter called t."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # not written in Python
        return False
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    needed = [each.name for each in parameters if each.default is each.empty and each.kind not in variadic]
    return len(needed) == 2 and needed[1] == "t"


def to_float_array(value: Any, context: str) -> np.ndarray:
    """A new array, float64, NaN where values are masked. ConfigError: the values are not numbers."""
    try:
        array = np.ma.asarray(value)
    except (ValueError, TypeError):  # lists of unequal lengths, a Dataset
        array = np.ma.asarray(None)
    if array.dtype.kind not in "biuf":
        description = f"values of type {array.dtype}" if array.ndim else f"{value!r:.60}".partition("\n")[0]
        raise ConfigError(
            [
                f"{context}: {description} cannot be used; give a function of the points, a number, an array or a "
                f"DataArray, or name a file in input.{context.split()[-1]}"
            ]
        )
    return np.ma.filled(array.astype(np.float64), np.nan)


def with_python_inputs(
    config: Config,
    fields: Iterable[str],
    terms: Iterable[str],
    sources: Mapping[str, Any],
    term_objects: Iterable[Term],
    parameters: Mapping[str, Any] | None = None,
) -> Any:
    """The configuration with other inputs from Python: the texts that a run records, and the objects themselves.

    Args:
        fields, terms: a text for each, which begins with its name; its SHA-256 may follow.
        sources: {name of a field: PythonField or LocalArray}.
        parameters: {name of a term: vector, float64}; None: those of `config`.
    """
    python = type(config.python)(fields=tuple(fields), terms=tuple(terms), calls=config.python.calls)
    python._sources, python._terms = dict(sources), tuple(term_objects)
    python._parameters = dict(config.python._parameters if parameters is None else parameters)
    return config.model_copy(update={"python": python})


def field_names(config: Config) -> tuple[str, ...]:
    """The names of all fields that a source may provide: those of the table, elements of arrays, and tracers."""
    present_constituents = ("", *config.open_boundaries.constituents)
    table_fields = (
        name for name in INPUT_FIELDS if (index_of(name) or present_constituents)[0] in present_constituents
    )
    return (*table_fields, *(each.name for each in config.physics.tracers))


def user_coefficients(terms: Iterable[Term]) -> dict[str, Variable]:
    """{name: coefficient} for the coefficients of terms that are not in the table of the model's variables."""
    return {row.name: row for term in terms for row in term.coefficients if row.name not in VARIABLES}


def case_terms(config: Config) -> list[Term]:
    case: Any = config.case  # hashable, as it is frozen
    cls: Any = type(case)
    return [case_term(case, getattr(cls, name)) for name in term_function_names(cls)]


def user_terms_of(config: Config) -> tuple[Term, ...]:
    """The user terms: those of the case, and those from Python. ConfigError: a term that a run recorded is missing."""
    terms = (*case_terms(config), *config.python._terms)
    recorded, names = [text.split()[0] for text in config.python.terms], {term.name for term in terms}
    if missing := [name for name in recorded if name not in names]:
        raise ConfigError(
            [
                f"python.terms: {', '.join(missing)} was given in Python and is stored in no file; continue the run "
                "with swmodel.Simulation.resume(DIR, terms=[...]).run(DIR), or with case=CLASS for the term of a case"
            ]
        )
    return terms


def formula_sources(config: Config) -> list[FormulaSource]:
    """The sources of all fields that functions of the points define, from the case or from Python."""
    python, names_in_case = config.python, [*field_names(config), *user_coefficients(case_terms(config))]
    names = dict.fromkeys([*(name for name in names_in_case if name not in python.names), *python._sources])
    return [source for source in (source_of(config, name) for name in names) if isinstance(source, FormulaSource)]
