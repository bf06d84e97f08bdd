"""The folder of a run: names of its files, and protection against overwriting."""

from __future__ import annotations

import contextlib
import os
import shutil
import tomllib
from pathlib import Path
from typing import NamedTuple

from ..errors import FilesError, UsageError, file_errors
from . import lock
from .draft import WRITING, replacing
from .status import NAME as STATUS
from .status import read_status

CONFIG = "config.toml"
OUTPUT = "output.nc"
ZARR = ".zarr"
STORE = f"output{ZARR}"
DIAGNOSTICS = "diagnostics.nc"
SPECTRA = "spectra.nc"
STATIONS = "stations.nc"
SECTIONS = "sections.nc"
DRIFTERS = "drifters.nc"
HARMONICS = "harmonics.nc"
RESTARTS = "restart"
BLOWUP = "blowup.nc"
FILES = (CONFIG, OUTPUT, DIAGNOSTICS, SPECTRA, STATIONS, SECTIONS, DRIFTERS, HARMONICS, STATUS)
ENSEMBLE = "ensemble.nc"
SENSITIVITY = "sensitivity.nc"
ANALYSIS = "analysis.nc"
#: The snapshots of a run, of which a folder has one.
SNAPSHOTS = (OUTPUT, STORE)
#: The endings of files from killed writers.
LEFT_OVER = (WRITING, f"{WRITING}.journal")
#: The files that tasks other than a run write.
RESULTS = (
    STORE,
    "check.json",
    SENSITIVITY,
    "sensitivity.png",
    "assimilation.json",
    "assimilation.png",
    ANALYSIS,
    "progress.h5",
    "twin.h5",
    "twin_observations.nc",
    ENSEMBLE,
    "ensemble.png",
    "output-spectra.nc",
    "output-spectra.png",
)


def check_vacant(directory, force: bool = False, python: bool = False, held: bool = False):
    """Check that a run may be written into `directory`, which need not exist. Writes nothing.

    UsageError: it is not empty, without `force`. FilesError: it cannot be written, or a run uses it.

    Args:
        python: whether the message is for Python.
        held: whether this process holds the folder's lock.
    """
    directory = Path(directory)
    with file_errors(directory, "read"):
        parent = next(path for path in (directory, *directory.absolute().parents) if path.exists())
        if not parent.is_dir():
            raise FilesError(f"{parent} is a file, not a folder; give another")
        if not held:
            lock.check_free(directory)
        if not force and directory.is_dir() and any(path.name != lock.NAME for path in directory.iterdir()):
            state, found = read_status(directory).get("state"), holding(directory, python)
            what = f"holds {found.kind} ({state})" if state else "exists and is not empty"
            other = "give force=True" if python else "give --force"
            other += " to replace it or another folder" + ("" if python else " with --output")
            go_on = f", or continue it by {found.command}" if found.command else ""
            raise UsageError(f"{directory} {what}; {other}{go_on}")
        if not os.access(parent, os.W_OK | os.X_OK):
            raise FilesError(f"{directory} cannot be written: no permission in {parent}")


class Holding(NamedTuple):
    """The contents of a folder, in words, the task that made it, and the command that continues it or ""."""

    kind: str
    task: str
    command: str


def holding(directory, python: bool = False) -> Holding:
    """The Holding of a folder, which need not exist."""
    directory = Path(directory)
    names = {path.name for path in directory.iterdir()} if directory.is_dir() else set()
    if names & {"assimilation.json", "progress.h5", "twin.h5"}:
        command = f"`swmodel assimilate {directory / CONFIG} --output {directory} --resume`"
        return Holding("an assimilation", "assimilate", command)
    if names & {"check.json", "sensitivity.nc"}:
        return Holding("derivatives", "run", "")
    kind, task = ("an ensemble", "ensemble") if ENSEMBLE in names else ("a run", "run")
    command = f"`swmodel resume {directory}`"
    if python and task == "run":
        command = f'`Simulation.resume("{directory}").run("{directory}")`'
    return Holding(kind, task, command if RESTARTS in names else "")


def prepare(directory):
    """Make the folder and remove the files of an earlier run, but no others."""
    directory = Path(directory)
    with file_errors(directory, "written"):
        directory.mkdir(parents=True, exist_ok=True)
        for name in (*FILES, *RESULTS, BLOWUP, RESTARTS):
            for left in ("", *LEFT_OVER):
                remove(directory / (name + left))


def remove(path: Path):
    """Remove a file, a link or a folder, if there is one."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def size_of(path: Path) -> int:
    """Bytes of a file, or of the files in a folder; a run at work may remove them meanwhile."""
    found = 0
    with contextlib.suppress(FileNotFoundError):
        for each in path.rglob("*") if path.is_dir() else [path]:
            found += each.lstat().st_size if each.is_file() else 0
    return found


def is_store(path) -> bool:
    """Whether a path is a store of Zarr, which commands use like a file."""
    return Path(path).suffix == ZARR or (Path(path) / "zarr.json").is_file()


def is_folder(path) -> bool:
    """Whether a path is a folder that may hold files of a run."""
    return Path(path).is_dir() and not is_store(path)


def reopen(directory):
    """Remove the record of the end of the run in the folder, and the state of a blow-up: the run continues."""
    with file_errors(directory, "written"):
        for name in (STATUS, BLOWUP):
            (Path(directory) / name).unlink(missing_ok=True)


def config_of(directory) -> dict:
    """The tables of config.toml; {} where there is none, or a damaged one."""
    try:
        return tomllib.loads((Path(directory) / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def own_case(directory) -> dict:
    """The table [case] of config.toml, if it names the file of a user's own case, which is not executed; else {}."""
    case = config_of(directory).get("case", {})
    return case if isinstance(case, dict) and case.get("file") else {}


def write_config(directory, config):
    """Write config.toml, and case.py for a user's case; each is the old file or the whole new one."""
    from ..config import to_toml  # here, as the program needs the names in this file early
    from ..config.loading.case_file import CASE

    texts = {CASE: config.case.file_text, CONFIG: to_toml(config)}
    for name, text in texts.items():
        if text:
            with replacing(Path(directory) / name) as path:
                path.write_bytes(text.encode())
