"""Check the files of a run against their checksums."""

from __future__ import annotations

import hashlib
import os
import tomllib
from pathlib import Path

from ..config import ConfigError, from_toml, load
from ..config.loading.case_file import CASE_FILE_NAME
from ..config.options.case import Case
from ..errors import FilesError, UsageError, translate_os_errors
from .integrity import guard
from .restart.folder import RESTART_OR_LEFTOVER_PATTERN, list_restart_files, restart_examination
from .run_folder import CONFIG, RESTART_FOLDER, ZARR_SUFFIX, is_run_folder, user_case_table
from .status import FILE_NAME as STATUS
from .status import read_status

INTACT = "intact"
READABLE = "can be read; it holds no checksums"


def verdicts(path) -> dict[str, str]:
    """{file name: verdict} for a run folder or one file.

    UsageError: the path does not exist, or contains no files of a run. FilesError: the folder cannot be read.
    ModuleNotFoundError: a file is a Zarr store, and the package zarr is missing.
    """
    path, verdict_of = Path(path), {}
    if not os.path.lexists(path):
        raise UsageError(f"there is no file or folder {path}")
    if is_run_folder(path):
        with translate_os_errors(path, "read"):
            names = sorted(file.name for file in path.iterdir())
            files = [guard.FileToExamine(path / name) for name in names if name.endswith((".nc", ".h5", ZARR_SUFFIX))]
            files += [restart_examination(file) for file in list_restart_files(path)]
        readers = {
            CONFIG: read_config,
            STATUS: read_status,
            CASE_FILE_NAME: verdict_of_case if user_case_table(path).get("sha256") else None,
        }
        verdict_of = {
            name: verdict_of_text_file(read, path)
            for name, read in readers.items()
            if read and name in {*names, CASE_FILE_NAME}
        }
    else:  # restart files are recognised by their names
        is_restart = path.parent.name == RESTART_FOLDER and RESTART_OR_LEFTOVER_PATTERN.fullmatch(path.name)
        files = [restart_examination(path) if is_restart else guard.FileToExamine(path)]
        path = path.parent
    for file, facts in zip(files, guard.examine_files(files), strict=True):
        if "problem" in facts and not os.path.lexists(file.path):  # a run has removed it meanwhile
            continue
        verdict = INTACT if facts.get("checksums", True) else READABLE
        verdict_of[str(file.path.relative_to(path))] = facts.get("problem", verdict)
    if not verdict_of:
        raise UsageError(f"{path} contains no files of a run")
    return verdict_of


def require_intact(path, verdict_of: dict[str, str]) -> None:
    """Raise FilesError, with the names of the damaged files, if there are any."""
    damaged = [name for name, verdict in verdict_of.items() if verdict not in (INTACT, READABLE)]
    if damaged:
        raise FilesError(
            f"{path}: {len(damaged)} of {len(verdict_of)} files are damaged or unreadable: {', '.join(damaged)}"
        )


def verdict_of_text_file(read_file, directory: Path) -> str:
    try:
        verdict = read_file(directory)
        return verdict if isinstance(verdict, str) else READABLE
    except (ConfigError, FilesError, OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        return f"cannot be read: {' '.join(str(getattr(error, 'strerror', None) or error).split())}"
    except (AttributeError, KeyError, TypeError):
        return "cannot be read: its contents are not what the model writes"


def read_config(directory: Path) -> None:
    """Read the config.toml of a run, without executing a user's case or checking its options."""
    if user_case_table(directory):
        from_toml((directory / CONFIG).read_text(encoding="utf-8"), Case)
    else:
        load(directory / CONFIG, environ={})


def verdict_of_case(directory: Path) -> str:
    sha256 = hashlib.sha256((directory / CASE_FILE_NAME).read_bytes()).hexdigest()
    if sha256 == user_case_table(directory)["sha256"]:
        return INTACT
    return f"damaged: its SHA-256 is not the one in {CONFIG}"
