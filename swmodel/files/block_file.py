"""Fields that are distributed over processes, in one HDF5 file that any other number of processes can read.

HDF5 keeps a checksum of every piece of a field and refuses to read one that is not as it was written.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import h5py
import numpy as np

from ..errors import FilesError
from .journal import JournaledFile, remove
from .restart.write import row_blocks, sync
from .run_folder import WRITING


def write_blocks(path, fields: dict, text: str, shape: tuple[int, int], transport) -> None:
    """Write fields and numbers () with a text beside them; called by all processes together.

    The file is in place whole or not at all; one that was there before stays until then.

    Args:
        shape: of the whole fields; `transport.block` is the part of them that the process has.

    Raises:
        FilesError: it could not be written, on all processes; nothing of it is left.
    """
    draft, problem = Draft(Path(path)) if transport.rank == 0 else None, None

    def attempt(name, *arguments):
        nonlocal problem
        if draft and problem is None:
            try:
                getattr(draft, name)(*arguments)
            except (OSError, RuntimeError) as error:  # HDF5 raises either where writing fails
                problem = f"{path} cannot be written: {getattr(error, 'strerror', None) or error}"
                draft.give_up()

    attempt("open")
    attempt("put", "text", text.encode())
    for name, values in fields.items():
        values = np.asarray(values)
        if values.ndim == 0:
            attempt("put", name, values)
            continue
        attempt("make", name, shape, values.dtype)
        for first, last in row_blocks(shape, values.itemsize):
            attempt("fill", name, first, transport.gather_rows(values, first, last))
    attempt("finish")
    if problem := transport.broadcast(problem):
        raise FilesError(problem)


class Draft:
    """The file under a temporary name, on rank 0; through a JournaledFile, as HDF5 takes a full disk badly."""

    def __init__(self, path: Path):
        self.path, self.temporary = path, path.with_name(path.name + WRITING)
        self.file = self.journal = None

    def open(self) -> None:
        """Make the file, empty."""
        remove(self.temporary)  # with a journal, which a killed writer may have left
        self.temporary.touch()
        self.journal = JournaledFile(self.temporary)
        self.file = h5py.File(self.journal, "w")

    def put(self, name: str, value) -> None:
        """Add a data set with its value."""
        self.file.create_dataset(name, data=value)

    def make(self, name: str, shape, dtype) -> None:
        """Add a data set to be filled."""
        self.file.create_dataset(name, shape, dtype, fletcher32=True)

    def fill(self, name: str, first: int, rows) -> None:
        """Write rows of a data set from `first` on."""
        self.file[name][first : first + len(rows)] = rows
        self.journal.check()

    def finish(self) -> None:
        """Put the file in its place, once it is on the disk."""
        self.file.close()
        self.journal.commit()
        self.journal.close()
        self.temporary.replace(self.path)
        sync(self.path.parent)

    def give_up(self) -> None:
        """Close and remove the file, as far as the system allows."""
        with contextlib.suppress(OSError, RuntimeError):
            if self.file:
                self.file.close()
            if self.journal is not None:
                self.journal.close()
            remove(self.temporary)


def read_blocks(path, block) -> tuple[dict, str]:
    """The fields on this process's block and the numbers, by name, and the text.

    Raises:
        FilesError: the file cannot be read.
    """
    try:
        with h5py.File(path, "r", locking=False) as file:
            rows, columns = slice(block.y.start, block.y.stop), slice(block.x.start, block.x.stop)
            fields = {
                name: np.asarray(data[rows, columns] if data.ndim else data[()])
                for name, data in file.items()
                if name != "text"
            }
            return fields, file["text"][()].decode()
    except (OSError, KeyError, RuntimeError) as error:
        raise FilesError(f"{path} cannot be read: {error}") from error
