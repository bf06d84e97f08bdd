"""The tables [[river]]: their series of discharge, their cells, and the fields that they contribute to."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ... import text_table
from ...errors import UsageError
from ...ocean.coordinates import cells_containing, distances_from, metrics, points, to_grid_axes
from ...ocean.dates import format_date, time_units
from ...ocean.places import position_in_table
from ...ocean.terms.rain import DRAINAGE, RIVER_INFLOW
from ...ocean.terms.tracer import RIVERS_SUFFIX
from .netcdf_input import InputError
from .netcdf_input.dataset import is_numeric, open_file, read_values
from .netcdf_input.input_entry import parse_entry
from .netcdf_input.missing_values import MISSING_VALUE_MARKS, are_marks
from .netcdf_input.series import seconds_and_dates
from .netcdf_input.times import find_record_times
from .netcdf_input.units import conversion_factor
from .record_times import describe_time

if TYPE_CHECKING:
    from ...config.options.model import Config

DISCHARGE_UNITS = "m3 s-1"
#: The columns of a series of discharge in a text file.
COLUMNS = ("time", "discharge")
#: The first bytes of NetCDF files, and of those in HDF5.
NETCDF_SIGNATURES = (b"CDF", b"\x89HDF")
#: The sign of the discharges that contribute to each field.
DISCHARGE_SIGNS = {RIVER_INFLOW.name: 1.0, DRAINAGE.name: -1.0}


class DischargeSeries(NamedTuple):
    """A discharge that is linear between rows.

    `seconds`: times since the start of the run, s, ascending; `dates`: the same in words; `discharge`: m3 s-1. A row is
    added where the discharge changes its sign, so that both signs are linear between rows, too.
    """

    label: str
    seconds: np.ndarray
    discharge: np.ndarray
    dates: tuple[str, ...]


class RiverCells(NamedTuple):
    """The cells that share the water of a river, [n] rows and columns, and their area, m2."""

    rows: np.ndarray
    columns: np.ndarray
    area: float


def rivers_of_field(config: Config, name: str) -> list[Any]:
    """The tables [[river]] that contribute to a field: inflow, drainage, or a tracer in the water of rivers."""
    if name.endswith(RIVERS_SUFFIX):
        tracer = name.removesuffix(RIVERS_SUFFIX)
        return [
            river
            for river in config.forcing.rivers
            if tracer in river.tracers and has_discharge_of_sign(config, river, 1.0)
        ]
    if name not in DISCHARGE_SIGNS:
        return []
    return [river for river in config.forcing.rivers if has_discharge_of_sign(config, river, DISCHARGE_SIGNS[name])]


def tracers_in_rivers(config: Config) -> set[str]:
    """The names of the tracers that rivers bring."""
    inflows = rivers_of_field(config, RIVER_INFLOW.name)
    return {name for river in inflows for name in river.tracers} & {each.name for each in config.physics.tracers}


def has_discharge_of_sign(config: Config, river, sign: float) -> bool:
    """Whether the discharge of a river has this sign at any time; one that is always zero counts as positive."""
    if not river.series:
        return sign * (river.discharge or 0.0) > 0 or (sign > 0 and not river.discharge)
    try:
        discharge = series_of_river(config, river).discharge
    except InputError:  # the check of the configuration reports it
        return sign > 0
    return bool((sign * discharge > 0).any()) or (sign > 0 and not discharge.any())


def discharge_at(config: Config, river, seconds: float, sign: float) -> float:
    """The part of a river's discharge with this sign, at a time within its series, m3 s-1, at least 0."""
    if river.series:
        _, times, discharge, _ = series_of_river(config, river)
        return max(sign * float(np.interp(seconds, times, discharge)), 0.0)
    return max(sign * river.discharge, 0.0)


def cells_of_river(config: Config, river, is_interior_water: Callable) -> RiverCells:
    """The cell around the mouth of a river, and the wet cells whose centre is within its radius.

    `is_interior_water`: function of (config, rows, columns).
    """
    grid = config.grid
    place = position_in_table(grid, river, f'the river "{river.name}"')
    (row,), (column,) = cells_containing(grid, *(np.atleast_1d(at) for at in to_grid_axes(grid, *place)))
    rows_away, columns = np.abs(np.arange(grid.ny) - row), np.arange(grid.nx)
    rows_away = np.minimum(rows_away, grid.ny - rows_away) if grid.periodic_y else rows_away
    rows = np.flatnonzero(rows_away <= river.radius / points(grid, "centre", [row], [column]).dy + 1)
    is_near = distances_from(grid, place, points(grid, "centre", rows, columns)) <= river.radius
    nearby = np.argwhere(is_near & is_interior_water(config, rows, columns))
    cells = np.concatenate([np.array([[row, column]]), np.stack([rows[nearby[:, 0]], nearby[:, 1]], axis=1)])
    rows, columns = np.unique(cells, axis=0).T
    area = metrics(grid, rows)["area"].centre
    return RiverCells(rows, columns, float(np.broadcast_to(area, (len(rows), 1)).sum()))


