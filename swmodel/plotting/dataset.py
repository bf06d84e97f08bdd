"""The files of a run, NetCDF files or Zarr stores: their paths, fields, time series, records and values."""

from __future__ import annotations

import copy
import logging
import os
import re
import tomllib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import netCDF4
import numpy as np

from ..errors import FilesError, suggest
from ..files.integrity import checksums, guard
from ..files.run_folder import ENSEMBLE, SNAPSHOT_FILES, is_run_folder
from ..files.store.dataset import open_netcdf_or_zarr
from ..ocean.diagnostics import DRYING_DIAGNOSTICS
from ..ocean.table import INFLOW_PREFIX

log = logging.getLogger(__name__)

#: Time series that are not integrals of conserved quantities over the domain: extremes, the time step and flooding.
NON_INTEGRAL_SERIES = ("max_speed", "min_h", "cfl", "time_step", *DRYING_DIAGNOSTICS)


class PlotError(ValueError):
    """A picture or an export is impossible: a file is missing, it lacks the requested data, or an option is invalid."""

    exit_code = 2


def find_data_file(path, *names: str) -> Path:
    """The file or store at `path`; in a run folder the first of `names` that exists, by default the file of records.

    PlotError: there is none.
    """
    path, names = Path(path), names or (*SNAPSHOT_FILES, ENSEMBLE)
    if not os.path.lexists(path):
        raise PlotError(f"there is no file or folder {path}")
    if not is_run_folder(path):
        return path
    existing = [path / name for name in names if os.path.lexists(path / name)]
    if not existing:
        contents = ", ".join(sorted(each.name for each in path.iterdir() if each.suffix in (".nc", ".json")))
        raise PlotError(f"{path} holds no {names[0]}: it holds {contents or 'no results yet, or is not a run folder'}")
    return existing[0]


def open_data(path: Path) -> netCDF4.Dataset:
    """The open file, to be used in a `with` statement; it is repaired first if its writer was killed.

    Another process first examines the file and verifies everything except the values of fields, which `read_verified`
    verifies when they are read. FilesError: the file is damaged.
    """
    warn_about(path, *guard.examine_files([partial_examination(path)]))
    return open_netcdf_or_zarr(path)


def warn_about(path, facts: dict) -> None:
    """Log a warning if the examination of a file, whose result is `facts`, found that another program rewrote it.

    FilesError: the file cannot be used.
    """
    if warning := guard.warning_for(path, facts):
        log.warning("%s", warning)


def partial_examination(path) -> guard.FileToExamine:
    """The request to examine a file in another process without verifying the values of fields (see `open_data`)."""
    return guard.FileToExamine(Path(path), "partial")


def read_verified(data: netCDF4.Dataset, name: str, record: int = -1) -> np.ma.MaskedArray:
    """The verified values of a field, in one record if it depends on time; empty if there is no record yet.

    Raises:
        FilesError: the values cannot be read, or differ from their checksum.
    """
    variable, checksums_variable = data[name], data.variables.get(checksums.VARIABLE)
    checksummed_names = getattr(checksums_variable, checksums.NAMES_ATTRIBUTE, "").split()
    has_time = variable.dimensions[0] == "time"
    if has_time and not len(variable):
        return np.ma.empty(0)
    index = record % len(variable) if has_time else None
    expected_checksum = None if has_time else getattr(variable, checksums.ATTRIBUTE, None)
    try:
        if checksums_variable is not None and has_time and name in checksummed_names:
            expected_checksum = checksums_variable[index][checksummed_names.index(name)]
        values = variable[index] if has_time else variable[...]
        is_damaged = expected_checksum is not None and checksums.crc32(np.ma.getdata(values)) != expected_checksum
    except (OSError, RuntimeError):
        is_damaged = True
    if is_damaged:
        raise FilesError(f"{data.filepath()}: damaged: {guard.describe_damaged_part(name, index)}")
    return values


def read_configuration(data: netCDF4.Dataset) -> dict:
    """The configuration of the run as {section: {key: value}}; empty for a file without one."""
    return copy.deepcopy(parse_configuration(getattr(data, "configuration", "")))


