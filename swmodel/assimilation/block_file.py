"""Fields that are distributed over processes, in one HDF5 file that any other number of processes can read.

Each field has its SHA-256 as an attribute, so that `damaged` finds what is not as it was written.
"""

from __future__ import annotations

import os
from pathlib import Path

import h5py
import numpy as np

from ..errors import FilesError
from ..restart.examine import CHECKSUM, checksum, digest
from ..restart.examine import text as text_of

#: Bytes of a field gathered at a time.
GATHER_BYTES = 4 << 20


def write_blocks(path, fields: dict, text: str, shape: tuple[int, int], transport) -> None:
    """Write fields and numbers () with a text beside them; called by all processes together.

    The file is in place whole or not at all; one that was there before stays until then.

    Args:
        shape: of the whole fields; `transport.block` is the part of them that the process has.

    Raises:
        FilesError: it could not be written, on all processes.
    """
    path = Path(path)
    temporary, problem, file = path.with_suffix(".writing"), None, None

    def attempt(function, *arguments):
        nonlocal problem
        if transport.rank == 0 and problem is None:
            try:
                return function(*arguments)
            except OSError as error:
                problem = f"{path} cannot be written: {error.strerror or error}"
        return None

    file = attempt(h5py.File, temporary, "w")
    attempt(put, file, "text", text.encode())
    for name, values in fields.items():
        values = np.asarray(values)
        if values.ndim == 0:
            attempt(put, file, name, values)
            continue
        attempt(make, file, name, shape, values.dtype)
        rows, total = max(1, GATHER_BYTES // (shape[1] * values.itemsize)), digest()
        for first in range(0, shape[0], rows):
            last = min(first + rows, shape[0])
            attempt(fill, file, name, first, transport.gather_rows(values, first, last), total)
        attempt(seal, file, name, total)
    attempt(close, file, temporary, path)
    if problem := transport.broadcast(problem):
        raise FilesError(problem)


def put(file, name, value):
    """A data set with its value."""
    file.create_dataset(name, data=value)


def make(file, name, shape, dtype):
    """A data set to be filled."""
    file.create_dataset(name, shape, dtype)


def fill(file, name, first, rows, total):
    """Rows of a data set from `first` on, which count for its checksum."""
    file[name][first : first + len(rows)] = rows
    total.update(np.ascontiguousarray(rows))


def seal(file, name, total):
    """Record the checksum of a data set."""
    file[name].attrs[CHECKSUM] = total.hexdigest()


def read_text(path) -> str:
    """The text beside the fields.

    Raises:
        FilesError: the file cannot be read.
    """
    try:
        with h5py.File(path, "r", locking=False) as file:
            return file["text"][()].decode()
    except (OSError, KeyError) as error:
        raise FilesError(f"{path} cannot be read: {error}") from error


def damaged(path) -> list[str]:
    """The fields in a file whose values are not those that were written.

    Raises:
        FilesError: the file cannot be read.
    """
    try:
        with h5py.File(path, "r", locking=False) as file:
            sealed = [data for data in file.values() if CHECKSUM in data.attrs]
            return [data.name[1:] for data in sealed if checksum(data) != text_of(data.attrs[CHECKSUM])]
    except (OSError, KeyError, RuntimeError) as error:
        raise FilesError(f"{path} cannot be read: {error}") from error


def close(file, temporary: Path, path: Path) -> None:
    """Put the file in its place, once it is on the disk."""
    file.close()
    with temporary.open("rb") as written:
        os.fsync(written.fileno())
    temporary.replace(path)


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
    except (OSError, KeyError) as error:
        raise FilesError(f"{path} cannot be read: {error}") from error
