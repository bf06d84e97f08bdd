"""Fields distributed over processes, in one HDF5 file that any number of processes can read.

HDF5 keeps a checksum of every chunk of a field, and refuses to read a chunk that has changed.
"""

from __future__ import annotations

import h5py
import numpy as np

from ..errors import FilesError
from .background import BackgroundFile
from .gather import gathered_members


def write_blocks(path, fields: dict, text: str, shape: tuple[int, int], transport) -> None:
    """Write fields, numbers (arrays () or [n]) and a text, whole or not at all; all processes call it together.

    A field may have records before y and x.

    `shape`: shape of the whole fields. FilesError, on all processes: the file could not be written.
    """
    with BackgroundFile(path, transport, draft=True) as file:
        file.put(create, "text", {"data": text.encode()})
        for name, values in fields.items():
            values = np.asarray(values)
            if values.ndim < 2:
                file.put(create, name, {"data": values})
                continue
            file.put(create, name, {"shape": (*values.shape[:-2], *shape), "dtype": values.dtype, "fletcher32": True})
            for record in np.ndindex(values.shape[:-2]):
                for where, rows in gathered_members(transport, values[record]):
                    file.put(store, name, (*record, *where), rows)


def create(records, name: str, options: dict) -> None:
    """Make a data set."""
    records.file.create_dataset(name, **options)


def store(records, name: str, where, values) -> None:
    """Write a part of a data set."""
    records.file[name][where] = values


def read_blocks(path, block) -> tuple[dict, str]:
    """The fields on this process's block and the numbers, by name, and the text. FilesError: no readable file."""
    try:
        with h5py.File(path, "r", locking=False) as file:
            rows, columns = slice(block.y.start, block.y.stop), slice(block.x.start, block.x.stop)
            fields = {
                name: np.asarray(data[..., rows, columns] if data.ndim > 1 else data[()])
                for name, data in file.items()
                if name != "text"
            }
            return fields, file["text"][()].decode()
    except (OSError, KeyError, RuntimeError) as error:
        raise FilesError(f"{path} cannot be read: {error}") from error
