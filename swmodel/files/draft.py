"""Atomic writing of files, which appear complete or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from ..errors import WriteError, write_failure_reason

#: The suffix of a file that is being written.
DRAFT_SUFFIX = ".writing"


@contextlib.contextmanager
def atomic_write(path, draft_suffix: str = DRAFT_SUFFIX) -> Iterator[Path]:
    """A context that gives the path of a draft to write; at the end the draft replaces `path`.

    Args:
        path: the file.
        draft_suffix: what the draft's name has after the name of the file, for example ".writing.png" for a library
            that chooses the format by the suffix.

    Raises a FilesError if writing failed; `path` is unchanged.
    """
    path = Path(path)
    draft = path.with_name(path.name + draft_suffix)
    try:
        yield draft
        draft.replace(path)
    except (OSError, RuntimeError) as error:
        if not isinstance(error, OSError) and not str(error).startswith("NetCDF: "):
            raise
        raise WriteError(f"{path} cannot be written: {write_failure_reason(error, path)}") from error
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)


def write_text(path, text: str):
    """Write and sync a text file atomically. FilesError: writing failed; an existing file is unchanged."""
    with atomic_write(path, f".{os.getpid()}") as draft, draft.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def free_bytes(path: Path) -> int:
    """Free bytes on the disk of a file; neither the file nor its folder needs to exist."""
    return shutil.disk_usage(next(folder for folder in path.absolute().parents if folder.is_dir())).free
