"""The lock of a run folder: a lock on the file run.lock, which the system frees when its holder ends or is killed.

On network file systems the lock works between machines only if the server supports it: NFS version 4 does, NFS mounted
with `nolock` or `local_lock` does not.
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
    """Lock the folder, and create it if missing, for this process's run; yields the lock file, removed at the end.

    Processes that inherit the file descriptor hold it, too. FilesError: another run holds it, or it cannot be written.
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
    """Raise FilesError if a run uses the folder. Writes nothing."""
    path = Path(directory) / FILE_NAME
    with contextlib.suppress(FileNotFoundError, PermissionError), path.open() as file:
        lock_file(file, path, fcntl.LOCK_SH)  # network file systems allow no other lock on a file open for reading


def lock_file(file, path: Path, operation: int):
    """Lock an open file (LOCK_EX or LOCK_SH), without waiting, until it is closed or the process ends."""
    try:
        fcntl.flock(file, operation | fcntl.LOCK_NB)
        if not os.path.samestat(os.fstat(file.fileno()), path.stat()):
            raise FileNotFoundError
    except (BlockingIOError, FileNotFoundError):  # a run holds it, or has just removed it
        file.seek(0)
        holder = file.read() or "another process"
        raise FilesError(
            f"{path.parent} is in use by a run ({holder}); wait until it ends or choose another folder"
        ) from None
