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

    A field may have records before y and x. Those of an ensemble's transport have its members before them.

    `shape`: shape of the whole fields. FilesError, on all processes: the file could not be written.
    """
    members = of_members(transport.block)
    whole = (*[transport.block.members.size] * members, *shape)
    with BackgroundFile(path, transport, draft=True) as file:
        file.put(create, "text", {"data": text.encode()})
        for name, values in fields.items():
            values = np.asarray(values)
            if values.ndim < 2:
                file.put(create, name, {"data": values})
                continue
            values = np.moveaxis(values, 0, -3) if members else values
            records = values.shape[: -len(whole)]
            file.put(create, name, {"shape": (*records, *whole), "dtype": values.dtype, "fletcher32": True})
            for record in np.ndindex(records):
                for where, rows in gathered_members(transport, values[record]):
                    file.put(store, name, (*record, *where), rows)


def of_members(block) -> bool:
    """Whether a block is that of an ensemble, whose fields have an axis of members."""
    return block.members.size > 1


def create(records, name: str, options: dict) -> None:
    """Make a data set."""
    records.file.create_dataset(name, **options)


def store(records, name: str, where, values) -> None:
    """Write a part of a data set."""
    records.file[name][where] = values


def read_blocks(path, block) -> tuple[dict, str]:
    """The fields on this process's block and the numbers, by name, and the text. FilesError: no readable file."""
    members = of_members(block)
    axes = (block.members, block.y, block.x) if members else (block.y, block.x)
    here = (..., *(slice(axis.start, axis.stop) for axis in axes))

    def of(data):
        if data.ndim < 2:
            return np.asarray(data[()])
        return np.ascontiguousarray(np.moveaxis(data[here], -3, 0)) if members else np.asarray(data[here])

    try:
        with h5py.File(path, "r", locking=False) as file:
            return {name: of(data) for name, data in file.items() if name != "text"}, file["text"][()].decode()
    except (OSError, KeyError, RuntimeError) as error:
        raise FilesError(f"{path} cannot be read: {error}") from error
