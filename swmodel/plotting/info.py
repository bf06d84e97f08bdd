"""The text of `swmodel info`: the contents of a run folder or of one of its files."""

from __future__ import annotations

import io
import os
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import netCDF4
import numpy as np
from rich.console import Console
from rich.table import Column, Table

from ..config import ConfigError, load
from ..errors import FilesError, translate_os_errors
from ..files.integrity import guard
from ..files.restart.folder import list_restart_files, restart_examination
from ..files.run_folder import CONFIG, DIAGNOSTICS, ENSEMBLE, SNAPSHOT_FILES, is_run_folder, size_in_bytes
from ..files.status import FILE_NAME as STATUS
from ..files.status import read_status
from ..model.progress import describe_processes
from ..model.resolve import RESOLVED_KEYS
from ..ocean.coordinates import axes, is_spherical
from ..parallel.stop import format_duration
from .dataset import (
    field_names,
    find_data_file,
    integral_names,
    long_name_and_units,
    open_netcdf_or_zarr,
    partial_examination,
    record_times,
    warn_about,
)
from .derived import read_grid_options
from .field_map import length_unit
from .titles import make_time_formatter

#: Characters per line; longer lines are wrapped.
TEXT_WIDTH = 120
#: Rows of the text: a name and a description.
LabelledTexts = Iterator[tuple[str, str]]


def describe_results(path) -> str:
    """The contents of a run folder or a file: how the run ended, its fields, how well it conserved mass and energy."""
    path = Path(path)
    file = find_records_file(path)
    summary = Table.grid("", Column(overflow="fold"), padding=(0, 2, 0, 0))
    for name, text in list_facts(path, file, examine_run_files(path, file)):
        summary.add_row(name, text)
    output = io.StringIO()
    console = Console(file=output, width=TEXT_WIDTH, highlight=False, markup=False, no_color=True)
    console.print(path, "", summary, sep="\n")
    if file:
        with open_netcdf_or_zarr(file) as data:
            console.print("", field_table(data), sep="\n")
    return "\n".join(line.rstrip() for line in output.getvalue().splitlines())


def examine_run_files(path: Path, file: Path | None) -> dict[Path, dict]:
    """{restart file: facts about it}; one other process examines these and all files that will be read."""
    files = [each for each in (file, path / DIAGNOSTICS) if each and os.path.lexists(each)]
    restarts = list_restart_files(path)
    facts_of_files = guard.examine_files([*map(partial_examination, files), *map(restart_examination, restarts)])
    for examined_file, file_facts in zip(files, facts_of_files, strict=False):
        warn_about(examined_file, file_facts)
    return dict(zip(restarts, facts_of_files[len(files) :], strict=True))


def find_records_file(path: Path) -> Path | None:
    """The file with the records of a run or an ensemble; None if a run has no records yet."""
    has_records = any(os.path.lexists(path / name) for name in (*SNAPSHOT_FILES, ENSEMBLE))
    return None if (path / CONFIG).is_file() and not has_records else find_data_file(path)


def list_facts(path: Path, file: Path | None, restarts: dict[Path, dict]) -> LabelledTexts:
    """Facts about state, configuration, records, time series and restart files, as far as these exist."""
    config_path = path / CONFIG if is_run_folder(path) else path
    if is_run_folder(path):
        with text_file_errors(path / STATUS):
            yield from state_facts(read_status(path))
    with text_file_errors(config_path):
        config = read_config(path)
        yield from config_facts(config) if config else ()
    if file:
        with open_netcdf_or_zarr(file) as data:
            yield from record_facts(data)
    if (path / DIAGNOSTICS).is_file():
        with open_netcdf_or_zarr(path / DIAGNOSTICS) as data:
            yield from conservation_facts(data)
    yield from restart_facts(restarts)
    if config:
        with text_file_errors(config_path):
            yield from difference_facts(config)


def read_config(path: Path) -> dict:
    """The configuration of the run as {section: {key: value}}, from its folder or its file; empty if there is none."""
    if not is_run_folder(path):
        with open_netcdf_or_zarr(path) as data:
            return tomllib.loads(getattr(data, "configuration", ""))
    return tomllib.loads((path / CONFIG).read_text(encoding="utf-8")) if os.path.lexists(path / CONFIG) else {}


@contextmanager
def text_file_errors(path: Path) -> Iterator[None]:
    """A context for reading a text file of the model; raises a FilesError if the file is damaged."""
    with translate_os_errors(path, "read"):
        try:
            yield
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise FilesError(f"{path}: was changed or damaged after the model wrote it ({error})") from None


