"""Fields that are distributed over processes, in one HDF5 file that any other number of processes can read."""

from __future__ import annotations

import os
from pathlib import Path

import h5py
import numpy as np

from ..errors import FilesError

#: Bytes of a field gathered at a time.
GATHER_BYTES = 4 << 20


def write_blocks(path, fields: dict, text: str, config, transport) -> None:
    """Write fields [ny, nx] and numbers () with a text beside them; called by all processes together.

    The file is in place whole or not at all; one that was there before stays until then.

    Raises:
        FilesError: it could not be written, on all processes.
    """
    path, shape = Path(path), (config.grid.ny, config.grid.nx)
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
        rows = max(1, GATHER_BYTES // (shape[1] * values.itemsize))
        for first in range(0, shape[0], rows):
            last = min(first + rows, shape[0])
            attempt(fill, file, name, first, last, transport.gather_rows(values, first, last))
    attempt(close, file, temporary, path)
    if problem := transport.broadcast(problem):
        raise FilesError(problem)


def put(file, name, value):
    """A data set with its value."""
    file.create_dataset(name, data=value)


def make(file, name, shape, dtype):
    """A data set to be filled."""
    file.create_dataset(name, shape, dtype)


def fill(file, name, first, last, rows):
    """Rows first to last of a data set."""
    file[name][first:last] = rows


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
