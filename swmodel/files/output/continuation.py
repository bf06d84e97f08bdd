"""Check an existing output file before a run continues it, and prepare it for new records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...config import config_hash, to_toml
from ...config.loading import fixed_on_resume
from ...errors import FilesError
from ..gather import chunk_rows
from ..integrity import checksums, guard
from ..run_folder import CONFIG, folder_contents
from .metadata import history_line

if TYPE_CHECKING:
    from ...config.options.model import Config
    from ...parallel.transport.transport import Transport

#: Variables that must be intact in every record, because the choice of the records to keep depends on them.
VARIABLES_REQUIRED_INTACT = (checksums.VARIABLE, "step")

#: Number of recent lines of the history that are kept besides the first: an HDF5 attribute holds at most 64 KiB.
MAX_HISTORY_LINES = 100


def require_intact(files: dict, transport: Transport) -> None:
    """Raise FilesError on all ranks if a file is damaged in a part that the run keeps.

    Args:
        files: {path: keep}; `keep(step)` says whether the file's record of this step is kept.
    """
    problems = []
    if transport.rank == 0:
        paths = [path for path in files if path.exists()]
        facts_of_files = guard.examine_files([guard.FileToExamine(path) for path in paths])
        problems = [
            f"{path}: {problem}"
            for path, facts in zip(paths, facts_of_files, strict=True)
            if (problem := problem_in_kept_records(facts, files[path]))
        ]
        if problems:
            folder = paths[0].parent
            restart_command = f"swmodel {folder_contents(folder).task} {folder / CONFIG} --output {folder} --force"
            problems[-1] += f"; restore a copy, or start again: {restart_command}"
    if problems := transport.broadcast(problems):
        raise FilesError("\n".join(problems))


def problem_in_kept_records(facts: dict, keep) -> str | None:
    """Why a run cannot continue a file with these facts, or None; damage to records that are not kept is ignored."""
    if "damaged" not in facts:
        return facts["problem"]
    steps = facts["steps"]
    damaged = [
        (name, record)
        for name, record in facts["damaged"]
        if record is None or record >= len(steps) or name in VARIABLES_REQUIRED_INTACT or keep(steps[record])
    ]
    return guard.describe_damage(facts | {"damaged": damaged}) if damaged else None


def resume(writer, keep, config: Config, command_line: str) -> None:
    """Keep the records for which `keep(step)` is true, and write the configuration and command line into the file.

    `writer`: the RecordWriter of the file.
    """
    writer.select(keep)
    file = writer.file
    set_text_attribute(file, "history", extend_history(text_attribute(file, "history"), command_line))
    if text_attribute(file, "configuration_sha256") != config_hash(config):
        set_text_attribute(file, "configuration", to_toml(config))
        set_text_attribute(file, "configuration_sha256", config_hash(config))
        if checksums.HEADER_ATTRIBUTE in file.attrs:
            checksums.write_header_checksum(file)


def extend_history(history: str, command_line: str) -> str:
    """The history of a file, extended by a command line; of a long history, the first and the most recent lines."""
    lines = history.splitlines()
    return "\n".join([*lines[:1], *lines[1:][-MAX_HISTORY_LINES:], history_line(command_line)])


def configuration_differences(text: str | None, config: Config) -> list[str]:
    """The differences between the configuration in a file, `text` (TOML), and `config`, in words."""
    if not text:
        return ["it has no configuration of swmodel"]
    return fixed_on_resume.differences(text, to_toml(config))


def differences(file, config: Config) -> list[str]:
    """Why a run with `config` cannot continue `file`, in words: its configuration or else its chunks differ."""
    if configuration_changes := configuration_differences(text_attribute(file, "configuration"), config):
        return configuration_changes
    record_fields = {name: file[name] for name in list(file) if file[name].ndim > 2}
    chunk = chunk_rows((config.grid.ny, config.grid.nx), np.dtype(config.run.dtype).itemsize), config.grid.nx
    # A run writes whole chunks, whose shape may differ in files of earlier versions.
    rechunked_names = [
        name for name, field in record_fields.items() if field.maxshape[0] is None and field.chunks[-2:] != chunk
    ]
    return [f"{name} has chunks of {record_fields[name].chunks}" for name in rechunked_names]


def text_attribute(file, name: str) -> str:
    """A global attribute as text; "" if there is none."""
    return checksums.to_text(file.attrs[name]) if name in file.attrs else ""


def set_text_attribute(file, name: str, text: str) -> None:
    """Set a global attribute as netCDF does, with a fixed length."""
    import h5py

    encoded = text.encode()
    file.attrs.create(name, np.bytes_(encoded), dtype=h5py.string_dtype("utf-8", len(encoded)))