def state_facts(status: dict) -> LabelledTexts:
    """How the run ended, how long it took, and the executor and processes that computed it."""
    if not status:
        yield "state", "not finished (no status.json)"
        return
    exit_code = status["exit_code"]
    yield "state", status["state"] + (f" (exit code {exit_code})" if exit_code else "")
    if status.get("message"):
        yield "reason", status["message"]
    if "steps" not in status:  # the run failed before the first step
        return
    yield "steps", f"{status['steps']:,}".replace(",", " ")
    wall_time, compile_time = (format_duration(status[f"{part}_seconds"]) for part in ("wall", "compile"))
    yield "wall time", f"{wall_time}, of which {compile_time} compilation"
    yield "speed", f"{status['cell_updates_per_second'] / 1e6:.3g} million cell updates per second"
    nproc, devices, layout = status["nproc"], status.get("devices", 1), "x".join(map(str, status["layout"]))
    processes = describe_processes(nproc, devices) + (f", layout {layout}" if nproc * devices > 1 else "")
    yield "computed by", f"{status['executor']}, {status['dtype']}, {status['transport']}, {processes}"


def config_facts(config: dict) -> LabelledTexts:
    """The case, the grid and the numerical scheme."""
    grid, time, case = read_grid_options(config), config["time"], config["case"]
    yield "case", case["name"] + (f", {case['file']}" if case.get("file") else "")
    extents = ", ".join(axis.describe_extent() for axis in axes(grid))
    if is_spherical(grid):
        pole_text = f" about the pole {grid.pole[0]:g},{grid.pole[1]:g}" if grid.pole else ""
        size = f"{extents}{pole_text}, cells of {grid.dlon:.6g} by {grid.dlat:.6g} degrees"
    else:
        scale, unit = length_unit(max(grid.nx * grid.dx, grid.ny * grid.dy))
        size = f"{grid.nx * grid.dx / scale:g} by {grid.ny * grid.dy / scale:g} {unit}"
        size += f", {extents} in {grid.crs}" if grid.crs else ""
    yield "grid", f"{grid.nx} columns by {grid.ny} rows, {size}"
    yield "scheme", f"{time['stepper']}, dt = {time['dt']:.6g} s, vorticity flux {config['scheme']['vorticity_flux']}"


def record_facts(data: netCDF4.Dataset) -> LabelledTexts:
    """How many members an ensemble has, and which have fields; how many records there are, and their times."""
    if "realization" in data.dimensions:
        n_members, with_fields = len(data.dimensions["realization"]), ", ".join(map(str, data["member"][:]))
        yield "members", f"{n_members}, with fields of {with_fields}; seed {data.seed}"
    times = record_times(data)
    if times.size == 0:
        yield "records", "none"
        return
    format_time = make_time_formatter(times)
    first_text = "" if times.size == 1 else f"{format_time(times[0]).split()[0]} to "
    yield "records", f"{times.size}, model time {first_text}{format_time(times[-1])}"


def conservation_facts(data: netCDF4.Dataset) -> LabelledTexts:
    """Relative change of the conserved integrals between the first and the last record."""
    for name in integral_names(data):
        values = np.ma.filled(data[name][:].astype(float), np.nan)
        if values.size and values[0] != 0:
            change = (values[-1] - values[0]) / abs(values[0])
            yield name.replace("_", " "), f"{values[-1]:.6g} {data[name].units}, relative change {change:+.2e}"


def restart_facts(restarts: dict[Path, dict]) -> LabelledTexts:
    """The restart files, the newest first, and whether they are intact."""
    # a run that is still computing may have deleted some restart files in the meantime
    existing = {path: file_facts for path, file_facts in restarts.items() if os.path.lexists(path)}
    for number, (restart, file_facts) in enumerate(existing.items()):
        parts = [f"{size_in_bytes(restart) / 1e6:.3g} MB", file_facts.get("problem", "intact")]
        if "step" in file_facts:
            day, written = file_facts["seconds"] / 86400, file_facts["written"]
            parts = [f"step {file_facts['step']}", f"day {day:.4g}", f"written {written}", *parts]
        yield "" if number else "restarts", f"{restart.name}: {', '.join(parts)}"


def difference_facts(config: dict) -> LabelledTexts:
    """Options that differ from the defaults of the case, except those that the model itself has chosen.

    For a user-defined case nothing is listed, because only executing the case would show its defaults.
    """
    if config["case"].get("file"):
        return
    try:
        defaults = load(config["case"]["name"], environ={}).model_dump()
    except ConfigError:
        return
    heading = "changed"
    for section, options in config.items():
        for key, value in options.items():
            default = defaults.get(section, {}).get(key)
            is_automatic = f"{section}.{key}" in RESOLVED_KEYS and default in (None, "", "auto")
            if not is_automatic and format_value(value) != format_value(default):
                yield heading, f"{section}.{key} = {format_value(value)} (default of the case: {format_value(default)})"
                heading = ""


def format_value(value) -> str:
    """A value as text; "none" for None and for empty texts and lists."""
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return "none" if value is None else text or "none"


def field_table(data: netCDF4.Dataset) -> Table:
    """Name, units, dimensions and long name of each field and spectrum."""
    table = Table("field", "units", "dimensions", "", box=None, padding=(0, 2, 0, 0))
    spectra = [name for name, v in data.variables.items() if v.ndim == 2 and v.dimensions[1].startswith("wavenumber")]
    for name in [*field_names(data), *spectra]:
        long_name, units = long_name_and_units(data[name])
        table.add_row(name, units, " ".join(data[name].dimensions), long_name)
    return table