@lru_cache(maxsize=8)
def parse_configuration(text: str) -> dict:
    """The tables of a configuration in TOML; empty for a text that is not TOML."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}


def tracer_names(data: netCDF4.Dataset) -> list[str]:
    return [table["name"] for table in read_configuration(data).get("physics", {}).get("tracers", ())]


def field_names(data: netCDF4.Dataset) -> list[str]:
    """The names of the variables on the grid, whose last two dimensions are y and x."""
    variables = data.variables.items()
    last_axes = {name: tuple(axis[:2] for axis in variable.dimensions[-2:]) for name, variable in variables}
    return [name for name, axes in last_axes.items() if axes == ("y_", "x_")]


def find_field(data: netCDF4.Dataset, name: str, derived_names: Sequence[str] = ()) -> netCDF4.Variable:
    """The field `name` of a file. PlotError: there is none; the message may also suggest some of `derived_names`."""
    names = field_names(data)
    if name not in names:
        raise PlotError(f'no field "{name}" in {data.filepath()}; {suggest(name, [*names, *derived_names])}')
    return data[name]


def record_times(data: netCDF4.Dataset) -> np.ndarray:
    """Model time of every record, s; empty for a file without time."""
    return np.ma.filled(data["time"][:], np.nan).astype(float) if "time" in data.variables else np.empty(0)


def integral_names(data: netCDF4.Dataset) -> list[str]:
    """The names of the series of integrals over the domain, such as mass and energy, in the order of the file."""
    excluded = ("time", "step", *absolute_series_names(data))
    series_names = [name for name, variable in data.variables.items() if variable.dimensions == ("time",)]
    return [name for name in series_names if name not in excluded]


def absolute_series_names(data: netCDF4.Dataset) -> list[str]:
    """The names of the series that are never drawn as relative changes: NON_INTEGRAL_SERIES and boundary inflows."""
    return [name for name in data.variables if name in NON_INTEGRAL_SERIES or name.startswith(INFLOW_PREFIX)]


def find_record(data: netCDF4.Dataset, record: int, time: float | None = None) -> int:
    """The index of a record: `record`, counted from the last if negative, or that of the record nearest to `time` (s).

    PlotError: there is no such record.
    """
    times = record_times(data)
    if times.size == 0:
        raise PlotError(f"{data.filepath()} holds no record yet")
    if time is not None:
        finite_times = times[np.isfinite(times)]
        first, last = finite_times.min(initial=np.inf), finite_times.max(initial=-np.inf)
        tolerance = max(np.diff(finite_times).max(initial=0.0) / 2, 1e-6 * abs(last))
        if not first - tolerance <= time <= last + tolerance:
            requested, first, last = (f"{each / 3600:.6g} h" for each in (time, first, last))
            raise PlotError(f"no record near {requested} in {data.filepath()}; it has {first} to {last}")
        return int(np.nanargmin(np.abs(times - time)))
    if not -times.size <= record < times.size:
        raise PlotError(f"no record {record} in {data.filepath()}; it has 0 to {times.size - 1}")
    return record % times.size


def find_member_index(data: netCDF4.Dataset, member: int | None) -> int:
    """The index of a member among those whose fields are in the file; 0 for None. PlotError: it is not among them."""
    if member is None:
        return 0
    members = data["member"][:].tolist() if "member" in data.variables else []
    if member not in members:
        available = f"it has those of {', '.join(map(str, members))}" if members else "it is not an ensemble"
        raise PlotError(f"no fields of member {member} in {data.filepath()}; {available}")
    return members.index(member)


def member_label(data: netCDF4.Dataset, member: int | None) -> str:
    """The text ", member 2" for the member whose fields are shown; empty if the file is not of an ensemble."""
    return f", member {int(data['member'][find_member_index(data, member)])}" if "member" in data.variables else ""


def read_field(
    data: netCDF4.Dataset, name: str, record: int, member: int | None, constituent_index: int = 0
) -> np.ma.MaskedArray:
    """The verified values [y, x] of a field in one record, for one member or one constituent of the tide."""
    member_index, values = find_member_index(data, member), read_verified(data, name, record)
    return values if values.ndim == 2 else values[member_index if "member" in data.variables else constituent_index]


def long_name_and_units(variable) -> tuple[str, str]:
    """The long name and the units of a variable; the units are "1" if it has none.

    Units that UDUNITS does not know are in parentheses at the end of the long name.
    """
    long_name, units = getattr(variable, "long_name", variable.name), getattr(variable, "units", None)
    name_with_units = re.fullmatch(r"(.*) \(([^()]*/[^()]*)\)", long_name) if units is None else None
    return (name_with_units[1], name_with_units[2]) if name_with_units else (long_name, units or "1")
