"""The restart files in a run folder: names, checks, and the choice of one to continue from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from ...config import ConfigError, to_toml
from ...config.loading.decisive import decisive, decisive_of_ensemble, differences
from ...errors import FilesError, UsageError
from ...setup.fields import noted
from ..draft import WRITING
from ..integrity import guard
from ..run_folder import CONFIG, RESTARTS, ZARR, holding, remove
from ..store.draft_store import EARLIER

NAME = re.compile(r"step-(\d+)\.(nc|zarr)")

#: Endings of unused files: of a run that died while writing, or set aside by a resumed run.
TEMPORARY, UNUSED = WRITING, ".unused"
LEFT_OVER = re.compile(rf"{NAME.pattern}({TEMPORARY}(\.journal)?|{UNUSED}|{EARLIER})?")

#: The ending of a restart file by `restart.format`.
ENDINGS = {"netcdf": ".nc", "zarr": ZARR}


class Restart(NamedTuple):
    """An intact restart file: step, configuration (TOML), members (1 for a run), text of a user's case, notes."""

    path: Path
    step: int = 0
    configuration: str = ""
    members: int = 1
    case_file: str = ""
    records: str = ""


def path_of(directory, step: int, kind: str = "netcdf") -> Path:
    """The restart file of the run in `directory` after `step` steps, in a format."""
    return Path(directory) / RESTARTS / f"step-{step:010d}{ENDINGS[kind]}"


def step_of(path: Path) -> int:
    """The step in the name of a restart file; -1 for other names."""
    match = NAME.fullmatch(path.name)
    return int(match[1]) if match else -1


def candidates(directory) -> list[Path]:
    """The restart files of the run in `directory`, the newest first."""
    folder = Path(directory) / RESTARTS
    found = [path for path in folder.iterdir() if NAME.fullmatch(path.name)] if folder.is_dir() else []
    return sorted(found, key=step_of, reverse=True)


def how_to_continue(directory) -> str:
    """The newest restart file in the folder and the command that continues, in words; empty without one."""
    found = candidates(directory)
    return f"; last restart: {found[0]}, continue with `swmodel resume {directory}`" if found else ""


def facts(path) -> dict:
    """The facts of `examine.examine`, from another process; "problem" has the reason if the file cannot be used."""
    return guard.facts([job(path)])[0]


def job(path) -> guard.Job:
    """The examination of a restart file."""
    return guard.Job(Path(path), "restart")


def choose(directory, name: str | None = None) -> tuple[Restart, list[str]]:
    """The restart file to continue from, and remarks on newer damaged ones.

    `name`: a path, or the name of a file in the folder's restart/; None: the newest intact one. FilesError: none.
    """
    if name is not None:
        named = Path(directory) / RESTARTS / name
        paths = [named if named.exists() else Path(name)]
    else:
        paths = candidates(directory)
    problems = []
    for path in paths:
        found = facts(path)
        if "problem" not in found:
            restart = Restart(path, *(found[name] for name in Restart._fields[1:]))
            return restart, [f"{problem}; continues from {path.name}" for problem in problems]
        problems.append(f"{path}: {found['problem']}")
    if name is not None or not paths:
        others = [path for path in candidates(directory) if path not in paths]
        listed = f"restart files in {directory} are: {', '.join(path.name for path in others) or 'none'}"
        task = holding(directory).task
        again = f"`swmodel {task} {Path(directory) / CONFIG} --output {directory} --force` starts the {task} again"
        nothing = f"{directory} has no restart file to continue from; {again}"
        raise FilesError(f"{problems[0]}; {listed}" if problems else nothing)
    raise FilesError("\n".join([f"no restart file in {directory} is intact", *problems]))


def check_start(path, directory) -> None:
    """Make sure that a run into `directory` can start from a restart file: it is intact, and is not replaced.

    FilesError, UsageError: it cannot.
    """
    if Path(directory).resolve() in Path(path).resolve().parents:
        raise UsageError(f"{directory} holds {path}, from which the run starts; give another folder with --output")
    if "problem" in (found := facts(path)):
        raise FilesError(f"{path}: {found['problem']}")


def compare(config, restart: Restart, task: str = "run") -> None:
    """Raise ConfigError, with a line for each difference, unless a restart file has this task and configuration."""
    ensemble = task == "ensemble"
    essence = decisive_of_ensemble if ensemble else decisive
    problems = differences(restart.configuration, to_toml(config), essence)
    if ensemble != (restart.members > 1):
        problems.insert(0, f"it is from {'a single run' if ensemble else 'an ensemble'}")
    if problems := problems or list(noted.differences(config, restart.records)):
        raise ConfigError([f"{restart.path} is from another {task}:", *problems])


def set_aside(directory, step: int) -> None:
    """Rename the restart files beyond `step`, from which the run continues and writes them again."""
    for path in candidates(directory):
        if step_of(path) > step:
            unused = path.with_name(path.name + UNUSED)
            remove(unused)
            path.replace(unused)


def tidy(directory, step: int) -> None:
    """Keep the restart file of `step` and the one before; remove all others, also unfinished ones."""
    ours = [path for path in candidates(directory) if step_of(path) <= step][:2]
    for path in (Path(directory) / RESTARTS).iterdir():
        if LEFT_OVER.fullmatch(path.name) and path not in ours:
            remove(path)
