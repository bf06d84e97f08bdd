"""Sources of a field: a number, a function of the points, a table, a file, or records in time; `field_of` chooses one.

Each is read in rows and columns within the grid, along its own axes: NaN where it has no value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from ...errors import ConfigError
from ...ocean.coordinates import points
from ...ocean.dates import units_of
from ...ocean.elements import array_of, index_of
from ...ocean.records import Span
from ...ocean.table import CORRECTIONS, INITIAL, VARIABLES, entry_of, location_of
from ...ocean.terms.outside import PARTS, file_of, in_case, number
from ...ocean.terms.tracer import content
from .formula import evaluated, in_time
from .netcdf_input import InputError, opened, series
from .netcdf_input.source import parse
from .stored import stored_field

#: Largest distance of a record from its step, in time steps, that counts as rounding.
LATE = 1e-6


class FieldSource:
    """A kind of source of a field; `what` names it in messages.

    Attributes:
        tabulated: whether it is a table of values, where missing depths are land.
        in_time: whether it has records in time. Then `at(step)` has the number of the last record at or before the
            begin of a step, and the Span to the next one. `date(record)` is a date in words.
    """

    tabulated: Any = False
    in_time: Any = False

    def pole(self, record: int = 0) -> tuple[float, float] | None:
        """The pole of the axes of a vector component; None: the Earth's, eastward and northward."""
        return None

    def check(self) -> None:
        """InputError: a file does not hold the field on this grid."""

    def read(self, rows, columns, record: int = 0, location: str = "", fill=None) -> np.ndarray:
        """Values in rows and columns within the grid, float64 that broadcast to them; NaN where missing.

        Args:
            record: its number in time.
            location: location of the points, if not that of the field.
            fill: [rows, columns] where the nearest value of a file replaces a missing one; None: nowhere.
        """
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class PythonField:
    """A checked field from Python, part of the configuration.

    Attributes:
        value: function of the points, also of t, or {location: values [ny, nx], "" for any}, or a DataArray with
            records in time. None: the case's function. An axis of length one has one value for all cells.
        in_time: whether it varies in time; restart files do not have such fields.
        tabulated: see FieldSource.
        recorded: the SHA-256 of its values in the record of a run; "" for none.
    """

    value: Any
    in_time: bool = False
    tabulated: bool = False
    recorded: str = ""


@dataclass(frozen=True, eq=False)
class Constant(FieldSource):
    """A number, for a field without another source."""

    value: float
    what = "a number of the configuration"

    def read(self, rows, columns, record=0, location="", fill=None):
        return np.full((1, 1), self.value)


@dataclass(frozen=True, eq=False)
class Formula(FieldSource):
    """A function of the Points; in time also of t, s since the start of the run: a record `every` so many seconds."""

    config: Any
    name: str
    function: Callable
    what: str
    in_time: bool = False
    every: float = 0.0

    def read(self, rows, columns, record=0, location="", fill=None):
        at = points(self.config.grid, location or location_of(self.name), rows, columns)
        t = record * self.every if self.in_time else None
        return evaluated(self.function, at, self.what, t, place_in(self.config, self.name))

    def at(self, step: int) -> tuple[int, Span]:
        apart = self.every / step_of(self.config)
        near = math.floor(step / apart) + np.arange(-1, 3)  # a quotient may be rounded to the next number
        places = whole(near * apart)
        at = int(np.searchsorted(places, step, side="right")) - 1
        return int(near[at]), Span(*places[at : at + 2])

    def date(self, record: int) -> str:
        return f"t = {record * self.every:g} s"


@dataclass(frozen=True, eq=False)
class Table(FieldSource):
    """Values of the whole grid from Python, by location; see PythonField."""

    config: Any
    what: str
    values: dict[str, np.ndarray]
    tabulated: bool = True

    def pole(self, record=0):
        return self.config.grid.pole if self.tabulated else None

    def read(self, rows, columns, record=0, location="", fill=None):
        values = self.values.get(location, next(iter(self.values.values())))
        values = values if len(values) == 1 else values[np.asarray(rows)]
        return values if values.shape[1] == 1 else values[:, np.asarray(columns)]


@dataclass(frozen=True, eq=False)
class File(FieldSource):
    """A variable of a file from an entry of [input]; see `netcdf_input`."""

    config: Any
    name: str
    text: str
    tabulated = True

    @property
    def what(self):
        return f"input.{self.name}: {self.text}"

    def opened(self, record: int = 0, location: str = ""):
        """A context with the variable, a `GridVariable`. InputError: the file does not hold it on this grid."""
        return opened(self.text, self.row(location), self.config.grid)

    def check(self) -> None:
        with self.opened():
            pass

    def row(self, location: str = ""):
        """The row of the field in the table of variables, at this location."""
        row = entry_of(self.name, self.config.physics)
        return row._replace(location=location or row.location)

    def pole(self, record=0):
        with self.opened(record) as variable:
            return variable.pole

    def read(self, rows, columns, record=0, location="", fill=None):
        with self.opened(record, location) as variable:
            return variable.read(rows, columns, fill)


