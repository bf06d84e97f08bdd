"""A store of constant fields that all processes write, and that appears whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from ...errors import FilesError
from ..draft import WRITING
from ..journal import sync_folder
from ..run_folder import remove
from . import arrays
from .block_store import BlockStore, Place

#: The ending of an earlier store while a new one takes its name, and the folder of pieces within a store.
EARLIER, PIECES = ".earlier", "pieces"


class DraftStore(BlockStore):
    """A context that writes a store; its end verifies and renames it. An error leaves an earlier one as it is.

    Args:
        define: function of a netCDF4.Dataset that defines the contents.
        room: bytes that the store may need.
    """

    def __init__(self, path, transport, shape: tuple[int, int], define: Callable, room: int):
        target = Path(path)
        draft = target.with_name(target.name + WRITING)
        super().__init__(draft, draft / PIECES, transport, shape, target)
        self._leads: list[Place] = []
        try:
            self._on_first(self._begin, define, room)
            self._on_all(self._open)
        except FilesError:
            self._leave()
            raise

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        try:
            if kind is None:
                self._put(self._expect, None, self._leads)
                self.settle()
                self._on_all(self._verify)
                self._on_first(self._appear)
        finally:
            self._leave()

    def put(self, name: str, lead: tuple[int, ...], local: np.ndarray) -> None:
        """Write this process's part [y, x] of a field; `lead`: its indices before those of the grid."""
        self._leads.append((name, lead))
        self._put(self._write, name, lead, local, nbytes=local.nbytes)

    def put_numbers(self, name: str, values: np.ndarray) -> None:
        """Write numbers, which all processes have."""
        if self.transport.rank == 0:
            self._put(self._write_numbers, name, values)

    def _begin(self, define, room: int) -> None:
        self.target.parent.mkdir(parents=True, exist_ok=True)
        self._require_room(room)
        self._make(define)

    def _write_numbers(self, name: str, values: np.ndarray) -> None:
        self._arrays[name][...] = values
        self._unsynced |= set(arrays.chunk_files(self.path / name, self._documents[name]))

    def _verify(self) -> None:
        """Read back the files of this process, which have checksums."""
        cells = [self._whole] if self._whole else []
        cells += [piece.cells for piece in self._own]
        for name, lead in self._leads:
            for south, north, west, east in cells:
                try:
                    self._arrays[name][(*lead, slice(south, north), slice(west, east))]
                except (ValueError, RuntimeError) as error:
                    raise OSError(f"verification failed: {name}: {error}") from None

    def _appear(self) -> None:
        remove(self._beside)
        self._unsynced.add(arrays.published(self.path, self._attributes, self._documents, 0))
        for name, one in self._documents.items():
            if not arrays.on_grid(arrays.dimensions_of(one)):
                self._unsynced |= set(arrays.chunk_files(self.path / name, one))
            self._unsynced.add(self.path / name / arrays.METADATA)
        self._sync()
        earlier = self.target.with_name(self.target.name + EARLIER)
        remove(earlier)
        if self.target.exists():
            self.target.replace(earlier)
        self.path.replace(self.target)
        sync_folder(self.target)
        remove(earlier)

    def _leave(self) -> None:
        """End the thread, and remove what did not appear."""
        self.end()
        if self.transport.rank == 0:
            remove(self.path)
