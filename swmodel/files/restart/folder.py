"""The restart files in a run folder: their names, checks, and the choice of the file to continue from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...config import ConfigError, to_toml
from ...config.loading.fixed_on_resume import differences, ensemble_values_fixed_on_resume, values_fixed_on_resume
from ...errors import FilesError, UsageError
from ...setup.fields import record_notes
from ...setup.fields.start_state import RESTART_NAME_PATTERN
from ..draft import DRAFT_SUFFIX
from ..integrity import guard
from ..run_folder import CONFIG, RESTART_FOLDER, ZARR_SUFFIX, folder_contents, remove_path
from ..store.draft_store import EARLIER_SUFFIX

if TYPE_CHECKING:
    from ...config.options.model import Config

#: Suffixes of files that are not used: unfinished, because the writer was killed, or set aside by a resumed run.
TEMPORARY_SUFFIX, UNUSED_SUFFIX = DRAFT_SUFFIX, ".unused"
RESTART_OR_LEFTOVER_PATTERN = re.compile(
    rf"{RESTART_NAME_PATTERN.pattern}({TEMPORARY_SUFFIX}(\.journal)?|{UNUSED_SUFFIX}|{EARLIER_SUFFIX})?"
)

#: The suffix of a restart file, by `restart.format`.
SUFFIXES = {"netcdf": ".nc", "zarr": ZARR_SUFFIX}


class RestartFile(NamedTuple):
    """An intact restart file.

    Attributes:
        step: number of steps before it was written.
        configuration: the configuration of the run, TOML.
        members: number of members of an ensemble, 1 for a single run.
        case_file: text of the file of a user's case, or "".
        records: notes on records in time (`setup.fields.record_notes`).
    """

    path: Path
    step: int = 0
    configuration: str = ""
    members: int = 1
    case_file: str = ""
    records: str = ""


def restart_path(directory, step: int, file_format: str = "netcdf") -> Path:
    return Path(directory) / RESTART_FOLDER / f"step-{step:010d}{SUFFIXES[file_format]}"


def step_of(path: Path) -> int:
    """The step in the name of a restart file; -1 for any other file."""
    match = RESTART_NAME_PATTERN.fullmatch(path.name)
    return int(match[1]) if match else -1


def list_restart_files(directory) -> list[Path]:
    """The restart files of the run in `directory`, the newest first."""
    folder = Path(directory) / RESTART_FOLDER
    paths = [path for path in folder.iterdir() if step_of(path) >= 0] if folder.is_dir() else []
    return sorted(paths, key=step_of, reverse=True)


def resume_hint(directory) -> str:
    """The newest restart file in the folder and the command that continues from it, in words; "" if none exists."""
    paths = list_restart_files(directory)
    return f"; last restart: {paths[0]}, continue with `swmodel resume {directory}`" if paths else ""


def examine_restart(path) -> dict:
    """The facts of `examine.examine`, from another process; "problem" says why the file cannot be used."""
    return guard.examine_files([restart_examination(path)])[0]


def restart_examination(path) -> guard.FileToExamine:
    return guard.FileToExamine(Path(path), "restart")


def choose_restart(directory, name: str | None = None) -> tuple[RestartFile, list[str]]:
    """The restart file to continue from, and remarks on newer but damaged files.

    `name`: a path, or the name of a file in restart/; None: the newest intact file. FilesError: there is none, or the
    named file is not intact.
    """
    if name is not None:
        path_in_folder = Path(directory) / RESTART_FOLDER / name
        paths = [path_in_folder if path_in_folder.exists() else Path(name)]
    else:
        paths = list_restart_files(directory)
    problems: list[str] = []
    for path in paths:
        facts = examine_restart(path)
        if "problem" not in facts:
            restart = RestartFile(path, *(facts[name] for name in RestartFile._fields[1:]))
            return restart, [f"{problem}; the run continues from {path.name}" for problem in problems]
        problems.append(f"{path}: {facts['problem']}")
    if name is not None:
        other_names = [path.name for path in list_restart_files(directory) if path not in paths]
        raise FilesError(f"{problems[0]}; restart files in {directory} are: {', '.join(other_names) or 'none'}")
    if not paths:
        task = folder_contents(directory).task
        command = f"`swmodel {task} {Path(directory) / CONFIG} --output {directory} --force`"
        raise FilesError(f"{directory} has no restart file to continue from; {command} starts the {task} again")
    raise FilesError("\n".join([f"no restart file in {directory} is intact", *problems]))


def check_initial_restart(path, directory) -> None:
    """Raise UsageError if a run into `directory` would replace the restart file `path`; FilesError: it is damaged."""
    if Path(directory).resolve() in Path(path).resolve().parents:
        raise UsageError(f"{directory} holds {path}, from which the run starts; give another folder with --output")
    if "problem" in (facts := examine_restart(path)):
        raise FilesError(f"{path}: {facts['problem']}")


def require_same_run(config: Config, restart: RestartFile, task: str = "run") -> None:
    """Raise ConfigError, with a line per difference, unless a restart file is from this task and configuration."""
    is_ensemble = task == "ensemble"
    select_decisive = ensemble_values_fixed_on_resume if is_ensemble else values_fixed_on_resume
    problems = differences(restart.configuration, to_toml(config), select_decisive)
    if is_ensemble != (restart.members > 1):
        problems.insert(0, f"it is from {'a single run' if is_ensemble else 'an ensemble'}")
    if problems := problems or list(record_notes.changed_records(config, restart.records)):
        raise ConfigError([f"{restart.path} is from another {task}:", *problems])


def set_aside_later_files(directory, step: int) -> None:
    """Rename the restart files of steps after `step`, because the run continues from `step` and writes them again."""
    for path in list_restart_files(directory):
        if step_of(path) > step:
            unused = path.with_name(path.name + UNUSED_SUFFIX)
            remove_path(unused)
            path.replace(unused)


def remove_old_files(directory, step: int) -> None:
    """Keep the restart file of `step` and the one before; remove all others, also unfinished and unused ones."""
    latest = [path for path in list_restart_files(directory) if step_of(path) <= step][:2]
    for path in (Path(directory) / RESTART_FOLDER).iterdir():
        if RESTART_OR_LEFTOVER_PATTERN.fullmatch(path.name) and path not in latest:
            remove_path(path)
