"""Open a restart file in either format."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from ..run_folder import is_zarr_store
from ..store import arrays


@contextlib.contextmanager
def open_restart(path) -> Iterator:
    """A context that yields the fields by name: an h5py.File, or {name: zarr.Array} for a store.

    OSError, or for a store also ValueError: the file cannot be read.
    """
    path = Path(path)
    if is_zarr_store(path):
        _, documents = arrays.read_store_metadata(path)
        yield {name: arrays.open_array(path / name, document) for name, document in documents.items()}
    else:
        import h5py

        with h5py.File(path, "r", locking=False) as file:
            yield file
