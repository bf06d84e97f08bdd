"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ..errors import FilesError
from .journal import remove, sync_folder

#: The ending of a file that is being written.
WRITING = ".writing"


class Draft:
    """A file that rank 0 writes under a temporary name and renames at the end; used by all processes together.

    After a failure nothing more is written: the unfinished file is removed, an earlier one stays, and `finish` raises
    the error on all processes.

    Args:
        close: function that closes the file as it is.
        kind: the kind of file, for messages.
    """

    def __init__(self, path, transport, close: Callable, kind: str = ""):
        self.path, self.transport, self.close = Path(path), transport, close
        self.temporary = self.path.with_name(self.path.name + WRITING)
        self.name, self.error = f"{kind} {path}".strip(), None

    def do(self, action: Callable, *arguments) -> None:
        """Have `action(*arguments)` called on rank 0, unless something has gone wrong before."""
        if self.transport.rank or self.error is not None:
            return
        try:
            action(*arguments)
        except Exception as error:
            with contextlib.suppress(OSError, RuntimeError):  # closing may fail as writing did
                self.close()
            with contextlib.suppress(OSError):
                remove(self.temporary)
            self.error = error
            if isinstance(error, (OSError, RuntimeError)):  # HDF5 raises either if writing fails
                reason = getattr(error, "strerror", None) or error
                self.error = FilesError(f"{self.name} cannot be written: {reason}; {self.free()} bytes free")

    def fill(self, store: Callable, pieces: Iterable[tuple]) -> None:
        """Have `store(where, values)` called for the pieces of a field that `gather` yields, on all processes."""
        for where, values in pieces:
            self.do(store, where, values)

    def free(self) -> int:
        """Bytes free on the disk."""
        return free(self.path)

    def finish(self) -> None:
        """Rename the file, once it is closed. FilesError: it could not be written, on all processes."""
        self.do(self._settle)
        error = self.transport.broadcast(self.error)
        if error is not None:
            raise error

    def _settle(self) -> None:
        self.temporary.replace(self.path)
        sync_folder(self.path)


@contextlib.contextmanager
def replacing(path, ending: str = WRITING) -> Iterator[Path]:
    """A context with the name, of another ending, under which to write a file; afterwards it has its own name.

    FilesError: it cannot be written. An earlier file is unchanged.
    """
    path = Path(path)
    temporary = path.with_name(path.name + ending)
    try:
        yield temporary
        temporary.replace(path)
    except (OSError, RuntimeError) as error:  # HDF5 raises either
        raise FilesError(f"{path} cannot be written: {getattr(error, 'strerror', None) or error}") from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def free(path: Path) -> int:
    """Bytes free on the disk of a file; neither the file nor its folder need exist."""
    return shutil.disk_usage(next(folder for folder in path.absolute().parents if folder.is_dir())).free
