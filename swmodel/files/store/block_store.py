"""A store of Zarr whose fields all processes write at once: each the files of its part of the grid, in its own thread.

A file on the parts of several processes (`pieces`) is put together by its owner, from pieces in a folder.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...errors import FilesError
from ...parallel.worker import Worker
from ..background import as_files_error
from ..draft import free, replacing
from ..journal import sync_folder
from ..queue import Queue
from ..run_folder import remove
from . import arrays, pieces

#: Longest time for which a process waits for files of others, while it has nothing else to do, or when all are
#: written, s. Time between two looks, s.
PATIENCE, LOOK = 20.0, 0.01

#: A field in a store: its name, and its indices before those of the grid.
Place = tuple[str, tuple[int, ...]]


class Pending(NamedTuple):
    """Fields that are being written by all processes.

    Attributes:
        what: the argument of `_done` when they are there.
        pieces: the files that this process has to put together.
        files: the files of all processes that were not there yet, on a process that waits for them.
    """

    what: Any
    pieces: list[tuple[str, tuple[int, ...], pieces.Piece]]
    files: list[Path]


class BlockStore:
    """Base of stores; all processes make and close one together, and write without messages.

    The parts are those of the processes with the same members of an ensemble.

    Args:
        path: folder of the store.
        beside: folder for pieces.
        target: the path of the store in messages; None: that of the folder.
        shape: rows and columns of the grid.
    """

    def __init__(self, path, beside: Path, transport, shape: tuple[int, int], target: Path | None = None):
        self.target = target or Path(path)
        self.path, self.transport, self.shape, self._beside = Path(path), transport, shape, beside
        self._worker, self._error, self._told = Worker("zarr"), None, False
        self._queue, self._pending, self._unsynced = Queue(self._worker), [], set()
        self._names: list[str] = []  # of the arrays, on rank 0
        block = transport.block
        part = block.y.start, block.y.stop, block.x.start, block.x.stop
        everyone = transport.allgather((block.members.start, part))
        mates = [rank for rank, (start, _) in enumerate(everyone) if start == block.members.start]
        self._part, self._parts = part, [everyone[rank][1] for rank in mates]
        self._number = mates.index(transport.rank)

    def failed(self) -> bool:
        """Whether this process alone knows of a failure."""
        return self._error is not None and not self._told

    def end(self) -> None:
        """Write the queue and end the thread."""
        self._queue.finish()
        self._worker.end()

    def settle(self) -> None:
        """Have all fields so far in their files, durably; all processes call it together."""
        self._on_all(self._sync)
        if not pieces.fit(self._parts, self._size):
            self._on_all(self._settle_all)  # all pieces are there
        self._on_first(self._settle_all)  # all files are there

    def _put(self, function, *arguments, nbytes: int = 0) -> None:
        self._queue.put(self._call, function, arguments, nbytes=nbytes)

    def _call(self, function, arguments) -> None:
        try:
            if self._error is None:
                function(*arguments)
        except BaseException as error:
            self._error = as_files_error(error, self.target)

    def _on_all(self, function, *arguments) -> None:
        """Call a function on all processes after the queue, and raise the first error on all, once."""
        self._put(function, *arguments)
        self._queue.finish()
        errors = [error for error in self.transport.allgather(self._error) if error is not None]
        if errors and not self._told:
            self._told, self._error = True, errors[0]
            raise errors[0]

    def _on_first(self, function, *arguments) -> None:
        """Call a function on rank 0, as `_on_all`."""
        if self.transport.rank == 0:
            self._on_all(function, *arguments)
        else:
            self._on_all(lambda: None)

    # In the thread

    def _make(self, define) -> None:
        """Make the folder and its arrays, from a function that defines them in a netCDF4.Dataset."""
        remove(self.path)
        remove(self._beside)
        self.path.mkdir()
        size = pieces.file_shape(self._parts, *self.shape)
        self._attributes, self._names = arrays.create(self.path, define, size)

    def _open(self) -> None:
        """Open the arrays, and find out which files this process writes."""
        found = arrays.documents(self.path)
        names = self._names or list(found)
        self._documents = {name: found[name] for name in names}
        self._arrays = {name: arrays.endless(self.path / name, one) for name, one in self._documents.items()}
        dimensions = {name: arrays.dimensions_of(one) for name, one in self._documents.items()}
        self._fields = [name for name in names if arrays.on_grid(dimensions[name])]
        self._moving = [name for name in self._fields if arrays.moves(dimensions[name])]
        self._size = arrays.file_size(self._documents[self._fields[0]])[-2:]
        self._whole = pieces.whole(self._part, *self.shape, self._size)
        self._shared = list(pieces.shared(self._number, self._parts, *self.shape, self._size))
        self._own = [each for each in self._shared if each.writers[0] == self._number]
        self._places = [*pieces.places(self._whole, self._size), *(each.place for each in self._own)]

    def _require_room(self, nbytes: int) -> None:
        if nbytes > (present := free(self.path)):
            raise FilesError(f"{self.target}: disk full, {present} bytes free, {nbytes} may be needed")

    def _write(self, name: str, lead: tuple[int, ...], local: np.ndarray) -> None:
        """Write this process's part of a field: whole files, and pieces of others."""
        array = self._arrays[name]
        local = np.asarray(local, array.dtype)
        if cells := self._whole:
            array[(*lead, slice(*cells[:2]), slice(*cells[2:]))] = local[pieces.within(cells, self._part)]
        for piece in self._shared:
            cells = pieces.common(piece.cells, self._part)
            path = self._piece_path(name, lead, piece, self._number)
            path.parent.mkdir(exist_ok=True)
            with replacing(path) as draft, draft.open("wb") as file:
                np.save(file, local[pieces.within(cells, self._part)])

    def _piece_path(self, name: str, lead: tuple[int, ...], piece: pieces.Piece, writer: int) -> Path:
        return self._beside / "-".join(map(str, (name, *lead, *piece.place, writer)))

    def _expect(self, what, leads: list[Place]) -> None:
        """Note fields of which this process has written its part."""
        own = [(*each, piece) for each in leads for piece in self._own]
        mine = [file for each in leads for file in arrays.files_of(self.path, *each, self._places)]
        self._unsynced |= set(mine)
        self._pending.append(Pending(what, own, self._awaited(leads)))
        self._settle(PATIENCE, while_idle=True)

    def _awaited(self, leads: list[Place]) -> list[Path]:
        """The files of fields for which this process waits before `_done`."""
        return []

    def _done(self, what) -> None:
        """Act when all files of fields are there."""

    def _settle(self, patience: float, while_idle: bool = False) -> None:
        """Put files together, and act on fields, in their order, as far as pieces and files of others are there."""
        until = time.monotonic() + patience
        while self._pending:
            one = self._pending[0]
            while one.pieces and self._joined(*one.pieces[-1]):
                one.pieces.pop()
            while one.files and one.files[-1].exists():
                one.files.pop()
            if not one.pieces and not one.files:
                self._pending.pop(0)
                self._done(one.what)
            elif time.monotonic() >= until or (while_idle and not self._queue.idle):
                return
            else:
                time.sleep(LOOK)

    def _joined(self, name: str, lead: tuple[int, ...], piece: pieces.Piece) -> bool:
        """Put a file together from its pieces; false if they are not all there."""
        paths = {writer: self._piece_path(name, lead, piece, writer) for writer in piece.writers}
        if not all(path.exists() for path in paths.values()):
            return False
        south, north, west, east = piece.cells
        array = self._arrays[name]
        values = np.empty((north - south, east - west), array.dtype)
        for writer, path in paths.items():
            values[pieces.within(pieces.common(piece.cells, self._parts[writer]), piece.cells)] = np.load(path)
        array[(*lead, slice(south, north), slice(west, east))] = values
        for path in paths.values():
            path.unlink()
        return True

    def _settle_all(self) -> None:
        """Settle all fields, as the processes have written all that it takes."""
        self._settle(PATIENCE)
        if self._pending:
            one = self._pending[0]
            name, lead, piece = one.pieces[-1] if one.pieces else ("", (), None)
            missing = self._piece_path(name, lead, piece, piece.writers[-1]) if piece else one.files[-1]
            raise FilesError(f"{missing} is missing, though it was written; was it removed?")
        self._sync()

    def _sync(self) -> None:
        """Sync the files written since the last call that are there, and their folders."""
        there = {file for file in self._unsynced if file.exists()}  # others are still in pieces
        for file in sorted(there):
            sync(file)
        for folder in sorted({parent for file in there for parent in file.relative_to(self.path.parent).parents}):
            sync_folder(self.path.parent / folder / "x")
        self._unsynced -= there


def sync(path: Path) -> None:
    """Sync a file that another call has written."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
