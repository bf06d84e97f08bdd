"""The files of a run, NetCDF or stores of Zarr: their paths, their fields, series and records, and their values."""

from __future__ import annotations

import logging
import os
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path

import netCDF4
import numpy as np

from ..errors import FilesError, suggest
from ..files.integrity import checksums, guard
from ..files.run_folder import ENSEMBLE, SNAPSHOTS, is_folder
from ..files.store.data import opened
from ..ocean.diagnostics import OF_DRYING
from ..ocean.table import INFLOW

log = logging.getLogger(__name__)

#: Series of extremes over the domain, and those of floods; all others, except inflows, are sums that hardly change.
EXTREMES = ("max_speed", "min_h", "cfl", *OF_DRYING)


class PlotError(ValueError):
    """A file of a run is missing, or does not hold what is asked for."""

    exit_code = 2


def data_file(path, *names: str) -> Path:
    """The file or store meant by `path`: itself, or the first of `names` (its records) in the run folder."""
    path, names = Path(path), names or (*SNAPSHOTS, ENSEMBLE)
    if not os.path.lexists(path):
        raise PlotError(f"there is no file or folder {path}")
    if not is_folder(path):
        return path
    found = [path / name for name in names if os.path.lexists(path / name)]
    if not found:
        held = ", ".join(sorted(each.name for each in path.iterdir() if each.suffix in (".nc", ".json")))
        raise PlotError(f"{path} holds no {names[0]}: it holds {held or 'no results yet, or is no run folder'}")
    return found[0]


def open_data(path: Path) -> netCDF4.Dataset:
    """The open file, to be used in a `with`; repaired first if its writer was killed.

    Another process examines it before, and verifies all but the values of fields: `values_of` does that.
    """
    warn_of(path, *guard.facts([look(path)]))
    return opened(path)


def warn_of(path, found: dict) -> None:
    """Warn of what is doubtful in a file that was examined."""
    if words := guard.warning_for(path, found):
        log.warning("%s", words)


def look(path) -> guard.Job:
    """The examination by another process that comes before the file is `opened` here."""
    return guard.Job(Path(path), "look")


def values_of(data: netCDF4.Dataset, name: str, record: int = -1) -> np.ma.MaskedArray:
    """The values of a field in a record, or of a field without time, verified; empty if there is no record."""
    variable, row, expected = data[name], data.variables.get(checksums.VARIABLE), None
    moves = variable.dimensions[0] == "time"
    if moves and not len(variable):
        return np.ma.empty(0)
    record = record % len(variable) if moves else None
    if not moves:
        expected = getattr(variable, checksums.ATTRIBUTE, None)
    names = getattr(row, checksums.COLUMNS, "").split()
    try:
        if moves and name in names:
            expected = row[record][names.index(name)]
        values = variable[record] if moves else variable[...]
    except (OSError, RuntimeError):
        values = None
    if values is None or (expected is not None and checksums.crc(np.ma.getdata(values)) != expected):
        raise FilesError(f"{data.filepath()}: damaged: {guard.damaged_part(name, record)}")
    return values


def configuration(data: netCDF4.Dataset) -> dict:
    """The configuration of the run as {section: {key: value}}; empty for a file without one."""
    try:
        return tomllib.loads(getattr(data, "configuration", ""))
    except tomllib.TOMLDecodeError:
        return {}


def tracers_of(data: netCDF4.Dataset) -> list[str]:
    """The names of the tracers of the run."""
    return [table["name"] for table in configuration(data).get("physics", {}).get("tracers", ())]


def field_names(data: netCDF4.Dataset) -> list[str]:
    """The variables on the grid: those whose last two dimensions are y and x."""
    axes = {name: tuple(dimension[:2] for dimension in v.dimensions[-2:]) for name, v in data.variables.items()}
    return [name for name, last in axes.items() if last == ("y_", "x_")]


def find_field(data: netCDF4.Dataset, name: str, computed: Sequence[str] = ()) -> netCDF4.Variable:
    """The field called `name`; a message may suggest fields that are `computed`, too."""
    names = field_names(data)
    if name not in names:
        raise PlotError(f'no field "{name}" in {data.filepath()}; {suggest(name, [*names, *computed])}')
    return data[name]


def seconds(data: netCDF4.Dataset) -> np.ndarray:
    """Model time of every record, s; empty for a file without time."""
    return np.ma.filled(data["time"][:], np.nan).astype(float) if "time" in data.variables else np.empty(0)


def integrals(data: netCDF4.Dataset) -> list[str]:
    """The series of sums over the domain, such as mass and energy, in the order of the file."""
    others = ("time", "step", *numbers(data))
    return [name for name, v in data.variables.items() if v.dimensions == ("time",) and name not in others]


def numbers(data: netCDF4.Dataset) -> list[str]:
    """The other series, which are shown unchanged: extremes, and inflows through open sides."""
    return [name for name in data.variables if name in EXTREMES or name.startswith(INFLOW)]


def find_record(data: netCDF4.Dataset, record: int, time: float | None = None) -> int:
    """The number of a record, from 0: `record` (negative: from the last), or the nearest to `time` (s)."""
    times = seconds(data)
    if times.size == 0:
        raise PlotError(f"{data.filepath()} holds no record yet")
    if time is not None:
        return int(np.nanargmin(np.abs(times - time)))
    if not -times.size <= record < times.size:
        raise PlotError(f"no record {record} in {data.filepath()}; it has 0 to {times.size - 1}")
    return record % times.size


def find_member(data: netCDF4.Dataset, member: int | None) -> int:
    """The index of a member of an ensemble among those with fields; 0 if none is asked for."""
    if member is None:
        return 0
    numbers = data["member"][:].tolist() if "member" in data.variables else []
    if member not in numbers:
        has = f"it has those of {', '.join(map(str, numbers))}" if numbers else "it is no ensemble"
        raise PlotError(f"no fields of member {member} in {data.filepath()}; {has}")
    return numbers.index(member)


def number_of(data: netCDF4.Dataset, member: int | None) -> str:
    """The member of an ensemble whose fields are shown, as ", member 2"; empty if there are no members."""
    return f", member {int(data['member'][find_member(data, member)])}" if "member" in data.variables else ""


def stored(data: netCDF4.Dataset, name: str, record: int, member: int | None, along: int = 0) -> np.ma.MaskedArray:
    """The values [y, x] of a field in the file, verified; of one member, or one place `along` another axis."""
    place, values = find_member(data, member), values_of(data, name, record)
    return values if values.ndim == 2 else values[place if "member" in data.variables else along]


def long_name_and_units(variable) -> tuple[str, str]:
    """The long name and the units of a variable, "1" if it has none; units that UDUNITS lacks end the long name."""
    long_name, units = getattr(variable, "long_name", variable.name), getattr(variable, "units", None)
    broken = re.fullmatch(r"(.*) \(([^()]*/[^()]*)\)", long_name) if units is None else None
    return (broken[1], broken[2]) if broken else (long_name, units or "1")
