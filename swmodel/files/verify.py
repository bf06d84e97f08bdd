"""Reading all files of a run, and comparing them with their checksums."""

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
from .run_folder import CONFIG, RESTARTS, own_case
from .status import NAME as STATUS
from .status import read_status

INTACT = "intact"
READABLE = "can be read; it holds no checksums"


def verdicts(path) -> dict[str, str]:
    """For each file of a run folder, or for a single file: whether it is intact, or what is wrong with it.

    UsageError: there is no file of a run. FilesError: the folder cannot be read.
    """
    path = Path(path)
    if not path.is_dir():
        if not os.path.lexists(path):
            raise UsageError(f"there is no file or folder {path}")
        return {path.name: verdict(guard.facts([of(path)])[0])}
    with file_errors(path, "read"):
        names = sorted(each.name for each in path.iterdir())
        jobs = [of(path / name) for name in names if Path(name).suffix in (".nc", ".h5")]
        jobs += [job(each) for each in candidates(path)]
    texts = {CONFIG: lambda: read_config(path), STATUS: lambda: read_status(path)}
    found = {name: of_text(texts[name]) for name in texts if name in names}
    if own_case(path).get("sha256"):
        found[CASE] = of_case(path)
    found |= {str(each.path.relative_to(path)): verdict(one) for each, one in zip(jobs, guard.facts(jobs), strict=True)}
    if not found:
        raise UsageError(f"{path} holds no file of a run")
    return found


def require_intact(path, found: dict[str, str]) -> None:
    """Raise FilesError, which names them, if files are damaged."""
    bad = [name for name, words in found.items() if words not in (INTACT, READABLE)]
    if bad:
        raise FilesError(f"{path}: {len(bad)} of {len(found)} files cannot be relied on: {', '.join(bad)}")


def read_config(directory: Path) -> None:
    """Read the config.toml of a run. A user's own case is not executed, and its options are not checked."""
    if not own_case(directory):
        load(directory / CONFIG, environ={})
        return
    try:
        from_toml((directory / CONFIG).read_text(encoding="utf-8"), Case)
    except (AttributeError, KeyError, TypeError):
        raise FilesError("it is not as the model wrote it") from None


def of_case(directory: Path) -> str:
    """Whether the file of a user's own case is still that of the run, in words."""
    try:
        found = hashlib.sha256((directory / CASE).read_bytes()).hexdigest()
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return INTACT if found == own_case(directory)["sha256"] else f"damaged: its SHA-256 is not the one in {CONFIG}"


def of(path: Path) -> guard.Job:
    """The examination of a file by its kind; restart files are recognised by their names."""
    if path.parent.name == RESTARTS and LEFT_OVER.fullmatch(path.name):
        return job(path)
    return guard.Job(path, options={"netcdf": path.suffix == ".nc"})


def verdict(found: dict) -> str:
    """What was found in a file, in words."""
    return found.get("problem") or (INTACT if found.get("checksums", True) else READABLE)


def of_text(read) -> str:
    """Whether a text file can be read."""
    try:
        read()
    except (ConfigError, FilesError, OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        return f"cannot be read: {' '.join(str(error).split())}"
    return READABLE
