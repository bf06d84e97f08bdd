"""The folder of a run: names of its files, and protection against overwriting."""

from __future__ import annotations

import contextlib
import os
import shutil
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..errors import FilesError, UsageError, translate_os_errors
from . import lock
from .draft import DRAFT_SUFFIX, atomic_write
from .journal import JOURNAL_SUFFIX
from .status import FILE_NAME as STATUS
from .status import read_status

if TYPE_CHECKING:
    from ..config.options.model import Config

CONFIG = "config.toml"
OUTPUT = "output.nc"
ZARR_SUFFIX = ".zarr"
OUTPUT_STORE = f"output{ZARR_SUFFIX}"
DIAGNOSTICS = "diagnostics.nc"
SPECTRA = "spectra.nc"
STATIONS = "stations.nc"
SECTIONS = "sections.nc"
DRIFTERS = "drifters.nc"
HARMONICS = "harmonics.nc"
RESTART_FOLDER = "restart"
BLOWUP = "blowup.nc"
RUN_FILES = (CONFIG, OUTPUT, DIAGNOSTICS, SPECTRA, STATIONS, SECTIONS, DRIFTERS, HARMONICS, STATUS)
ENSEMBLE = "ensemble.nc"
SENSITIVITY = "sensitivity.nc"
ANALYSIS = "analysis.nc"
ASSIMILATION_RESULTS, ASSIMILATION_FIGURE = "assimilation.json", "assimilation.png"
#: The files of snapshots of a run, of which a folder holds one.
SNAPSHOT_FILES = (OUTPUT, OUTPUT_STORE)
#: The suffixes of journals, of drafts and of their journals, which a killed writer leaves.
LEFTOVER_SUFFIXES = (JOURNAL_SUFFIX, DRAFT_SUFFIX, f"{DRAFT_SUFFIX}{JOURNAL_SUFFIX}")
#: The files that tasks other than a run write, and the store that replaces output.nc.
TASK_FILES = (
    OUTPUT_STORE,
    "check.json",
    SENSITIVITY,
    "sensitivity.png",
    ASSIMILATION_RESULTS,
    ASSIMILATION_FIGURE,
    ANALYSIS,
    "progress.h5",
    "twin.h5",
    "twin_observations.nc",
    ENSEMBLE,
    "ensemble.png",
    "output-spectra.nc",
    "output-spectra.png",
)


def check_overwritable(directory, force: bool = False, for_python: bool = False, has_lock: bool = False):
    """Check that a run may be written into `directory`, which need not exist, without writing anything.

    UsageError: the folder is not empty, and `force` is False. FilesError: the folder cannot be written, or a run uses
    it.

    `for_python`: whether messages suggest Python code. `has_lock`: whether this process holds the folder's lock.
    """
    directory = Path(directory)
    with translate_os_errors(directory, "read"):
        parent = next(path for path in (directory, *directory.absolute().parents) if path.exists())
        if not parent.is_dir():
            raise FilesError(f"{parent} is a file, not a folder; give another folder")
        if not has_lock:
            lock.check_unlocked(directory)
        if not force and directory.is_dir() and any(path.name != lock.FILE_NAME for path in directory.iterdir()):
            state, contents = read_status(directory).get("state"), folder_contents(directory, for_python)
            what = f"holds {contents.kind} ({state})" if state else "exists and is not empty"
            remedy = "give force=True" if for_python else "give --force"
            remedy += " to replace it, or another folder" + ("" if for_python else " with --output")
            resume_hint = f", or continue it with {contents.resume_command}" if contents.resume_command else ""
            raise UsageError(f"{directory} {what}; {remedy}{resume_hint}")
        if not os.access(parent, os.W_OK | os.X_OK):
            raise FilesError(f"{directory} cannot be written: no permission in {parent}")


class FolderContents(NamedTuple):
    """What a folder holds.

    Attributes:
        kind: the contents in words, such as "an ensemble".
        task: the task of swmodel that wrote them, such as "ensemble".
        resume_command: the command or Python code that continues the task; "" if it cannot be continued.
    """

    kind: str
    task: str
    resume_command: str


def folder_contents(directory, for_python: bool = False) -> FolderContents:
    directory = Path(directory)
    names = {path.name for path in directory.iterdir()} if directory.is_dir() else set()
    if names & {"assimilation.json", "progress.h5", "twin.h5"}:
        command = f"`swmodel assimilate {directory / CONFIG} --output {directory} --resume`"
        return FolderContents("an assimilation", "assimilate", command)
    if names & {"check.json", SENSITIVITY}:
        return FolderContents("derivatives", "sensitivity", "")
    kind, task = ("an ensemble", "ensemble") if ENSEMBLE in names else ("a run", "run")
    command = f"`swmodel resume {directory}`"
    if for_python and task == "run":
        command = f'`Simulation.resume("{directory}").run("{directory}")`'
    return FolderContents(kind, task, command if RESTART_FOLDER in names else "")


def prepare_for_new_run(directory):
    """Create the folder, or remove from it the files of an earlier run, but neither case.py nor any other file."""
    directory = Path(directory)
    with translate_os_errors(directory, "written"):
        directory.mkdir(parents=True, exist_ok=True)
        for name in (*RUN_FILES, *TASK_FILES, BLOWUP, RESTART_FOLDER):
            for suffix in ("", *LEFTOVER_SUFFIXES):
                remove_path(directory / (name + suffix))


def remove_path(path: Path):
    """Remove a file, a link or a folder, if there is one."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def size_in_bytes(path: Path) -> int:
    """Size of a file, or of all files in a folder, bytes; a run may remove files meanwhile."""
    n_bytes = 0
    with contextlib.suppress(FileNotFoundError):
        for file in path.rglob("*") if path.is_dir() else [path]:
            n_bytes += file.lstat().st_size if file.is_file() else 0
    return n_bytes


def is_zarr_store(path) -> bool:
    """Whether a path is a Zarr store: a folder that commands treat like a file."""
    return Path(path).suffix == ZARR_SUFFIX or (Path(path) / "zarr.json").is_file()


def is_run_folder(path) -> bool:
    return Path(path).is_dir() and not is_zarr_store(path)


def remove_status_and_blowup(directory):
    """Remove the status of the run in the folder and the file of its blow-up, because the run continues."""
    with translate_os_errors(directory, "written"):
        for name in (STATUS, BLOWUP):
            (Path(directory) / name).unlink(missing_ok=True)


def read_config_tables(directory) -> dict:
    """The tables of config.toml; {} if it is missing or damaged."""
    try:
        return tomllib.loads((Path(directory) / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def user_case_table(directory) -> dict:
    """The table [case] of config.toml if it names the file of a user's case, else {}. The case is not executed."""
    case = read_config_tables(directory).get("case", {})
    return case if isinstance(case, dict) and case.get("file") else {}


def write_config(directory, config: Config):
    """Write config.toml, and case.py for a user's case, each atomically."""
    from ..config import to_toml  # imported here, so that this module loads without the configuration
    from ..config.loading.case_file import CASE_FILE_NAME

    texts = {CASE_FILE_NAME: config.case.file_text, CONFIG: to_toml(config)}
    for name, text in texts.items():
        if text:
            with atomic_write(Path(directory) / name) as draft:
                draft.write_bytes(text.encode())
