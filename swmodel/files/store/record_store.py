"""Records in a store of Zarr that all processes write at once: output.zarr of a run.

Each process writes the files of its part of the grid, in a thread of its own. Rank 0 shows a record when it finds the
files of all processes in the folder. So a record is whole or absent, also if a process is killed at any moment, and it
needs no message. Processes exchange messages when a store is opened, before restart files, and at the end.

A file on the parts of several processes (`pieces`) is put together by its owner, from pieces in a folder beside the
store.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...config import config_hash, to_toml
from ...errors import FilesError
from ...parallel.worker import Worker
from ..background import as_files_error
from ..draft import WRITING, free, replacing
from ..journal import sync_folder
from ..output.continuation import other_configuration, prolonged
from ..output.metadata import FILL, define_provenance, define_time, times_of
from ..output.static import place_of, static_cells
from ..queue import Queue
from ..run_folder import remove
from . import arrays, pieces

#: Longest time for which rank 0 waits for files of other processes, while it has nothing else to do, or when all are
#: written, s. Time between two looks, s.
PATIENCE, LOOK = 20.0, 0.01

#: Upper bound of the bytes of metadata of a record.
METADATA_BYTES = 1 << 16


class Pending(NamedTuple):
    """Files that are being written by all processes: those of a record, or the constant ones.

    Attributes:
        step, seconds: of the record; None for constant fields.
        record: the number of the record.
        pieces: the files that this process has to put together: field, indices before those of the grid, Piece.
        files: on rank 0 the files of all processes that were not there yet.
    """

    step: int | None
    seconds: float
    record: int
    pieces: list[tuple[str, tuple[int, ...], pieces.Piece]]
    files: list[Path]


class RecordStore:
    """Base of stores with records in time, like `output.record_file.RecordFile`. All processes call all methods.

    `begin`, `put_field` and `complete` send no messages. After a failure of one process `failed` is true there, and all
    raise FilesError at the next `flush` or `close`; complete records stay.

    `keep`: function of a step, whether its record of an existing store is kept; None: a new store.
    FilesError, on all processes: the store cannot be written, or belongs to another run.
    """

    bounds = False

    def __init__(self, path, config, transport, command_line: str = "", keep: Callable | None = None):
        self.path, self.config, self.transport = Path(path), config, transport
        self.dtype, self.shape = np.dtype(config.run.dtype), (config.grid.ny, config.grid.nx)
        self._beside = self.path.with_name(self.path.name + WRITING)
        self._worker, self._error, self._told = Worker("zarr"), None, False
        self._queue, self._pending, self._unsynced = Queue(self._worker), [], set()
        self._names: list[str] = []  # of the arrays, on rank 0
        self._missing: dict[str, None] = {}  # fields of the record in work
        block = transport.block
        part = block.y.start, block.y.stop, block.x.start, block.x.stop
        self._part, self._parts = part, transport.allgather(part)
        try:
            if keep is None:
                self._on_first(self._create, command_line)
                self._on_all(self._open)
                self._put(self._put_static)
            else:
                self._on_all(self._require_ours)
                self._on_first(self._resume, keep, command_line)
                self._on_all(self._open)
        except FilesError:
            self.close(agree=False)
            raise

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        self.close(agree=kind is None)

    def begin(self, nbytes: int) -> None:
        """Begin a record of up to `nbytes` of all processes."""
        self._put(self._require_room, nbytes + METADATA_BYTES)
        self._missing = dict.fromkeys(self._moving)

    def put_field(self, name: str, local: np.ndarray, member: int = 0) -> None:
        """Write this process's part [y, x] of a field; a store of an earlier version may lack it."""
        if name in self._missing:
            del self._missing[name]
            local = np.array(local, self.dtype)  # a copy: the model may use the memory again
            self._put(self._write, name, (self._records,), local, nbytes=local.nbytes)

    def complete(self, step: int, seconds: float) -> None:
        """Complete the record with its number of steps and its time, s; other fields are missing."""
        block = self._part[1] - self._part[0], self._part[3] - self._part[2]
        for name in self._missing:
            self._put(self._write, name, (self._records,), np.full(block, FILL, self.dtype))
        lead = (self._records,)
        self._put(self._expect, step, seconds, self._records, [(name, lead) for name in self._moving])
        self._records += 1

    def failed(self) -> bool:
        """Whether this process alone knows of a failure."""
        return self._error is not None and not self._told

    def flush(self) -> None:
        """Make all records so far visible and durable: they survive a kill and a power cut."""
        self._on_all(self._sync)
        if not pieces.fit(self._parts, self._size):
            self._on_all(self._settle_all)  # all pieces are there
        self._on_first(self._settle_all)  # all files are there

    def close(self, agree: bool = True) -> None:
        """Write the queue and end; `agree=False` if the processes may no longer act together."""
        try:
            if agree:
                self.flush()
        finally:
            if self._error is None:
                self._put(self._settle, 0.0)
            self._queue.finish()
            self._worker.end()
            if agree and self.transport.rank == 0:
                remove(self._beside)

    def _put(self, function, *arguments, nbytes: int = 0) -> None:
        self._queue.put(self._call, function, arguments, nbytes=nbytes)

    def _call(self, function, arguments) -> None:
        try:
            if self._error is None:
                function(*arguments)
        except BaseException as error:
            self._error = as_files_error(error, self.path)

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

    def _create(self, command_line: str) -> None:
        folder = self.path.parent
        if not folder.is_dir():
            raise FileNotFoundError(f"there is no folder {folder}")
        remove(self.path)
        remove(self._beside)

        def define(dataset):
            define_provenance(dataset, self.config, self.transport, command_line)
            define_time(dataset, times_of(self.config.time), self.bounds)
            self.define_contents(dataset, self.config)

        self.path.mkdir()
        size = pieces.file_shape(self._parts, *self.shape)
        self._attributes, self._names = arrays.create(self.path, arrays.defined(define), size)
        self._last = 0.0

    def _require_ours(self) -> None:
        """FilesError: the store is not that of this run, at this process's part of the grid."""
        if not (self.path / arrays.METADATA).is_file():
            raise FilesError(f"{self.path} cannot be continued: there is no such store")
        try:
            attributes, _ = arrays.contents(self.path)
            found = other_configuration(attributes.get("configuration"), self.config)
            found = found or [
                f"{name} has other values in the store"
                for name, values in static_cells(self.config, self._part)
                if self._differs(*place_of(self.config, name), values)
            ]
        except (OSError, RuntimeError, LookupError, TypeError, ValueError, AttributeError) as error:  # a foreign store
            reason = getattr(error, "strerror", None) or error
            raise FilesError(f"{self.path} cannot be continued: {reason}") from None
        if found:
            raise FilesError(f"{self.path} cannot be continued: {'; '.join(found)}")

    def _differs(self, name: str, at: tuple[int, ...], values: np.ndarray) -> bool:
        if not (self.path / name).is_dir():
            return False
        south, north, west, east = self._part
        there = arrays.endless(self.path, name)[(*at, slice(south, north), slice(west, east))]
        return not np.array_equal(there, values)

    def _resume(self, keep: Callable, command_line: str) -> None:
        """Keep the first records, remove all files of others, and record the configuration and the command line."""
        self._attributes, self._names = arrays.contents(self.path)
        documents = arrays.documents(self.path, self._names)
        records = documents["time"]["shape"][0]
        steps, times = (arrays.endless(self.path, name)[:records].tolist() for name in ("step", "time"))
        records = sum(map(keep, steps))
        self._last = times[records - 1] if records else 0.0
        about = self._attributes
        about["history"] = prolonged(about.get("history", ""), command_line)
        about |= {"configuration": to_toml(self.config), "configuration_sha256": config_hash(self.config)}
        arrays.published(self.path, about, documents, records)
        remove(self._beside)
        for name in documents:
            arrays.remove_beyond(self.path / name, documents[name], records)

    def _open(self) -> None:
        names = self._names or sorted(file.parent.name for file in self.path.glob(f"*/{arrays.METADATA}"))
        documents = arrays.documents(self.path, names)
        fields = {name: one for name, one in documents.items() if arrays.on_grid(arrays.dimensions_of(one))}
        self._documents, self._records = documents, documents["time"]["shape"][0]
        self._moving = [name for name, one in fields.items() if arrays.moves(arrays.dimensions_of(one))]
        self._arrays = {name: arrays.endless(self.path, name) for name in documents}
        self._size = arrays.file_size(documents["depth"])[-2:]
        self._whole = pieces.whole(self._part, *self.shape, self._size)
        self._shared = list(pieces.shared(self.transport.rank, self._parts, *self.shape, self._size))
        self._own = [each for each in self._shared if each.writers[0] == self.transport.rank]
        places = [*pieces.places(self._whole, self._size), *(each.place for each in self._own)]
        every = pieces.places((0, self.shape[0], 0, self.shape[1]), self._size)
        self._places, self._awaited = places, [] if self.transport.rank else every

    def _require_room(self, nbytes: int) -> None:
        if nbytes > (present := free(self.path)):
            raise FilesError(f"{self.path}: disk full, {present} bytes free, {nbytes} may be needed")

    def _put_static(self) -> None:
        leads = []
        for name, values in static_cells(self.config, self._part):
            leads.append(place_of(self.config, name))
            self._write(*leads[-1], values)
        self._expect(None, 0.0, 0, leads)

    def _write(self, name: str, lead: tuple[int, ...], local: np.ndarray) -> None:
        """Write this process's part of a field: whole files, and pieces of others."""
        array = self._arrays[name]
        local = np.asarray(local, array.dtype)
        if cells := self._whole:
            array[(*lead, slice(*cells[:2]), slice(*cells[2:]))] = local[pieces.within(cells, self._part)]
        for piece in self._shared:
            cells = pieces.common(piece.cells, self._part)
            path = self._beside_of(name, lead, piece, self.transport.rank)
            path.parent.mkdir(exist_ok=True)
            with replacing(path) as draft, draft.open("wb") as file:
                np.save(file, local[pieces.within(cells, self._part)])

    def _beside_of(self, name: str, lead: tuple[int, ...], piece: pieces.Piece, rank: int) -> Path:
        return self._beside / "-".join(map(str, (name, *lead, *piece.place, rank)))

    def _expect(self, step, seconds: float, record: int, leads: list) -> None:
        """Note the files of a record: this process's are written."""
        own = [(*each, piece) for each in leads for piece in self._own]
        mine, awaited = (
            [file for each in leads for file in arrays.files_of(self.path, *each, places)]
            for places in (self._places, self._awaited)
        )
        self._unsynced |= set(mine)
        self._pending.append(Pending(step, seconds, record, own, awaited))
        self._settle(PATIENCE, while_idle=True)

    def _settle(self, patience: float, while_idle: bool = False) -> None:
        """Put files together, and on rank 0 show records, in their order, as far as files of others are there."""
        until = time.monotonic() + patience
        while self._pending:
            one = self._pending[0]
            while one.pieces and self._joined(*one.pieces[-1]):
                one.pieces.pop()
            while one.files and one.files[-1].exists():
                one.files.pop()
            if not one.pieces and not one.files:
                self._pending.pop(0)
                if self.transport.rank == 0:
                    self._show(one)
            elif time.monotonic() >= until or (while_idle and not self._worker.idle):
                return
            else:
                time.sleep(LOOK)

    def _joined(self, name: str, lead: tuple[int, ...], piece: pieces.Piece) -> bool:
        """Put a file together from its pieces; false if they are not all there."""
        paths = {rank: self._beside_of(name, lead, piece, rank) for rank in piece.writers}
        if not all(path.exists() for path in paths.values()):
            return False
        south, north, west, east = piece.cells
        array = self._arrays[name]
        values = np.empty((north - south, east - west), array.dtype)
        for rank, path in paths.items():
            values[pieces.within(pieces.common(piece.cells, self._parts[rank]), piece.cells)] = np.load(path)
        array[(*lead, slice(south, north), slice(west, east))] = values
        for path in paths.values():
            path.unlink()
        return True

    def _show(self, one: Pending) -> None:
        """Write the time of a record, and the metadata that show it."""
        at, records = slice(one.record, one.record + 1), one.record
        if one.step is not None:
            self._arrays["time"][at], self._arrays["step"][at] = [one.seconds], [one.step]
            if self.bounds:
                self._arrays["time_bounds"][at] = [[self._last, one.seconds]]
            self._last, records = one.seconds, records + 1
        self._unsynced |= set(arrays.published(self.path, self._attributes, self._documents, records))
        self._unsynced |= set(arrays.series_files(self.path, self._documents, one.record))

    def _settle_all(self) -> None:
        """Settle all records, as the processes have written all that it takes."""
        self._settle(PATIENCE)
        if self._pending:
            one = self._pending[0]
            missing = one.files[-1] if one.files else self._beside_of(*one.pieces[-1], one.pieces[-1][-1].writers[-1])
            raise FilesError(f"{missing} is missing, though it was written; was it removed?")
        self._sync()

    def _sync(self) -> None:
        """Sync the files written since the last call that are there, and their folders."""
        there = {file for file in self._unsynced if file.exists()}  # others are still in pieces
        for file in there:
            number = os.open(file, os.O_RDONLY)
            try:
                os.fsync(number)
            finally:
                os.close(number)
        for folder in {parent for file in there for parent in file.relative_to(self.path.parent).parents}:
            sync_folder(self.path.parent / folder / "x")
        self._unsynced -= there
