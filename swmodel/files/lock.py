"""The lock of a run folder: a lock on the file run.lock. The system releases it when its holder ends or is killed.

On a network file system the lock works between machines only if the file system supports it: NFS version 4 does, NFS
mounted with `nolock` or `local_lock` does not.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
from pathlib import Path

from ..errors import FilesError, translate_os_errors

FILE_NAME = "run.lock"


@contextlib.contextmanager
def hold_folder(directory):
    """Lock the folder for a run of this process, and create it if necessary.

    Yields the lock file, which is removed at the end. Processes that inherit the file descriptor hold the lock, too.
    FilesError: another run holds the lock, or the folder cannot be written.
    """
    path = Path(directory) / FILE_NAME
    with translate_os_errors(directory, "written"):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+")
    with file:
        lock_file(file, path, fcntl.LOCK_EX)
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}")
        file.flush()
        try:
            yield file
        finally:
            path.unlink(missing_ok=True)


def check_unlocked(directory):
    """Raise FilesError if a run uses the folder, without writing anything."""
    path = Path(directory) / FILE_NAME
    with contextlib.suppress(FileNotFoundError, PermissionError), path.open() as file:
        lock_file(file, path, fcntl.LOCK_SH)  # network file systems allow no other lock on a file open for reading


def lock_file(file, path: Path, operation: int):
    """Lock an open file (LOCK_EX or LOCK_SH) until it is closed. FilesError: a run holds the lock."""
    try:
        fcntl.flock(file, operation | fcntl.LOCK_NB)
        if not os.path.samestat(os.fstat(file.fileno()), path.stat()):
            raise FileNotFoundError
    except (BlockingIOError, FileNotFoundError):  # a run holds the lock, or has just removed the file
        file.seek(0)
        holder = file.read() or "another process"
        raise FilesError(
            f"{path.parent} is in use by a run ({holder}); wait until it ends or choose another folder"
        ) from None
