"""Fields that are handed over in Python: functions of the points, numbers, arrays of NumPy, DataArrays of xarray.

Each becomes a Source, which gives its values in any rows and columns of the grid, as a case or a file does.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, Union

import numpy as np
from numpy.typing import ArrayLike

from ...ocean.coordinates import Points, points
from ...ocean.table import entry_of, location_of
from ...ocean.variable import Variable
from ..errors import ConfigError
from ..options.case_check import evaluated, values_in_time
from ..options.case_check import values as values_of_case
from .netcdf_input import InputError, read_labelled, records_in, series, times_of

if TYPE_CHECKING:
    from xarray import DataArray

#: What a run says of a function of time between its name and its SHA-256.
IN_TIME = "in-time"

#: Parameters that a function need not be given.
VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)

#: Cells that are evaluated at a time where the whole field is looked at.
CELLS = 2**17


class Source(Protocol):
    """A field that was handed over in Python.

    Attributes:
        stored: whether it is a table of values: where a depth has none is land.
        in_time: whether it varies in time, so that no restart file has it; what is read is then what it begins with.
    """

    @property
    def stored(self) -> bool: ...

    @property
    def in_time(self) -> bool: ...

    def read(self, config: Any, name: str, rows: Any, columns: Any, location: str = "") -> np.ndarray:
        """Values in rows and columns of the grid, float64 that broadcast to them; NaN where there are none.

        Args:
            location: of the points, where it is not that of the field; tables have no other.

        Raises:
            ConfigError: it cannot be evaluated.
        """

    def digest(self, config: Any, name: str) -> str:
        """SHA-256 of its values on the whole grid, as hexadecimal digits."""


@dataclass(frozen=True, eq=False)
class Formula:
    """A function of the Points.

    Attributes:
        what: it is, for messages.
    """

    function: Callable
    what: str
    stored: bool = False
    in_time: bool = False

    def read(self, config: Any, name: str, rows: Any, columns: Any, location: str = "") -> np.ndarray:
        return evaluated(self.function, points(config.grid, location or location_of(name), rows, columns), self.what)

    def digest(self, config: Any, name: str) -> str:
        return digest(self.read, config, name)


@dataclass(frozen=True, eq=False)
class FormulaInTime:
    """A function of the Points and of time, s since the start of the run; attributes are those of a Formula."""

    function: Callable
    what: str
    stored: bool = False
    in_time: bool = True

    def read(self, config: Any, name: str, rows: Any, columns: Any, location: str = "", t: float = 0.0) -> np.ndarray:
        at = points(config.grid, location or location_of(name), rows, columns)
        return evaluated(partial(self.function, t=t), at, f"{self.what} at t = {t:g} s")

    def digest(self, config: Any, name: str) -> str:
        return digest_of_first(self.read, config, name)


@dataclass(frozen=True, eq=False)
class OfCase:
    """The function of a case that was handed over."""

    stored: bool = False
    in_time: bool = False

    def read(self, config: Any, name: str, rows: Any, columns: Any, location: str = "") -> np.ndarray:
        return values_of_case(config, name, points(config.grid, location or location_of(name), rows, columns))

    def digest(self, config: Any, name: str) -> str:
        return digest(self.read, config, name)


@dataclass(frozen=True, eq=False)
class OfCaseInTime(OfCase):
    """The function of the points and of time of a case."""

    in_time: bool = True

    def read(self, config: Any, name: str, rows: Any, columns: Any, location: str = "", t: float = 0.0) -> np.ndarray:
        return values_in_time(config, name, points(config.grid, location or location_of(name), rows, columns), t)

    def digest(self, config: Any, name: str) -> str:
        return digest_of_first(self.read, config, name)


#: All of each kind are one.
OF_CASE, OF_CASE_IN_TIME = OfCase(), OfCaseInTime()


@dataclass(frozen=True, eq=False)
class Table:
    """Values [ny, nx] of the whole grid; an axis of length one holds one value for all cells."""

    values: np.ndarray
    stored: bool = True
    in_time: bool = False

    def read(self, config: Any, name: str, rows: Any, columns: Any, location: str = "") -> np.ndarray:
        values = self.values if len(self.values) == 1 else self.values[np.asarray(rows)]
        return values if values.shape[1] == 1 else values[:, np.asarray(columns)]

    def digest(self, config: Any, name: str) -> str:
        return digest(self.read, config, name)


@dataclass(frozen=True, eq=False)
class TableInTime:
    """A DataArray with several records in time.

    Attributes:
        what: it is, for messages.
    """

    array: Any
    what: str
    stored: bool = True
    in_time: bool = True

    def records(self, config: Any) -> series.Records:
        """Its records, checked but for their values.

        Raises:
            InputError: their times cannot be used.
        """
        return records_in(self.array, config.time, self.what)

    def read(self, config: Any, name: str, rows: Any, columns: Any, location: str = "", number: int = 0) -> np.ndarray:
        entry = entry_of(name, config.physics)
        entry = entry._replace(location=location or entry.location)
        return self.records(config).read(number, entry, config.grid, np.asarray(rows), np.asarray(columns))

    def digest(self, config: Any, name: str) -> str:
        """SHA-256 of its times, and of its first two records."""
        try:
            times = np.ascontiguousarray(self.records(config).seconds, "<f8").tobytes().hex()
            return together(times, *(digest(partial(self.read, number=number), config, name) for number in (0, 1)))
        except InputError as error:
            raise ConfigError([str(error)]) from None


@dataclass(frozen=True, eq=False)
class Local:
    """Values [y, x] of the part of the grid that this process has (`swmodel.local`)."""

    values: Any


#: What a field may be given as (docs/python.md).
Field: TypeAlias = Union[Callable[[Points], ArrayLike], ArrayLike, Local, "DataArray"]


def local(values: ArrayLike) -> Local:
    """An array [y, x] of this process's part of the grid alone, `Simulation.block`, in place of one of the whole grid.

    On one process that is the same.
    """
    return Local(values)


def source_of(value: Any, row: Variable, grid: Any) -> Source | Local:
    """The Source of a field that is handed over.

    Args:
        value: function of the Points, number, array or DataArray; of what varies also a function of (at, t), or a
            DataArray with several records in time; or an array made `local`.
        row: of the table.
        grid: section of the configuration.

    Raises:
        ConfigError: it is none of these, or does not lie on the grid.
    """
    place = f"fields: {row.name}"
    if isinstance(value, Local):
        if hasattr(value.values, "dims"):
            raise ConfigError([f"{place}: local takes an array, its rows from south to north: DataArray.values is one"])
        return Local(numbers(value.values, place, "local(array)"))
    if callable(value):
        if not of_time(value):
            return Formula(value, place)
        if not row.varies:
            raise ConfigError([f"{place}: does not vary in time; must be a function of (at)"])
        return FormulaInTime(value, place)
    if hasattr(value, "data_vars"):
        raise ConfigError([f"{place}: a Dataset holds several fields; give one of them, dataset[NAME]"])
    if hasattr(value, "dims") and hasattr(value, "coords"):
        try:
            if not (row.varies and (timed := times_of(value, place))):
                return Table(frozen(read_labelled(value, row, grid, place)))
            read_labelled(value.isel({timed[0]: 0}), row, grid, place)  # that it is as wanted
            return TableInTime(value, place)
        except InputError as error:
            raise ConfigError([str(error)]) from None
    values = numbers(value, place, "function of the points, a number, an array")
    if values.ndim == 0:
        return Table(values.reshape(1, 1))
    whole = grid.ny, grid.nx
    if values.ndim != 2 or any(length not in (1, wanted) for length, wanted in zip(values.shape, whole, strict=True)):
        swapped = "; its axes are swapped" if values.shape == whole[::-1] else ""
        raise ConfigError([f"{place} has shape {values.shape}, the grid needs {whole} (ny, nx){swapped}"])
    return Table(values)


def of_time(function: Callable) -> bool:
    """Whether a function needs (at, t): the points, and the time under this name."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # of what is not written in Python
        return False
    needed = [each.name for each in parameters if each.default is each.empty and each.kind not in VARIADIC]
    return len(needed) == 2 and needed[1] == "t"


