"""A Zarr store that all processes write in parallel: each writes the files of its part of the grid, in a thread.

Where a file covers the parts of several processes (`tiling`), each writes its piece of the file into a folder, and one
of them, the owner, joins the pieces.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...errors import FilesError
from ...parallel.worker import Worker
from ..background import as_files_error
from ..draft import atomic_write, free_bytes
from ..journal import sync_path
from ..queue import CallQueue
from ..run_folder import remove_path
from . import arrays, tiling

if TYPE_CHECKING:
    from ...parallel.transport.transport import Transport

#: Longest time for which a process waits for files of other processes, while it has nothing else to write or when these
#: files must exist, and the time between two checks, s.
MAX_WAIT_SECONDS, POLL_SECONDS = 20.0, 0.01

#: A field [y, x] in a store: the name of its array, and its indices along the axes before those of the grid.
FieldSlice = tuple[str, tuple[int, ...]]


class PendingFields(NamedTuple):
    """Fields that are being written by all processes.

    Attributes:
        record: the argument of `_on_complete`, which is called when the fields are complete.
        shared_files: the files that this process still has to join from pieces.
        awaited_files: files of all processes that did not exist at the last check; empty if this process does not wait.
    """

    record: Any
    shared_files: list[tuple[str, tuple[int, ...], tiling.SharedFile]]
    awaited_files: list[Path]


class BlockStore:
    """Base of stores; all processes create and close a store together, but write without messages.

    The processes with the same members of an ensemble divide the grid among them; a process writes its part.

    Args:
        pieces_folder: folder for the pieces of files that cover several parts.
        target: the path that messages name; None: `path`.
        shape: rows and columns of the grid.
    """

    def __init__(
        self, path, pieces_folder: Path, transport: Transport, shape: tuple[int, int], target: Path | None = None
    ):
        self.target = target or Path(path)
        self.path, self.transport, self.shape, self._pieces_folder = Path(path), transport, shape, pieces_folder
        self._worker, self._has_raised_error = Worker("zarr"), False
        self._error: BaseException | None = None
        self._queue = CallQueue(self._worker)
        self._pending: list[PendingFields] = []
        self._unsynced_files: set[Path] = set()
        self._names: list[str] = []  # of the arrays, on rank 0
        block = transport.block
        part = block.y.start, block.y.stop, block.x.start, block.x.stop
        parts_of_ranks = transport.allgather((block.members.start, part))
        ranks = [rank for rank, (start, _) in enumerate(parts_of_ranks) if start == block.members.start]
        self._part, self._parts = part, [parts_of_ranks[rank][1] for rank in ranks]
        self._part_number = ranks.index(transport.rank)

    def has_failed(self) -> bool:
        """Whether this process knows of a failure that the others may not know of."""
        return self._error is not None and not self._has_raised_error

    def finish_thread(self) -> None:
        self._queue.finish()
        self._worker.end()

    def make_durable(self) -> None:
        """Make all fields written so far durable; all processes must call this together."""
        self._call_on_all_ranks(self._sync)
        if not tiling.has_no_shared_files(self._parts, self._file_shape):
            self._call_on_all_ranks(self._complete_pending)  # all pieces exist now
        self._call_on_rank_0(self._complete_pending)  # all files exist now

    def _submit(self, function, *arguments, nbytes: int = 0) -> None:
        self._queue.submit(self._call_unless_failed, function, arguments, nbytes=nbytes)

    def _call_unless_failed(self, function, arguments) -> None:
        try:
            if self._error is None:
                function(*arguments)
        except BaseException as error:
            self._error = as_files_error(error, self.target)

    def _call_on_all_ranks(self, function, *arguments) -> None:
        """Call a function in each process's thread after the queued calls, and raise the first error on all, once."""
        self._submit(function, *arguments)
        self._queue.finish()
        errors = [error for error in self.transport.allgather(self._error) if error is not None]
        if errors and not self._has_raised_error:
            self._has_raised_error, self._error = True, errors[0]
            raise errors[0]

    def _call_on_rank_0(self, function, *arguments) -> None:
        if self.transport.rank == 0:
            self._call_on_all_ranks(function, *arguments)
        else:
            self._call_on_all_ranks(lambda: None)

    # The following methods run in the worker thread.

    def _create_arrays(self, define) -> None:
        """Create the folder, replacing an older one, and its arrays, as `define` defines them in a netCDF4.Dataset."""
        remove_path(self.path)
        remove_path(self._pieces_folder)
        self.path.mkdir()
        file_shape = tiling.choose_file_shape(self._parts, *self.shape)
        self._attributes, self._names = arrays.create_arrays(self.path, define, file_shape)

    def _open_arrays(self) -> None:
        documents = arrays.read_documents(self.path)
        names = self._names or list(documents)
        self._documents = {name: documents[name] for name in names}
        self._arrays = {
            name: arrays.open_for_writing(self.path / name, document) for name, document in self._documents.items()
        }
        dimensions = {name: arrays.dimensions_of(document) for name, document in self._documents.items()}
        self._fields = [name for name in names if arrays.is_on_grid(dimensions[name])]
        self._record_fields = [name for name in self._fields if arrays.has_records(dimensions[name])]
        *_, rows, columns = arrays.shape_of_files(self._documents[self._fields[0]])
        self._file_shape = rows, columns
        self._whole_file_cells = tiling.cells_of_whole_files(self._part, *self.shape, self._file_shape)
        self._shared_files = list(tiling.shared_files(self._part_number, self._parts, *self.shape, self._file_shape))
        self._files_to_join = [file for file in self._shared_files if file.writers[0] == self._part_number]
        self._file_indices = [
            *tiling.file_indices(self._whole_file_cells, self._file_shape),
            *(file.file_index for file in self._files_to_join),
        ]

    def _require_disk_space(self, nbytes: int) -> None:
        if nbytes > (available := free_bytes(self.path)):
            raise FilesError(f"{self.target}: disk full, {available} bytes free, {nbytes} may be needed")

    def _write(self, name: str, leading_indices: tuple[int, ...], local: np.ndarray) -> None:
        """Write this process's part of a field: whole files, and pieces of shared files."""
        array = self._arrays[name]
        local = np.asarray(local, array.dtype)
        if cells := self._whole_file_cells:
            array[(*leading_indices, slice(*cells[:2]), slice(*cells[2:]))] = local[
                tiling.index_in_part(cells, self._part)
            ]
        for shared_file in self._shared_files:
            path = self._piece_path(name, leading_indices, shared_file, self._part_number)
            path.parent.mkdir(exist_ok=True)
            with atomic_write(path) as draft, draft.open("wb") as file:
                np.save(file, local[tiling.index_in_part(shared_file.cells, self._part)])

    def _piece_path(
        self, name: str, leading_indices: tuple[int, ...], shared_file: tiling.SharedFile, writer: int
    ) -> Path:
        return self._pieces_folder / "-".join(map(str, (name, *leading_indices, *shared_file.file_index, writer)))

    def _add_pending(self, record, field_slices: list[FieldSlice]) -> None:
        """Register fields as pending after this process has written its part of them."""
        files_to_join = [(*field, shared_file) for field in field_slices for shared_file in self._files_to_join]
        new_files = [
            file for field in field_slices for file in arrays.field_files(self.path, *field, self._file_indices)
        ]
        self._unsynced_files |= set(new_files)
        self._pending.append(PendingFields(record, files_to_join, self._files_to_await(field_slices)))
        self._process_pending(MAX_WAIT_SECONDS, only_while_idle=True)

    def _files_to_await(self, field_slices: list[FieldSlice]) -> list[Path]:
        """The files for which this process waits before it calls `_on_complete`."""
        return []

    def _on_complete(self, record) -> None:
        """Called when all awaited files of the fields of a record exist; `record`: see `PendingFields`."""

    def _process_pending(self, max_wait: float, only_while_idle: bool = False) -> None:
        """Join files and complete pending fields, in order, as far as the pieces and files of other processes exist.

        Wait up to `max_wait` s for them; with `only_while_idle`, only as long as no other call is queued.
        """
        deadline = time.monotonic() + max_wait
        while self._pending:
            fields = self._pending[0]
            while fields.shared_files and self._try_to_join(*fields.shared_files[-1]):
                fields.shared_files.pop()
            while fields.awaited_files and fields.awaited_files[-1].exists():
                fields.awaited_files.pop()
            if not fields.shared_files and not fields.awaited_files:
                self._pending.pop(0)
                self._on_complete(fields.record)
            elif time.monotonic() >= deadline or (only_while_idle and not self._queue.is_idle):
                return
            else:
                time.sleep(POLL_SECONDS)

    def _try_to_join(self, name: str, leading_indices: tuple[int, ...], shared_file: tiling.SharedFile) -> bool:
        """Join a file from its pieces; returns False if some pieces do not exist yet."""
        paths = {writer: self._piece_path(name, leading_indices, shared_file, writer) for writer in shared_file.writers}
        if not all(path.exists() for path in paths.values()):
            return False
        south, north, west, east = shared_file.cells
        array = self._arrays[name]
        values = np.empty((north - south, east - west), array.dtype)
        for writer, path in paths.items():
            values[tiling.index_in_part(self._parts[writer], shared_file.cells)] = np.load(path)
        array[(*leading_indices, slice(south, north), slice(west, east))] = values
        for path in paths.values():
            path.unlink()
        return True

    def _complete_pending(self) -> None:
        """Complete all pending fields, after all processes have written everything that this requires."""
        self._process_pending(MAX_WAIT_SECONDS)
        if self._pending:
            fields = self._pending[0]
            if fields.shared_files:
                name, leading_indices, shared_file = fields.shared_files[-1]
                pieces = [self._piece_path(name, leading_indices, shared_file, each) for each in shared_file.writers]
                missing = next((piece for piece in pieces if not piece.exists()), pieces[-1])
            else:
                missing = fields.awaited_files[-1]
            raise FilesError(f"{missing} is missing, though it was written; was it removed?")
        self._sync()

    def _sync(self) -> None:
        """Sync those files written since the last call that exist, and their folders."""
        existing = {file for file in self._unsynced_files if file.exists()}  # the others are still in pieces
        for file in sorted(existing):
            sync_path(file)
        for folder in sorted({parent for file in existing for parent in file.relative_to(self.path.parent).parents}):
            sync_path(self.path.parent / folder)
        self._unsynced_files -= existing
