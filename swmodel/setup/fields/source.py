"""What gives a field that was handed over in Python: a function, the case, a table, records in time.

A Source gives values in any rows and columns of the grid, as a case or a file does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from ...errors import ConfigError
from ...ocean.coordinates import points
from ...ocean.table import entry_of, location_of
from .formula import evaluated, values_of_case
from .netcdf_input import InputError, series

#: What a run says of a function of time between its name and its SHA-256.
IN_TIME = "in-time"

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
    """A function of the Points; in time also of t, s since the start of the run.

    Attributes:
        what: it is, for messages.
    """

    function: Callable
    what: str
    in_time: bool = False
    stored: bool = False

    def read(self, config: Any, name: str, rows: Any, columns: Any, location: str = "", t: float = 0.0) -> np.ndarray:
        at = points(config.grid, location or location_of(name), rows, columns)
        return evaluated(self.function, at, self.what, t if self.in_time else None)

    def digest(self, config: Any, name: str) -> str:
        return digest_of_formula(self, config, name)


@dataclass(frozen=True, eq=False)
class OfCase:
    """The function of this field of a case that was handed over."""

    in_time: bool = False
    stored: bool = False

    def read(self, config: Any, name: str, rows: Any, columns: Any, location: str = "", t: float = 0.0) -> np.ndarray:
        at = points(config.grid, location or location_of(name), rows, columns)
        return values_of_case(config, name, at, t if self.in_time else None)

    def digest(self, config: Any, name: str) -> str:
        return digest_of_formula(self, config, name)


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
        return series.records_in(self.array, config.time, self.what)

    def read(self, config: Any, name: str, rows: Any, columns: Any, location: str = "", number: int = 0) -> np.ndarray:
        entry = entry_of(name, config.physics)
        entry = entry._replace(location=location or entry.location)
        with self.records(config).fields[number](entry, config.grid) as field:
            return field.read(rows, columns)

    def digest(self, config: Any, name: str) -> str:
        """SHA-256 of its times, and of its first two records."""
        try:
            times = np.ascontiguousarray(self.records(config).seconds, "<f8").tobytes().hex()
            return together(times, *(digest(partial(self.read, number=number), config, name) for number in (0, 1)))
        except InputError as error:
            raise ConfigError([str(error)]) from None


def digest(read: Callable, config: Any, name: str) -> str:
    """See `Source.digest` of what `read` reads; no more of the field is held at a time than a band of rows."""
    ny, nx = config.grid.ny, config.grid.nx
    found, step = hashlib.sha256(), max(1, CELLS // nx)
    for first in range(0, ny, step):
        rows = np.arange(first, min(first + step, ny))
        values = np.broadcast_to(read(config, name, rows, np.arange(nx)), (len(rows), nx))
        found.update(np.ascontiguousarray(values, "<f8").data)
    return found.hexdigest()


def digest_of_formula(source: Formula | OfCase, config: Any, name: str) -> str:
    """SHA-256 of the values; of a function of time, of its first two records."""
    if not source.in_time:
        return digest(source.read, config, name)
    return together(*(digest(partial(source.read, t=t), config, name) for t in (0.0, config.forcing.every)))


def together(*found: str) -> str:
    """SHA-256 of several texts."""
    return hashlib.sha256("".join(found).encode()).hexdigest()