def numbers(value: Any, place: str, wanted: str) -> np.ndarray:
    """An array of its own, float64, NaN where one is masked.

    Raises:
        ConfigError: these are no numbers.
    """
    if isinstance(value, str):
        raise ConfigError([f'{place}: "{value:.60}" is a text; a file is named by input.{place.split()[-1]}'])
    try:
        found = np.ma.asarray(value)
    except ValueError:  # lists of unequal lengths
        found = np.ma.asarray(None)
    if found.dtype.kind not in "biuf":
        what = f"values of type {found.dtype}" if found.ndim else f"{value!r:.60}"
        raise ConfigError([f"{place}: {what} cannot be used; needs a {wanted} or a DataArray"])
    return frozen(np.ma.filled(found.astype(np.float64), np.nan))


def frozen(values: np.ndarray) -> np.ndarray:
    """The array, which nobody can write any more."""
    values.flags.writeable = False
    return values


def digest(read: Callable, config: Any, name: str) -> str:
    """See `Source.digest` of what `read` reads; no more of the field is held at a time than a band of rows."""
    ny, nx = config.grid.ny, config.grid.nx
    found, step = hashlib.sha256(), max(1, CELLS // nx)
    for first in range(0, ny, step):
        rows = np.arange(first, min(first + step, ny))
        values = np.broadcast_to(read(config, name, rows, np.arange(nx)), (len(rows), nx))
        found.update(np.ascontiguousarray(values, "<f8").data)
    return found.hexdigest()


def digest_of_first(read: Callable, config: Any, name: str) -> str:
    """SHA-256 of the first two records of a function of time, of which `read` takes t."""
    return together(*(digest(partial(read, t=t), config, name) for t in (0.0, config.forcing.every)))


def together(*found: str) -> str:
    """SHA-256 of several texts."""
    return hashlib.sha256("".join(found).encode()).hexdigest()
