"""Sources of a field, such as a number, a function of the points, a table or a file; `source_of` chooses one.

A source is read in rows and columns within the grid. Components of vectors are along its own axes
(`FieldSource.frame`), and missing values are NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ConfigError, UsageError
from ...ocean.barrier_faces import crest_heights, gate_times
from ...ocean.coordinates import Frame, frame_of, points
from ...ocean.elements import array_of, index_of
from ...ocean.records import RecordInterval
from ...ocean.table import CORRECTIONS, INITIAL_FIELDS, VARIABLES, location_of, variable_in_run
from ...ocean.terms.barriers import BARRIER_CRESTS
from ...ocean.terms.boundary_data import PARTS, input_file_of, is_in_case, uniform_tide
from ...ocean.terms.tracer import RIVERS_SUFFIX, content_variable
from . import rivers
from .domain import domain_mask
from .formula import evaluate_function, is_time_varying_field
from .netcdf_input import InputError, open_variable, series
from .netcdf_input.errors import log_once
from .netcdf_input.input_entry import parse_entry
from .record_times import describe_time, find_record, interval_at, time_step_of, years_of_run
from .start_state import read_state_field

if TYPE_CHECKING:
    from ...config.options.model import Config

#: Offset (rows, columns) from the cell of a face to the cell on its other side, by the location of the face.
STEP_ACROSS_FACE = {"u": (0, 1), "v": (1, 0)}


class FieldSource:
    """Where the values of a field come from.

    Attributes:
        label: its name in messages.
        is_table: whether it is a table of values, in which missing depths are land.
        varies_in_time: whether it has records in time; only such sources have `record_at` and `date`.
    """

    label: Any
    is_table: Any = False
    varies_in_time: Any = False

    @property
    def last_record(self) -> float:
        """The number of the last record; infinite for a function of time without an end."""
        return 0

    def frame(self, record: int = 0) -> Frame:
        """The frame whose axes the components of vectors follow; None: eastward and northward."""
        return None

    def check(self) -> None:
        """Raise InputError if a file does not hold the field on this grid."""

    def record_at(self, step: float) -> tuple[int, RecordInterval]:
        """The number of the last record at or before the start of a step, and the RecordInterval to the next one."""
        raise NotImplementedError

    def date(self, record: int) -> str:
        """The date of a record, in words."""
        raise NotImplementedError

    def read(self, rows, columns, record: float = 0, location: str = "", fill=None) -> np.ndarray:
        """Values in rows and columns within the grid, float64, which broadcast to these; NaN where missing.

        Args:
            record: number of the record in time.
            location: location of the points on the C-grid; "": that of the field.
            fill: where the nearest value in a file replaces a missing one, [rows, columns]; None: nowhere.
        """
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class PythonField:
    """A checked field from Python, part of the configuration.

    Attributes:
        value: function of the points (and of t), {location: values [ny, nx]} with "" for any location, or a DataArray
            with records in time; None: the function of the case. An axis of length one has one value for all cells.
        varies_in_time: whether it varies in time; restart files do not contain such fields.
        is_table: see FieldSource.
        checksum: the SHA-256 of its values, if a run has recorded it, else "".
    """

    value: Any
    varies_in_time: bool = False
    is_table: bool = False
    checksum: str = ""


@dataclass(frozen=True, eq=False)
class ConstantSource(FieldSource):
    """A number, for a field without another source."""

    value: float
    label = "a number of the configuration"

    def read(self, rows, columns, record=0, location="", fill=None):
        return np.full((1, 1), self.value)


@dataclass(frozen=True, eq=False)
class FormulaSource(FieldSource):
    """A function of the Points or, if it varies in time, of the Points and t, s since the start.

    A function of time has a record every `every` s or, if there are `times`, s, only at these. After the last of them
    it no longer changes.
    """

    config: Config
    name: str
    function: Callable
    label: str
    varies_in_time: bool = False
    every: float = 0.0
    times: tuple[float, ...] = ()

    @property
    def last_record(self):
        return len(self.times) - 1 if self.times else math.inf if self.varies_in_time else 0

    def time_of(self, record: float) -> float:
        """The time of a record, s since the start."""
        return self.times[min(int(record), len(self.times) - 1)] if self.times else record * self.every

    def read(self, rows, columns, record=0, location="", fill=None):
        at = points(self.config.grid, location or location_of(self.name), rows, columns)
        t = self.time_of(record) if self.varies_in_time else None
        return evaluate_function(self.function, at, self.label, t, index_in_array(self.config, self.name))

    def record_at(self, step: float) -> tuple[int, RecordInterval]:
        if self.times:
            return interval_at(np.append(np.array(self.times) / time_step_of(self.config), np.inf), step)
        record_interval_steps = self.every / time_step_of(self.config)
        # One more record on either side, because the quotient may be rounded to the next integer.
        record_numbers = math.floor(step / record_interval_steps) + np.arange(-1, 3)
        position, interval = interval_at(record_numbers * record_interval_steps, step)
        return int(record_numbers[position]), interval

    def date(self, record: int) -> str:
        return f"t = {self.time_of(record):g} s"


@dataclass(frozen=True, eq=False)
class TableSource(FieldSource):
    """Values of the whole grid from Python, by location; see PythonField."""

    config: Config
    label: str
    values: dict[str, np.ndarray]
    is_table: bool = True

    def frame(self, record=0):
        return frame_of(self.config.grid) if self.is_table else None

    def read(self, rows, columns, record=0, location="", fill=None):
        values = self.values.get(location, next(iter(self.values.values())))
        values = values if len(values) == 1 else values[np.asarray(rows)]
        return values if values.shape[1] == 1 else values[:, np.asarray(columns)]


@dataclass(frozen=True, eq=False)
class FileSource(FieldSource):
    """A variable of a file, named by an entry of [input]; see `netcdf_input`."""

    config: Config
    name: str
    entry: str
    is_table = True

    @property
    def label(self):
        return f"input.{self.name}: {self.entry}"

    def open_variable(self, record: int = 0, location: str = ""):
        """A context with the variable, a `GridVariable`. InputError: the file does not hold it on this grid."""
        return open_variable(self.entry, self.variable_at(location), self.config.grid)

    def check(self) -> None:
        with self.open_variable():
            pass

    def variable_at(self, location: str = ""):
        """The Variable of the field at `location`; "": at that of the field."""
        variable = variable_in_run(self.name, self.config.physics)
        return variable._replace(location=location or variable.location)

    def frame(self, record=0):
        with self.open_variable(record) as variable:
            return variable.frame

    def read(self, rows, columns, record=0, location="", fill=None):
        with self.open_variable(record, location) as variable:
            values = variable.read(rows, columns, fill)
        if variable.is_current:
            return values * depth_at_faces(self.config, location or location_of(self.name), rows, columns)
        return values


def depth_at_faces(config: Config, location: str, rows, columns) -> np.ndarray:
    """The mean depth of the two cells at each face in rows and columns, m; the first cell follows the last one."""
    source, grid, (north, east) = source_of(config, "depth"), config.grid, STEP_ACROSS_FACE[location]
    rows, columns = np.asarray(rows), np.asarray(columns)
    across = (rows + north) % grid.ny, (columns + east) % grid.nx
    return 0.5 * (source.read(rows, columns) + source.read(*across))


@dataclass(frozen=True, eq=False)
class RestartSource(FieldSource):
    """An initial field from the state in a restart file, `input.state`."""

    config: Config
    name: str

    def frame(self, record=0):
        return frame_of(self.config.grid)

    def read(self, rows, columns, record=0, location="", fill=None):
        if self.name in ("u", "v"):
            return read_state_field(self.config, self.name, rows, columns)
        h = read_state_field(self.config, "h", rows, columns)
        if self.name == "eta":
            return h - source_of(self.config, "depth").read(rows, columns)
        return read_state_field(self.config, content_variable(self.name).name, rows, columns) / h


@dataclass(frozen=True, eq=False)
class RecordsSource(FileSource):
    """Records with dates, from the files of an `entry` of [input], or from a DataArray `array` labelled `entry`."""

    array: Any = None

    @property
    def varies_in_time(self):
        return True

    @cached_property
    def records(self) -> series.VariableRecords:
        """Its records, whose values are not yet checked; a climatology has its records in each year of the run."""
        config = self.config
        years = years_of_run(config) if self.name in config.forcing.climatology else None
        if self.array is not None:
            return series.records_of_array(self.array, config.time, self.entry, years)
        stamps = parse_entry(self.entry).file_stamps()
        return series.records_of_entry(self.entry, self.variable_at(), config.grid, config.time, stamps, years)

    @property
    def label(self):
        return self.records.label

    @property
    def last_record(self):
        return len(self.records.dates) - 1

    @contextmanager
    def open_variable(self, record=0, location=""):
        number = min(record, self.last_record)
        with self.records.fields[number](self.variable_at(location), self.config.grid) as variable:
            yield variable._replace(context=f"{variable.context} at {self.date(number)}")

    def record_at(self, step: float) -> tuple[int, RecordInterval]:
        records = self.records
        keeps_last = self.variable_at().keeps_last_record
        return find_record(self.config, self.label, records.seconds, records.dates, step, keeps_last)

    def date(self, record: int) -> str:
        return self.records.dates[min(record, self.last_record)]


@dataclass(frozen=True, eq=False)
class BarrierSource(FieldSource):
    """The heights of the crests of barriers on faces of one axis. Gates move linearly between its records in time."""

    config: Config
    name: str
    label = "[[barrier]]"

    @cached_property
    def times(self) -> np.ndarray:
        return gate_times(self.config.barriers.lines)

    @property
    def varies_in_time(self):
        return len(self.times) > 2  # without gates there are two times

    def read(self, rows, columns, record=0, location="", fill=None):
        try:
            return crest_heights(self.config, self.name[-1], self.times[record], rows, columns)
        except UsageError as error:
            raise InputError(f"barriers.lines: {error}") from None

    def record_at(self, step: float) -> tuple[int, RecordInterval]:
        return interval_at(self.times / time_step_of(self.config), step)

    def date(self, record: int) -> str:
        return f"t = {self.times[record]:g} s"


@dataclass(frozen=True, eq=False)
class RiversSource(RecordsSource):
    """A field of the tables [[river]]: inflow and drainage in m s-1, or the concentration of a tracer in their water.

    It has a record at each time in the series of any of its rivers, within the range that all of them share.
    """

    entry: str = ""

    @cached_property
    def tables(self) -> list[Any]:
        return rivers.rivers_of_field(self.config, self.name)

    @property
    def varies_in_time(self):
        return self.name in rivers.DISCHARGE_SIGNS and any(river.series for river in self.tables)

    @property
    def label(self):
        return f"forcing.rivers: {', '.join(river.name for river in self.tables)}"

    @cached_property
    def cells(self) -> list[rivers.RiverCells]:
        return [rivers.cells_of_river(self.config, river, is_interior_water) for river in self.tables]

    @cached_property
    def records(self) -> series.VariableRecords:
        times = rivers.joint_times(self.config, self.tables)
        dates = tuple(describe_time(at, self.config.time) for at in times)
        return series.VariableRecords(self.label, times, dates, ())

    def frame(self, record=0):
        return None

    def check(self) -> None:
        """Do nothing: the files are checked with the tables (`positions.rivers`)."""

    def read(self, rows, columns, record=0, location="", fill=None):
        values, nx = np.zeros((len(rows), len(columns))), self.config.grid.nx
        seconds = self.records.seconds[record] if self.varies_in_time else 0.0
        for river, cells in zip(self.tables, self.cells, strict=True):
            j, i = np.flatnonzero(np.isin(rows, cells.rows)), np.flatnonzero(np.isin(columns, cells.columns))
            is_river_cell = np.isin(rows[j][:, None] * nx + columns[i], cells.rows * nx + cells.columns)
            before = values[np.ix_(j, i)]
            if self.name in rivers.DISCHARGE_SIGNS:
                discharge = rivers.discharge_at(self.config, river, seconds, rivers.DISCHARGE_SIGNS[self.name])
                values[np.ix_(j, i)] = before + is_river_cell * (discharge / cells.area)
            else:
                concentration = river.tracers[self.name.removesuffix(RIVERS_SUFFIX)]
                values[np.ix_(j, i)] = np.where(is_river_cell, concentration, before)
        return values

    def record_at(self, step: float) -> tuple[int, RecordInterval]:
        for river in (river for river in self.tables if river.series):
            label, seconds, _, dates = rivers.series_of_river(self.config, river)
            find_record(self.config, label, seconds, dates, step)
        return super().record_at(step)


def index_in_array(config: Config, name: str) -> tuple[int, ...]:
    """The index of an element among the constituents and parts of its array in this run; () for other fields."""
    if not (index := index_of(name)):
        return ()
    return config.open_boundaries.constituents.index(index[0]), [*PARTS].index(index[1])


def source_of(config: Config, name: str) -> FieldSource:
    """The source of a field. In order of precedence: Python, a restart state, a file, rivers, the case, a number.

    Crests of barriers come from their tables, and corrections are zero unless they are controls.
    """
    if name in CORRECTIONS:
        every = config.assimilation.correction_every
        return FormulaSource(config, name, lambda at, t: 0.0, f"{name} of [assimilation]", True, every)
    if name in BARRIER_CRESTS:
        return BarrierSource(config, name)
    if name in config.python.names:
        return source_in_python(config, name, config.python._sources.get(name))
    if config.input.state and name in (*INITIAL_FIELDS, *(each.name for each in config.physics.tracers)):
        return RestartSource(config, name)
    if entry := input_file_of(config, name):
        variable = variable_in_run(name, config.physics)
        return (
            RecordsSource if variable.varies_in_time and series.has_records_in_time(entry, variable) else FileSource
        )(config, name, entry)
    if rivers.rivers_of_field(config, name):
        return RiversSource(config, name)
    return source_in_case(config, name) if is_in_case(config, name) else ConstantSource(uniform_value(config, name))


def source_in_python(config: Config, name: str, field: PythonField | None) -> FieldSource:
    """The source of a field from Python; a field that is only recorded (None) cannot be read."""
    label = f"fields: {name}"
    if field is None:
        return FormulaSource(config, name, partial(raise_missing_field, name), label)
    if field.value is None:
        return source_in_case(config, name)
    if callable(field.value):
        return FormulaSource(config, name, field.value, label, field.varies_in_time, config.forcing.every)
    if field.varies_in_time:
        return RecordsSource(config, name, label, array=field.value)
    return TableSource(config, label, field.value, field.is_table)


def source_in_case(config: Config, name: str) -> FormulaSource:
    case, function = config.case, partial(getattr(config.case, array_of(name)), config)
    if name == "uplift" and (times := case.uplift_times(config)):
        return FormulaSource(
            config, name, partial(case.uplift_at, config), f"{name} of the case {case.name}", True, times=times
        )
    varies = is_time_varying_field(getattr(type(case), array_of(name)))
    return FormulaSource(config, name, function, f"{name} of the case {case.name}", varies, config.forcing.every)


def raise_missing_field(name: str, at=None) -> Any:
    """Raise ConfigError, in place of the function of a field that is only recorded."""
    raise ConfigError(
        [
            f"python.fields: {name} was given in Python and is stored only in the restart files of its run; "
            'continue that run, or give the field again, as swmodel.Simulation(..., fields={"' + name + '": ...})'
        ]
    )


def uniform_value(config: Config, name: str) -> float:
    """The value of a field without another source: 1 for the mask, the number in the configuration, or else zero."""
    if name == "mask":
        return 1.0
    if name in (tracers := {each.name: each.initial for each in config.physics.tracers}):
        return tracers[name]
    if index_of(name):
        return uniform_tide(config.open_boundaries, name)
    section, _, key = VARIABLES[name].key.partition(".")
    return getattr(getattr(config, section), key) if key else 0.0


def varies_in_time(config: Config, name: str) -> bool:
    """Whether a coefficient has records in time."""
    return name in VARIABLES and VARIABLES[name].varies_in_time and source_of(config, name).varies_in_time


def read_mask(config: Config, rows, columns) -> np.ndarray:
    """1 on water, 0 on land, from a mask, or from a table of depths in which missing values are land.

    Row and column numbers beyond the grid wrap around to its other side. InputError: a value of the mask is neither 0
    nor 1.
    """
    rows, columns = np.asarray(rows) % config.grid.ny, np.asarray(columns) % config.grid.nx
    source, depth = source_of(config, "mask"), source_of(config, "depth")
    if isinstance(source, ConstantSource) and depth.is_table:
        has_depth = np.isfinite(depth.read(rows, columns))
        if not has_depth.all():
            log_once(f"{depth.label}: cells without a value are land, because there is no mask")
        return has_depth.astype(np.float64)
    values = source.read(rows, columns)
    values = np.where(np.isnan(values), 0.0, values) if source.is_table else values
    wrong = np.broadcast_to((values != 0) & (values != 1), (len(rows), len(columns)))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        value = np.broadcast_to(values, wrong.shape)[row, column]
        raise InputError(
            f"{source.label}: must be 0 (land) or 1 (water), but is {value:g} at row {rows[row]}, column "
            f"{columns[column]}; round fractions of water to 0 or 1"
        )
    return values


def is_interior_water(config: Config, rows, columns) -> np.ndarray:
    """Whether cells are water whose level the model computes, not the cells at open boundaries, [rows, columns]."""
    return (domain_mask(config, rows, columns, 1) * read_mask(config, rows, columns)) != 0
