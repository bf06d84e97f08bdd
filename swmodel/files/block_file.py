"""Fields distributed over processes, in one HDF5 file that any number of processes can read.

HDF5 stores a checksum of every chunk of a field, and refuses to read a chunk that has changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import h5py
import numpy as np

from ..errors import FilesError
from .background import BackgroundFile
from .gather import gather_pieces

if TYPE_CHECKING:
    from ..parallel.transport.transport import Transport


def write_blocks(path, fields: dict, text: str, shape: tuple[int, int], transport: Transport) -> None:
    """Write a file of fields, numbers and a text atomically; all processes must call this together.

    FilesError, on all processes: the file could not be written.

    Args:
        fields: {name: this process's block of a field [..., y, x], in an ensemble [members, ..., y, x], or numbers, ()
            or [n], of which those of rank 0 are written}; axes in place of `...` count records.
        shape: rows and columns of the global fields.
    """
    is_ensemble = is_ensemble_block(transport.block)
    global_shape = (*[transport.block.members.axis_size] * is_ensemble, *shape)
    with BackgroundFile(path, transport, is_draft=True) as file:
        file.submit(create_dataset, "text", {"data": text.encode()})
        for name, values in fields.items():
            values = np.asarray(values)
            if values.ndim < 2:
                file.submit(create_dataset, name, {"data": values})
                continue
            values = np.moveaxis(values, 0, -3) if is_ensemble else values
            record_shape = values.shape[: -len(global_shape)]
            options = {"shape": (*record_shape, *global_shape), "dtype": values.dtype, "fletcher32": True}
            file.submit(create_dataset, name, options)
            for record in np.ndindex(record_shape):
                for index, rows in gather_pieces(transport, values[record]):
                    file.submit(write_part, name, (*record, *index), rows)


def is_ensemble_block(block) -> bool:
    return block.members.axis_size > 1


def create_dataset(writer, name: str, options: dict) -> None:
    writer.file.create_dataset(name, **options)


def write_part(writer, name: str, index, values) -> None:
    writer.file[name][index] = values


def read_blocks(path, block) -> tuple[dict, str]:
    """{name: this process's block of a field, or numbers}, shaped as for `write_blocks`, and the text of a file.

    FilesError: the file cannot be read.
    """
    is_ensemble = is_ensemble_block(block)
    axes = (block.members, block.y, block.x) if is_ensemble else (block.y, block.x)
    local_index = (..., *(slice(axis.start, axis.stop) for axis in axes))

    def read_local(data):
        if data.ndim < 2:
            return np.asarray(data[()])
        values = np.asarray(data[local_index])
        return np.ascontiguousarray(np.moveaxis(values, -3, 0)) if is_ensemble else values

    try:
        with h5py.File(path, "r", locking=False) as file:
            return {name: read_local(data) for name, data in file.items() if name != "text"}, file["text"][()].decode()
    except (OSError, KeyError, RuntimeError) as error:
        raise FilesError(f"{path} cannot be read: {error}") from error
