"""Fields that are distributed over processes, in one HDF5 file that any number of processes can read.

HDF5 keeps a checksum of every chunk of a field, and refuses to read a chunk that has changed.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import h5py
import numpy as np

from ..errors import FilesError
from .draft import Draft
from .gather import gathered_members
from .journal import JournaledFile, remove


def write_blocks(path, fields: dict, text: str, shape: tuple[int, int], transport) -> None:
    """Write fields, numbers (arrays of shape ()) and a text; called by all processes together.

    The new file appears whole or not at all. FilesError: it could not be written, on all processes.

    Args:
        shape: that of the whole fields; `transport.block` is the process's part of them.
    """
    blocks = _Blocks()
    draft = Draft(path, transport, blocks.close)
    draft.do(blocks.open, draft.temporary)
    draft.do(blocks.put, "text", text.encode())
    for name, values in fields.items():
        values = np.asarray(values)
        if values.ndim == 0:
            draft.do(blocks.put, name, values)
            continue
        draft.do(blocks.make, name, shape, values.dtype)
        draft.fill(partial(blocks.store, name), gathered_members(transport, values))
    draft.do(blocks.finish)
    draft.finish()


class JournaledHDF5:
    """An HDF5 file that rank 0 writes through a JournaledFile, as HDF5 does not survive a full disk."""

    def __init__(self):
        self.file = self.journal = None

    def open(self, path: Path, image: bytes = b"") -> None:
        """Make the file, empty or from an image of it."""
        remove(path)  # with a journal, which a killed writer may have left
        path.write_bytes(image)
        self.journal = JournaledFile(path)
        self.file = h5py.File(self.journal, "r+" if image else "w")

    def store(self, name: str, where, values) -> None:
        """Write a part of a data set."""
        self.file[name][where] = values
        self.journal.check()

    def finish(self) -> None:
        """Commit the file to the disk."""
        self.file.close()
        self.journal.commit()
        self.close()

    def close(self) -> None:
        """Close the file as it is."""
        if self.file:
            self.file.close()
        if self.journal is not None:
            self.journal.close()
        self.file = self.journal = None


class _Blocks(JournaledHDF5):
    """The file on rank 0."""

    def put(self, name: str, value) -> None:
        """Add a data set with its value."""
        self.file.create_dataset(name, data=value)

    def make(self, name: str, shape, dtype) -> None:
        """Add a data set to be filled."""
        self.file.create_dataset(name, shape, dtype, fletcher32=True)


def read_blocks(path, block) -> tuple[dict, str]:
    """The fields on this process's block and the numbers, by name, and the text. FilesError: it cannot be read."""
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
