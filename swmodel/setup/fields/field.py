"""Fields and terms from Python, and terms of the case: checks, and their place in the configuration."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ConfigError
from ...ocean.coordinates import Points
from ...ocean.elements import index_of
from ...ocean.own_term import term_of_case
from ...ocean.table import GIVEN, VARIABLES
from ...ocean.terms import Term
from ...ocean.variable import Variable
from .formula import terms_in
from .kinds import Formula, PythonField, field_of
from .netcdf_input import InputError, field_in, times_of
from .vectors import VECTORS

if TYPE_CHECKING:
    from xarray import DataArray


@dataclass(frozen=True, eq=False)
class Local:
    """Values [y, x] of the part of the grid that this process has (`swmodel.local`).

    Until all parts are gathered it acts as a `kinds.PythonField`: a table that does not vary in time.
    """

    values: Any
    in_time = False
    tabulated = True

    @property
    def value(self) -> dict[str, Any]:
        """See `PythonField`."""
        return {"": self.values}


#: The forms of a field in Python (docs/python.md).
Field: TypeAlias = Union[Callable[[Points], ArrayLike], ArrayLike, Local, "DataArray"]


def local(values: ArrayLike) -> Local:
    """An array [y, x] of only this process's part of the grid, `Simulation.block`, in place of the whole grid."""
    return Local(values)


def python_field(value: Any, row: Variable, grid: Any) -> PythonField | Local:
    """The checked field. ConfigError: the value is no Field, or does not fit the grid.

    A coefficient may vary in time: a function of (at, t), or a DataArray with several records.
    """
    place = f"fields: {row.name}"
    if isinstance(value, Local):
        if hasattr(value.values, "dims"):
            raise ConfigError([f"{place}: local takes an array, its rows from south to north: DataArray.values is one"])
        return Local(numbers(value.values, place))
    if callable(value):
        if (in_time := of_time(value)) and not row.varies:
            raise ConfigError([f"{place}: does not vary in time; must be a function of (at)"])
        return PythonField(value, in_time)
    if hasattr(value, "dims") and hasattr(value, "coords") and not hasattr(value, "data_vars"):
        try:
            return labelled(value, row, grid, place)
        except InputError as error:
            raise ConfigError([str(error)]) from None
    values, whole = numbers(value, place), (grid.ny, grid.nx)
    values = values.reshape(1, 1) if values.ndim == 0 else values
    if values.ndim != 2 or any(length not in (1, wanted) for length, wanted in zip(values.shape, whole, strict=True)):
        swapped = "; its axes are swapped" if values.shape == whole[::-1] else ""
        raise ConfigError([f"{place} has shape {values.shape}, the grid needs {whole} (ny, nx){swapped}"])
    return table(values)


def labelled(array: DataArray, row: Variable, grid: Any, place: str) -> PythonField:
    """The field of a DataArray; without records in time it becomes a table."""
    timed = times_of(array, place) if row.varies else None
    field = field_in(array.isel({timed[0]: 0}) if timed else array, row, grid, place)
    if row.name in VECTORS and field.pole != grid.pole:
        raise InputError(
            f"{place}: its axes and the grid's have different poles; "
            f"write it to a file for input.{row.name}, or give a function of the points"
        )
    values = np.ascontiguousarray(field.read(range(grid.ny), range(grid.nx)))
    return PythonField(array, in_time=True, tabulated=True) if timed else table(values)


def table(values: np.ndarray) -> PythonField:
    """The field of a table of values [ny, nx] or less, which becomes read-only."""
    values.flags.writeable = False
    return PythonField({"": values}, tabulated=True)


def of_time(function: Callable) -> bool:
    """Whether a function needs (at, t): the points, and a parameter called t."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # not written in Python
        return False
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    needed = [each.name for each in parameters if each.default is each.empty and each.kind not in variadic]
    return len(needed) == 2 and needed[1] == "t"


def numbers(value: Any, place: str) -> np.ndarray:
    """A new array, float64, NaN where values are masked. ConfigError: the values are no numbers."""
    try:
        found = np.ma.asarray(value)
    except (ValueError, TypeError):  # lists of unequal lengths, a Dataset
        found = np.ma.asarray(None)
    if found.dtype.kind not in "biuf":
        what = f"values of type {found.dtype}" if found.ndim else f"{value!r:.60}".partition("\n")[0]
        raise ConfigError(
            [
                f"{place}: {what} cannot be used; needs a function of the points, a number, an array or a DataArray "
                f"(input.{place.split()[-1]} names a file)"
            ]
        )
    return np.ma.filled(found.astype(np.float64), np.nan)


def with_python(
    config: Any,
    fields: Iterable[str],
    terms: Iterable[str],
    sources: Mapping[str, Any],
    objects: Iterable[Term],
    parameters: Mapping[str, Any] | None = None,
) -> Any:
    """The configuration with inputs from Python: texts for records, and the objects."""
    python = type(config.python)(fields=tuple(fields), terms=tuple(terms), calls=config.python.calls)
    python._sources, python._terms = dict(sources), tuple(objects)
    python._parameters = dict(config.python._parameters if parameters is None else parameters)
    return config.model_copy(update={"python": python})


def fields_of(config: Any) -> tuple[str, ...]:
    """The fields of the table and the tracers, arrays by their elements: those that a source may give."""
    there = ("", *config.open_sides.constituents)
    of_table = (name for name in GIVEN if (index_of(name) or there)[0] in there)
    return (*of_table, *(each.name for each in config.physics.tracers))


def rows_asked_for(terms: Iterable[Term]) -> dict[str, Variable]:
    """The user-defined coefficients of terms, by name."""
    return {row.name: row for term in terms for row in term.coefficients if row.name not in VARIABLES}


def case_terms(config: Any) -> list[Term]:
    """The terms that the case has as functions."""
    case: Any = config.case  # hashable, as it is frozen
    cls: Any = type(case)
    return [term_of_case(case, getattr(cls, name)) for name in terms_in(cls)]


def python_terms(config: Any) -> tuple[Term, ...]:
    """The user-defined terms: of the case, and from Python."""
    found = (*case_terms(config), *config.python._terms)
    recorded, there = [text.split()[0] for text in config.python.terms], {term.name for term in found}
    if missing := [name for name in recorded if name not in there]:
        raise ConfigError(
            [
                f"python.terms: {', '.join(missing)} comes from Python and lies in no file; continue the run there, as "
                "swmodel.Simulation.resume(DIR, terms=[...]).run(DIR), or with case=CLASS if a case has it"
            ]
        )
    return found


def formulas(config: Any) -> list[Formula]:
    """The functions of the points that give fields, from the case or from Python."""
    python, of_case = config.python, [*fields_of(config), *rows_asked_for(case_terms(config))]
    names = dict.fromkeys([*(name for name in of_case if name not in python.names), *python._sources])
    return [field for field in (field_of(config, name) for name in names) if isinstance(field, Formula)]