def series_of_river(config: Config, river) -> DischargeSeries:
    """The series of a river. InputError: its file does not contain a series."""
    label = f'the river "{river.name}": {river.series}'
    entry = parse_entry(river.series)
    return read_series(river.series, label, config.time, entry.file_stamps() if os.path.exists(entry.path) else ())


@lru_cache(maxsize=256)
def read_series(text: str, label: str, time, stamps) -> DischargeSeries:
    """The DischargeSeries of a file; `stamps` identifies its version. InputError: see `series_of_river`."""
    if not stamps:
        raise InputError(f"{label}: there is no such file")
    path, name, record = parse_entry(text)
    if record is not None:
        raise InputError(f"{label}: a series uses all records of its file; leave out @{record}")
    if name and not is_netcdf(path):
        raise InputError(f"{label}: the discharge is that of the column {COLUMNS[1]}; leave out :{name}")
    seconds, discharge, factor, dates = (
        read_netcdf_series(text, label, time) if is_netcdf(path) else read_text_series(path, label, time)
    )
    if len(seconds) < 2:
        raise InputError(f"{label}: has {'one row' if len(seconds) else 'no rows'}; a series needs at least two")
    for number in np.flatnonzero(np.diff(seconds) <= 0)[:1]:
        raise InputError(f"{label}: times must rise, but {dates[number + 1]} follows {dates[number]}")
    for number in np.flatnonzero(~np.isfinite(discharge))[:1]:
        raise InputError(f"{label}: the discharge at {dates[number]} is missing or not finite")
    is_mark = are_marks(discharge, tuple(mark for mark in MISSING_VALUE_MARKS if mark < 0))
    for number in np.flatnonzero(is_mark)[: not is_mark.all()]:
        raise InputError(
            f"{label}: the discharge at {dates[number]} is {discharge[number]:g}, which marks missing values; "
            "leave such rows out, or fill them"
        )
    discharge = factor * discharge
    before, after = discharge[:-1], discharge[1:]
    changes = np.flatnonzero(before * after < 0)
    fraction = before[changes] / (before[changes] - after[changes])
    zero_seconds = seconds[changes] + fraction * (seconds[changes + 1] - seconds[changes])
    zero_dates = [describe_time(at, time) for at in zero_seconds]
    return DischargeSeries(
        label,
        np.insert(seconds, changes + 1, zero_seconds),
        np.insert(discharge, changes + 1, 0.0),
        tuple(np.insert(np.array(dates, object), changes + 1, zero_dates)),
    )


def is_netcdf(path: str) -> bool:
    """Whether a file is in NetCDF, which an unreadable one is not; a folder counts as a Zarr store."""
    if os.path.isdir(path):
        return True
    with suppress(OSError), open(path, "rb") as file:
        return file.read(4).startswith(NETCDF_SIGNATURES)
    return False


def read_netcdf_series(text: str, label: str, time) -> tuple:
    """Times, s, discharge in the units of the file, their factor to m3 s-1, and dates from a NetCDF file.

    InputError: it has no single variable of discharge with times.
    """
    entry = parse_entry(text)
    with open_file(entry.path, f"{label}: ") as dataset:
        variables = dataset.data.variables
        if entry.name and entry.name not in variables:
            raise InputError(f"{label}: the file has no variable {entry.name}; it has {', '.join(map(str, variables))}")
        factors = {
            name: factor
            for name, each in variables.items()
            if is_numeric(each) and (factor := conversion_factor(str(each.attrs.get("units", "")), DISCHARGE_UNITS))
        }
        names = [entry.name] if entry.name else [*map(str, factors)]
        if len(names) != 1:
            raise InputError(
                f"{label}: {len(names)} variables are in {DISCHARGE_UNITS} ({', '.join(names) or 'none'}); "
                "name one of them, FILE.nc:variable"
            )
        variable = dataset.data[names[0]]
        if names[0] not in factors:
            raise InputError(f'{label}: is in "{variable.attrs.get("units", "")}", not in {DISCHARGE_UNITS}')
        if max(variable.sizes.values(), default=0) != variable.size:
            raise InputError(f"{label}: has the dimensions {dict(variable.sizes)}, not time alone")
        if (record_times := find_record_times(dataset, variable)) is None:
            raise InputError(f'{label}: has no times; their units must be like "hours since 2020-01-01"')
        seconds, dates = seconds_and_dates(record_times[1], time, label)
        return seconds, np.ravel(read_values(variable)), factors[names[0]], dates


