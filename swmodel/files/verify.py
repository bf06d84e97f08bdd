"""Check of all files of a run against their checksums."""

from __future__ import annotations

import hashlib
import os
import tomllib
from pathlib import Path

from ..config import ConfigError, from_toml, load
from ..config.loading.case_file import CASE
from ..config.options.case import Case
from ..errors import FilesError, UsageError, file_errors
from .integrity import guard
from .restart.folder import LEFT_OVER, candidates, job
from .run_folder import CONFIG, RESTARTS, ZARR, is_folder, own_case
from .status import NAME as STATUS
from .status import read_status

INTACT = "intact"
READABLE = "can be read; it holds no checksums"


def verdicts(path) -> dict[str, str]:
    """{file: verdict} for the files of a run folder, or for a single file.

    UsageError: no file of a run. FilesError: the folder cannot be read.
    """
    path, found = Path(path), {}
    if not os.path.lexists(path):
        raise UsageError(f"there is no file or folder {path}")
    if is_folder(path):
        with file_errors(path, "read"):
            names = sorted(each.name for each in path.iterdir())
            jobs = [guard.Job(path / name) for name in names if name.endswith((".nc", ".h5", ZARR))]
            jobs += [job(each) for each in candidates(path)]
        texts = {CONFIG: read_config, STATUS: read_status, CASE: read_case if own_case(path).get("sha256") else None}
        found = {name: of_text(read, path) for name, read in texts.items() if read and name in {*names, CASE}}
    else:  # restart files are recognised by their names
        restart = path.parent.name == RESTARTS and LEFT_OVER.fullmatch(path.name)
        jobs = [job(path) if restart else guard.Job(path)]
        path = path.parent
    for each, one in zip(jobs, guard.facts(jobs), strict=True):
        if "problem" in one and not os.path.lexists(each.path):  # a run at work has replaced it
            continue
        verdict = INTACT if one.get("checksums", True) else READABLE
        found[str(each.path.relative_to(path))] = one.get("problem", verdict)
    if not found:
        raise UsageError(f"{path} holds no file of a run")
    return found


def require_intact(path, found: dict[str, str]) -> None:
    """Raise FilesError with the names of damaged files, if any."""
    bad = [name for name, words in found.items() if words not in (INTACT, READABLE)]
    if bad:
        raise FilesError(f"{path}: {len(bad)} of {len(found)} files are damaged or unreadable: {', '.join(bad)}")


def of_text(read, directory: Path) -> str:
    """Whether a text file can be read, in words."""
    try:
        found = read(directory)
        return found if isinstance(found, str) else READABLE
    except (ConfigError, FilesError, OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        return f"cannot be read: {' '.join(str(getattr(error, 'strerror', None) or error).split())}"
    except (AttributeError, KeyError, TypeError):
        return "cannot be read: it is not as the model writes it"


def read_config(directory: Path) -> None:
    """Read the config.toml of a run, without executing a user's case or checking its options."""
    if own_case(directory):
        from_toml((directory / CONFIG).read_text(encoding="utf-8"), Case)
    else:
        load(directory / CONFIG, environ={})


def read_case(directory: Path) -> str:
    """The verdict on the file of a user's case."""
    same = hashlib.sha256((directory / CASE).read_bytes()).hexdigest() == own_case(directory)["sha256"]
    return INTACT if same else f"damaged: its SHA-256 is not the one in {CONFIG}"
