"""Whether an existing file belongs to the run that is to continue it."""

from __future__ import annotations

import io

from ...config import config_hash, to_toml
from ...config.loading import decisive
from ...config.loading.older import today
from ...errors import FilesError
from ...ocean.elements import array_of
from ...ocean.table import COEFFICIENTS
from ..background import image
from ..integrity import checksums, guard
from ..run_folder import CONFIG, holding
from .metadata import history_line
from .static import AXES

#: What must be intact in every record, as it decides which records are kept.
SURE = (checksums.VARIABLE, "step")

#: Lines of the history that are kept besides the first: HDF5 takes 64 KiB at most.
HISTORY_LINES = 100


def require_intact(files: dict, transport) -> None:
    """Raise FilesError on all ranks unless the files can be continued, and the records to be kept are intact.

    Args:
        files: {path of an existing file: function of a record's step that says whether the record is kept}.
    """
    error = transport.broadcast(damage(files) if transport.rank == 0 else None)
    if error is not None:
        raise error


def damage(files: dict) -> FilesError | None:
    """See `require_intact`."""
    paths, problems = [path for path in files if path.is_file()], []
    for path, found in zip(paths, guard.facts([guard.Job(path) for path in paths]), strict=True):
        if "damaged" in found:
            steps = found["steps"]
            found["damaged"] = [
                (name, record)
                for name, record in found["damaged"]
                if record is None or record >= len(steps) or name in SURE or files[path](steps[record])
            ]
            problem = guard.in_words(found) if found["damaged"] else None
        else:
            problem = found["problem"]
        problems += [f"{path}: {problem}"] if problem else []
    if not problems:
        return None
    folder = paths[0].parent
    anew = f"put a copy in its place, or start anew: swmodel {{}} {folder / CONFIG} --output {folder} --force"
    return FilesError("\n".join([*problems[:-1], f"{problems[-1]}; {anew.format(holding(folder).task)}"]))


def resume(records, keep, config, command_line: str) -> None:
    """Keep the Records for whose step `keep` is true, and record the configuration and the command line."""
    records.select(keep)
    file = records.file
    lines = text_of(file, "history").splitlines()
    kept = [*lines[:1], *lines[1:][-HISTORY_LINES:]]
    set_text(file, "history", "\n".join([*kept, history_line(command_line)]))
    if text_of(file, "configuration_sha256") != config_hash(config):
        set_text(file, "configuration", to_toml(config))
        set_text(file, "configuration_sha256", config_hash(config))
        if checksums.HEADER in file.attrs:
            checksums.seal_header(file)


def differences(file, config, define) -> list[str]:
    """Why a file, whose new version `define` would make, cannot be continued with `config`, in words."""
    if "configuration" not in file.attrs:
        return ["it holds no configuration of swmodel"]
    different = decisive.differences(text_of(file, "configuration"), to_toml(config))
    return different or layout_differences(file, define, config.physics.tracers)


def layout_differences(file, define, tracers) -> list[str]:
    """Variables whose type, shape or storage differs from what `define` makes in a new netCDF4.Dataset, in words."""
    import h5py

    with h5py.File(io.BytesIO(image(define)), "r") as new:
        found, wanted = ({name: storage(each[name]) for name in list(each)} for each in (file, new))
    # Earlier versions did not write these; without the content of a tracer there are fewer checksums.
    contents, sums = {each.name for each in tracers}, {checksums.VARIABLE, checksums.DIMENSION}
    unknown = (contents | sums | {array_of(name) for name in COEFFICIENTS} | AXES.keys()) & wanted.keys() - found.keys()
    unknown |= sums if contents & unknown else set()
    earlier = {name for name in found if today(name) != name}
    found, wanted = ({name: each[name] for name in each.keys() - unknown - earlier} for each in (found, wanted))
    return [
        f"{name} is {found.get(name, 'missing')}, not {wanted.get(name, 'in files of this version')}"
        for name in sorted({*found, *wanted})
        if found.get(name) != wanted.get(name)
    ]


def storage(variable) -> str:
    """Type, shape and chunks of a variable in words."""
    sizes = [str(size or "time") for size in variable.maxshape]
    return f"{variable.dtype} [{', '.join(sizes)}] in chunks of {variable.chunks}"


def text_of(file, name: str) -> str:
    """A global attribute as text; empty if there is none."""
    return checksums.text(file.attrs[name]) if name in file.attrs else ""


def set_text(file, name: str, text: str) -> None:
    """Set a global attribute as netCDF does, with a fixed length."""
    import h5py
    import numpy as np

    encoded = text.encode()
    file.attrs.create(name, np.bytes_(encoded), dtype=h5py.string_dtype("utf-8", len(encoded)))