@dataclass(frozen=True, eq=False)
class Stored(FieldSource):
    """An initial field by the state in a restart file, `input.state`."""

    config: Any
    name: str

    def pole(self, record=0):
        return self.config.grid.pole

    def read(self, rows, columns, record=0, location="", fill=None):
        if self.name in ("u", "v"):
            return stored_field(self.config, self.name, rows, columns)
        h = stored_field(self.config, "h", rows, columns)
        if self.name == "eta":
            return h - field_of(self.config, "depth").read(rows, columns)
        return stored_field(self.config, content(self.name).name, rows, columns) / h


@dataclass(frozen=True, eq=False)
class InTime(File):
    """A variable with dates: `text` is the entry of [input], or the name of `array`; without an array, files."""

    array: Any = None
    in_time = True

    @cached_property
    def records(self) -> series.Records:
        """Its records, checked except for their values."""
        if self.array is not None:
            return series.records_in(self.array, self.config.time, self.text)
        stamps = parse(self.text).stamps()
        return series.records_of(self.text, self.row(), self.config.grid, self.config.time, stamps)

    @property
    def what(self):
        return self.records.what

    def opened(self, record=0, location=""):
        return self.records.fields[record](self.row(location), self.config.grid)

    def at(self, step: int) -> tuple[int, Span]:
        places, dates = whole(self.records.seconds / step_of(self.config)), self.records.dates
        number = int(np.searchsorted(places, step, side="right")) - 1
        if number == len(places) - 1 and step - places[-1] < 1 and number:
            number -= 1
        if not 0 <= number < len(places) - 1:
            import cftime

            time = self.config.time
            needed = cftime.num2date(step * step_of(self.config), units_of(time), time.calendar)
            raise InputError(
                f"{self.what}: its records begin at {dates[0]} and end at {dates[-1]}, and the run needs them at "
                f"{needed:%Y-%m-%dT%H:%M:%S}; give more of them, another time.start or a shorter run"
            )
        return number, Span(*places[number : number + 2])

    def date(self, record: int) -> str:
        return self.records.dates[record]


def place_in(config, name: str) -> tuple[int, ...]:
    """The index of an element among the constituents and parts of its array in this run; () for other fields."""
    if not (index := index_of(name)):
        return ()
    return config.open_sides.constituents.index(index[0]), [*PARTS].index(index[1])


def step_of(config) -> float:
    """The time step, s; a second before it is known, for callers that need only kinds of fields."""
    return config.time.dt or 1.0


def whole(places: np.ndarray) -> np.ndarray:
    """Times of records, in steps; whole numbers without their rounding errors."""
    near = np.rint(places)
    return np.where(np.abs(places - near) < LATE, near, places)


def field_of(config, name: str) -> FieldSource:
    """What gives a field: Python before a state, that before a file, a file before the case, else a number.

    Corrections are zero, until they are controls.
    """
    if name in CORRECTIONS:
        every = config.assimilation.correction_every
        return Formula(config, name, lambda at, t: 0.0, f"{name} of [assimilation]", True, every)
    if name in config.python.names:
        return field_in_python(config, name, config.python._sources.get(name))
    if config.input.state and name in (*INITIAL, *(each.name for each in config.physics.tracers)):
        return Stored(config, name)
    if text := file_of(config, name):
        row = entry_of(name, config.physics)
        return (InTime if row.varies and series.in_time(text, row) else File)(config, name, text)
    return field_of_case(config, name) if in_case(config, name) else Constant(constant(config, name))


def field_in_python(config, name: str, given: PythonField | None) -> FieldSource:
    """The source of a field from Python; one that is only recorded (None) cannot be read."""
    what = f"fields: {name}"
    if given is None:
        return Formula(config, name, partial(absent, name), what)
    if given.value is None:
        return field_of_case(config, name)
    if callable(given.value):
        return Formula(config, name, given.value, what, given.in_time, config.forcing.every)
    if given.in_time:
        return InTime(config, name, what, array=given.value)
    return Table(config, what, given.value, given.tabulated)


def field_of_case(config, name: str) -> Formula:
    """The function of the case for a field."""
    case, function = config.case, partial(getattr(config.case, array_of(name)), config)
    varies = in_time(getattr(type(case), array_of(name)))
    return Formula(config, name, function, f"{name} of the case {case.name}", varies, config.forcing.every)


def absent(name: str, at=None) -> Any:
    """The function of a field that is only recorded: it raises ConfigError."""
    raise ConfigError(
        [
            f"python.fields: {name} comes from Python and lies in no file except the restart files of its run; "
            'continue that run, or give the field again, as swmodel.Simulation(..., fields={"' + name + '": ...})'
        ]
    )


def constant(config, name: str) -> float:
    """The value of a field without another source: the number of its key, water, or zero."""
    if name == "mask":
        return 1.0
    if name in (tracers := {each.name: each.initial for each in config.physics.tracers}):
        return tracers[name]
    if index_of(name):
        return number(config.open_sides, name)
    section, _, key = VARIABLES[name].key.partition(".")
    return getattr(getattr(config, section), key) if key else 0.0


def varies(config, name: str) -> bool:
    """Whether a coefficient has records in time."""
    return name in VARIABLES and VARIABLES[name].varies and field_of(config, name).in_time
