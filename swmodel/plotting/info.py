"""What a run folder or a NetCDF file holds, as text with tables."""

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
from ..errors import FilesError, file_errors
from ..files.integrity import guard
from ..files.restart.folder import candidates, job
from ..files.run_folder import CONFIG, DIAGNOSTICS, ENSEMBLE, SNAPSHOTS, is_folder, size_of
from ..files.status import NAME as STATUS
from ..files.status import read_status
from ..model.progress import workers
from ..model.resolve import DECIDED
from ..ocean.coordinates import axes, on_sphere
from .dataset import data_file, field_names, integrals, long_name_and_units, look, opened, seconds, warn_of
from .derived import grid_of
from .record import length_unit
from .titles import clock

#: Longer lines are wrapped.
WIDTH = 120
#: A name and a text.
Facts = Iterator[tuple[str, str]]


def describe_results(path) -> str:
    """What a run folder or a file holds: how the run ended, its fields, how well it conserved mass and energy."""
    path = Path(path)
    file = records_of(path)
    summary = Table.grid("", Column(overflow="fold"), padding=(0, 2, 0, 0))
    for name, text in facts(path, file, examine(path, file)):
        summary.add_row(name, text)
    console = Console(file=io.StringIO(), width=WIDTH, highlight=False, markup=False, no_color=True)
    console.print(path, "", summary, sep="\n")
    if file:
        with opened(file) as data:
            console.print("", field_table(data), sep="\n")
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())


def examine(path: Path, file: Path | None) -> dict[Path, dict]:
    """What is found in the restart files; the same process examines all other files that will be read."""
    files = [each for each in (file, path / DIAGNOSTICS) if each and os.path.lexists(each)]
    restarts = candidates(path)
    found = guard.facts([*map(look, files), *map(job, restarts)])
    for each, one in zip(files, found, strict=False):
        warn_of(each, one)
    return dict(zip(restarts, found[len(files) :], strict=True))


def records_of(path: Path) -> Path | None:
    """The file with the records of a run or an ensemble; None if a folder with a configuration holds none yet."""
    written = any(os.path.lexists(path / name) for name in (*SNAPSHOTS, ENSEMBLE))
    return None if (path / CONFIG).is_file() and not written else data_file(path)


def facts(path: Path, file: Path | None, restarts: dict[Path, dict]) -> Facts:
    """Configuration, state, records, time series and restart files, as far as present."""
    written = path / CONFIG if is_folder(path) else path
    if is_folder(path):
        with as_written(path / STATUS):
            yield from [*state_facts(read_status(path))]
    with as_written(written):
        config = read_config(path)
        yield from [*config_facts(config)] if config else []
    if file:
        with opened(file) as data:
            yield from record_facts(data)
    if (path / DIAGNOSTICS).is_file():
        with opened(path / DIAGNOSTICS) as data:
            yield from conservation_facts(data)
    yield from restart_facts(restarts)
    if config:
        with as_written(written):
            yield from [*difference_facts(config)]


def read_config(path: Path) -> dict:
    """The configuration of the run as {section: {key: value}}, from its folder or its file; empty if there is none."""
    if not is_folder(path):
        with opened(path) as data:
            return tomllib.loads(getattr(data, "configuration", ""))
    return tomllib.loads((path / CONFIG).read_text(encoding="utf-8")) if os.path.lexists(path / CONFIG) else {}


@contextmanager
def as_written(path: Path) -> Iterator[None]:
    """A context in which a text file of the model is used; a FilesError if it is damaged."""
    with file_errors(path, "read"):
        try:
            yield
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise FilesError(f"{path}: is not as the model wrote it: it was changed or damaged ({error})") from None


def state_facts(status: dict) -> Facts:
    """How the run ended, how long it took, and on what it ran."""
    if not status:
        yield "state", "not finished (no status.json)"
        return
    code = status["exit_code"]
    yield "state", status["state"] + (f" (exit code {code})" if code else "")
    if status.get("message"):
        yield "reason", status["message"]
    if "steps" not in status:  # it failed before the first step
        return
    yield "steps", f"{status['steps']:,}".replace(",", " ")
    yield "wall time", f"{duration(status['wall_seconds'])}, of which {duration(status['compile_seconds'])} compilation"
    yield "speed", f"{status['cell_updates_per_second'] / 1e6:.3g} million cell updates per second"
    nproc, devices, layout = status["nproc"], status.get("devices", 1), "x".join(map(str, status["layout"]))
    processes = workers(nproc, devices) + (f", layout {layout}" if nproc * devices > 1 else "")
    yield "computed by", f"{status['executor']}, {status['dtype']}, {status['transport']}, {processes}"


