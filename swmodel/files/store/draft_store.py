"""A store of fields without time, which all processes write, and which appears complete or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...errors import FilesError
from ..draft import DRAFT_SUFFIX
from ..journal import sync_path
from ..run_folder import remove_path
from . import arrays
from .block_store import BlockStore, FieldSlice

if TYPE_CHECKING:
    from ...parallel.transport.transport import Transport

#: The suffix of an existing store while the new one takes its name, and the folder of pieces within a store.
EARLIER_SUFFIX, PIECES_FOLDER = ".earlier", "pieces"


class DraftStore(BlockStore):
    """A context that writes a store, verifies it and renames it at the end. Errors leave an existing store unchanged.

    `define`: function of a netCDF4.Dataset that defines the contents. `needed_bytes`: size of the store, bytes.
    """

    def __init__(self, path, transport: Transport, shape: tuple[int, int], define: Callable, needed_bytes: int):
        target = Path(path)
        draft = target.with_name(target.name + DRAFT_SUFFIX)
        super().__init__(draft, draft / PIECES_FOLDER, transport, shape, target)
        self._field_slices: list[FieldSlice] = []
        try:
            self._call_on_rank_0(self._create, define, needed_bytes)
            self._call_on_all_ranks(self._open_arrays)
        except FilesError:
            self._finish()
            raise

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        try:
            if kind is None:
                self._submit(self._add_pending, None, self._field_slices)
                self.make_durable()
                self._call_on_all_ranks(self._verify)
                self._call_on_rank_0(self._publish)
        finally:
            self._finish()

    def write_field(self, name: str, leading_indices: tuple[int, ...], local: np.ndarray) -> None:
        """Write this process's part [y, x] of a field; `leading_indices`: indices of the axes before y and x."""
        self._field_slices.append((name, leading_indices))
        self._submit(self._write, name, leading_indices, local, nbytes=local.nbytes)

    def write_numbers(self, name: str, values: np.ndarray) -> None:
        """Write an array of numbers, which is the same on all processes."""
        if self.transport.rank == 0:
            self._submit(self._write_numbers, name, values)

    def _create(self, define, needed_bytes: int) -> None:
        self.target.parent.mkdir(parents=True, exist_ok=True)
        self._require_disk_space(needed_bytes)
        self._create_arrays(define)

    def _write_numbers(self, name: str, values: np.ndarray) -> None:
        self._arrays[name][...] = values
        self._unsynced_files |= set(arrays.chunk_files(self.path / name, self._documents[name]))

    def _verify(self) -> None:
        """Read back the fields in the files of this process, so that zarr verifies their checksums."""
        cells = [self._whole_file_cells] if self._whole_file_cells else []
        cells += [shared_file.cells for shared_file in self._files_to_join]
        for name, leading_indices in self._field_slices:
            for south, north, west, east in cells:
                try:
                    self._arrays[name][(*leading_indices, slice(south, north), slice(west, east))]
                except (ValueError, RuntimeError) as error:
                    raise OSError(f"verification failed: {name}: {error}") from None

    def _publish(self) -> None:
        remove_path(self._pieces_folder)
        self._unsynced_files.add(arrays.publish_records(self.path, self._attributes, self._documents, 0))
        for name, document in self._documents.items():
            if not arrays.is_on_grid(arrays.dimensions_of(document)):
                self._unsynced_files |= set(arrays.chunk_files(self.path / name, document))
            self._unsynced_files.add(self.path / name / arrays.METADATA_FILE)
        self._sync()
        earlier = self.target.with_name(self.target.name + EARLIER_SUFFIX)
        remove_path(earlier)
        if self.target.exists():
            self.target.replace(earlier)
        self.path.replace(self.target)
        sync_path(self.target.parent)
        remove_path(earlier)

    def _finish(self) -> None:
        """End the thread, and remove the draft if it was not published."""
        self.finish_thread()
        if self.transport.rank == 0:
            remove_path(self.path)