def read_text_series(path: str, label: str, time) -> tuple:
    """Times, s, discharge in the units of the file, their factor to m3 s-1, and dates from the columns of a text file.

    A time is a date, or the time since the start of the run as a number of s or of the units in the name of the column,
    "time (hours)". InputError: the file is not such a table.
    """
    try:
        table = text_table.parse_table(Path(path).read_text(encoding="utf-8-sig"), path)
        names, units = zip(*map(text_table.split_column, table.columns), strict=True) if table.columns else ((), ())
        if missing := [name for name in COLUMNS if name not in names]:
            raise InputError(f"{label}: its first line must name the columns {' and '.join(COLUMNS)}, no {missing[0]}")
        unit_of_time, unit_of_discharge = (units[names.index(name)] for name in COLUMNS)
        unit_seconds = 1.0 if unit_of_time in text_table.TIME_ZONES else conversion_factor(unit_of_time, "s")
        if unit_seconds is None:
            raise InputError(f'{label}: times must be dates in UTC or numbers in s, not in "{unit_of_time}"')
        factor = conversion_factor(unit_of_discharge or DISCHARGE_UNITS, DISCHARGE_UNITS)
        if factor is None:
            raise InputError(f'{label}: is in "{unit_of_discharge}", not in {DISCHARGE_UNITS}')
        table = table._replace(columns=[*names])
        rows = [(context, table.row(context)) for context in table.rows]
    except OSError as error:
        raise InputError(f"{label}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{label}: it is not text in UTF-8") from None
    except UsageError as error:
        raise InputError(f"{label}: {error}") from None
    seconds = np.array([seconds_of_text(row["time"], unit_seconds, context, time) for context, row in rows])
    discharge = np.array([number_of_text(row["discharge"], context) for context, row in rows])
    return seconds, discharge, factor, tuple(row["time"] for _, row in rows)


def number_of_text(text: str, context: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f'{context}: the discharge "{text}" is not a number, in {DISCHARGE_UNITS}') from None


def seconds_of_text(text: str, unit_seconds: float, context: str, time) -> float:
    """The time of a row, s since the start of the run, from a date or a number of units of `unit_seconds`.

    InputError: the text is neither a date nor a number.
    """
    import cftime

    with suppress(ValueError):
        if isfinite(number := float(text)):
            return number * unit_seconds
    if not time.start:
        raise InputError(
            f'{context}: the time "{text}" is not a number, the time since the start of the run; for dates, '
            "set time.start"
        )
    try:
        date = cftime.num2date(0, f"seconds since {format_date(text)}", time.calendar)
    except ValueError:
        forms = "a number, the time since the start of the run, nor a date such as 2020-03-01T06:00"
        raise InputError(f'{context}: the time "{text}" is neither {forms}') from None
    return float(cftime.date2num(date, time_units(time), time.calendar))


def joint_times(config: Config, rivers) -> np.ndarray:
    """The times of the rows of all series, s since the start of the run, within the range that all series share."""
    series = [series_of_river(config, river) for river in rivers if river.series]
    first, last = max(each.seconds[0] for each in series), min(each.seconds[-1] for each in series)
    times = np.unique(np.concatenate([each.seconds for each in series]))
    return times[(times >= first) & (times <= last)]


def conflicting_cells(config: Config, is_interior_water: Callable) -> Iterator[str]:
    """Messages about rivers that share a cell but have different concentrations."""
    river_of_cell: dict[tuple[int, int], Any] = {}
    for river in rivers_of_field(config, RIVER_INFLOW.name):
        cells = cells_of_river(config, river, is_interior_water)
        for cell in zip(cells.rows.tolist(), cells.columns.tolist(), strict=True):
            other = river_of_cell.setdefault(cell, river)
            if other.tracers != river.tracers:
                yield (
                    f'forcing.rivers: "{other.name}" and "{river.name}" share the cell in row {cell[0]}, column '
                    f"{cell[1]}, but have different concentrations; move one, or give both the same tracers"
                )
                break