def config_facts(config: dict) -> Facts:
    """Case, grid and schemes."""
    grid, time, case = grid_of(config), config["time"], config["case"]
    yield "case", case["name"] + (f", {case['file']}" if case.get("file") else "")
    if on_sphere(grid):
        x, y = axes(grid)
        about = f" about the pole {grid.pole[0]:g},{grid.pole[1]:g}" if grid.pole else ""
        size = f"{x.span()}, {y.span()}{about}, cells of {grid.dlon:.6g} by {grid.dlat:.6g} degrees"
    else:
        scale, unit = length_unit(max(grid.nx * grid.dx, grid.ny * grid.dy))
        size = f"{grid.nx * grid.dx / scale:g} by {grid.ny * grid.dy / scale:g} {unit}"
    yield "grid", f"{grid.nx} columns by {grid.ny} rows, {size}"
    yield "scheme", f"{time['stepper']}, dt = {time['dt']:.6g} s, vorticity flux {config['scheme']['vorticity_flux']}"


def record_facts(data: netCDF4.Dataset) -> Facts:
    """How many members an ensemble has, and which have fields; how many records there are, and their times."""
    if "realization" in data.dimensions:
        count, with_fields = len(data.dimensions["realization"]), ", ".join(map(str, data["member"][:]))
        yield "members", f"{count}, with fields of {with_fields}; seed {data.seed}"
    times = seconds(data)
    if times.size == 0:
        yield "records", "none"
        return
    now = clock(times)
    span = now(times[0]) if times.size == 1 else f"{now(times[0]).split()[0]} to {now(times[-1])}"
    yield "records", f"{times.size}, model time {span}"


def conservation_facts(data: netCDF4.Dataset) -> Facts:
    """Relative change of the conserved integrals between the first and the last record."""
    for name in integrals(data):
        values = np.ma.filled(data[name][:].astype(float), np.nan)
        if values.size and values[0] != 0:
            change = (values[-1] - values[0]) / abs(values[0])
            yield name.replace("_", " "), f"{values[-1]:.6g} {data[name].units}, relative change {change:+.2e}"


def restart_facts(restarts: dict[Path, dict]) -> Facts:
    """The restart files, the newest first, and whether they are intact."""
    there = {path: found for path, found in restarts.items() if os.path.lexists(path)}  # a run at work replaces them
    for number, (restart, found) in enumerate(there.items()):
        words = [f"{size_of(restart) / 1e6:.3g} MB", found.get("problem", "intact")]
        if "step" in found:
            words = [
                f"step {found['step']}",
                f"day {found['seconds'] / 86400:.4g}",
                f"written {found['written']}",
                *words,
            ]
        yield "" if number else "restarts", f"{restart.name}: {', '.join(words)}"


def difference_facts(config: dict) -> Facts:
    """Options that differ from those of the case, without those that the model decides.

    None for a case in a file of its own: its defaults are only known by executing it.
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
            decided = f"{section}.{key}" in DECIDED and default in (None, "", "auto")
            if not decided and as_text(value) != as_text(default):
                yield heading, f"{section}.{key} = {as_text(value)} (the case has {as_text(default)})"
                heading = ""


def as_text(value) -> str:
    """A value in words; "none" for no value and for empty texts and lists."""
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return "none" if value is None else text or "none"


def duration(wall_seconds: float) -> str:
    """A length of time, such as 5.3 s, 12 min 5 s or 3 h 20 min."""
    if wall_seconds < 60:
        return f"{wall_seconds:.1f} s"
    minutes, rest = divmod(round(wall_seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def field_table(data: netCDF4.Dataset) -> Table:
    """The fields, or the spectra, with their units, dimensions and description."""
    table = Table("field", "units", "dimensions", "", box=None, padding=(0, 2, 0, 0))
    spectra = [name for name, v in data.variables.items() if v.ndim == 2 and v.dimensions[1].startswith("wavenumber")]
    for name in [*field_names(data), *spectra]:
        long_name, units = long_name_and_units(data[name])
        table.add_row(name, units, " ".join(data[name].dimensions), long_name)
    return table
