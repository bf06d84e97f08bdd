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
def atomic_write(path, suffix: str = DRAFT_SUFFIX) -> Iterator[Path]:
    """Yield a temporary path, renamed to `path` at the end. FilesError: writing failed; `path` is unchanged."""
    path = Path(path)
    temporary = path.with_name(path.name + suffix)
    try:
        yield temporary
        temporary.replace(path)
    except (OSError, RuntimeError) as error:  # HDF5 raises one of the two
        raise WriteError(f"{path} cannot be written: {write_failure_reason(error, path)}") from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_text(path, text: str):
    """Write and sync a text file atomically. FilesError: writing failed; an existing file is unchanged."""
    with atomic_write(path, f".{os.getpid()}") as temporary, temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def free_bytes(path: Path) -> int:
    """Free bytes on the disk of a file; neither the file nor its folder needs to exist."""
    return shutil.disk_usage(next(folder for folder in path.absolute().parents if folder.is_dir())).free
