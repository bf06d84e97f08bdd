"""HDF5 and NetCDF files that rank 0 writes while the model continues.

One thread writes all files, one call after another, because two threads must not use netCDF4 at once. netCDF4 defines
the contents of a file. h5py writes the values, because it can store compressed chunks, leave the file unlocked for
readers during the run, and write through a JournaledFile, which keeps the file intact if the process is killed.
"""

from __future__ import annotations

import contextlib
import os
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import FilesError, WriteError, write_failure_reason
from ..parallel.worker import NETCDF_LOCK, Worker
from .draft import DRAFT_SUFFIX, free_bytes
from .journal import JournaledFile, remove_with_journal, sync_path
from .queue import CallQueue
from .records import RecordWriter

if TYPE_CHECKING:
    from ..parallel.transport.transport import Transport

#: Longest delay of a commit, s, while further records wait.
MAX_COMMIT_DELAY_SECONDS = 0.2

#: Upper bound on the size of the coordinates and metadata of a new file, bytes.
MAX_METADATA_BYTES = 1 << 18

#: Upper bound on the size of the metadata and the journal that a record needs, bytes.
MAX_RECORD_METADATA_BYTES = 1 << 16

_WRITER = Worker("netcdf")


class BackgroundFile:
    """A file that all ranks create, use and close together; only rank 0 has it open.

    If rank 0 cannot write, all ranks raise FilesError at the next `raise_on_all_ranks`, and the file keeps its complete
    records.

    Args:
        path: path of the file; without `resume` an existing file is replaced.
        define: function of a netCDF4.Dataset that defines the contents of a new file; None: the file starts empty.
        resume: function of the RecordWriter that prepares an existing file for further records.
        is_draft: whether the file appears, and replaces an existing one, only when it is closed without an error.
        check_draft: function of the path of the finished draft; it raises an error if the file must not appear.
    """

    def __init__(self, path, transport: Transport, define=None, resume=None, is_draft: bool = False, check_draft=None):
        self.path, self.transport, self.is_draft, self.check_draft = Path(path), transport, is_draft, check_draft
        self._write_path = self.path.with_name(self.path.name + DRAFT_SUFFIX) if is_draft else self.path
        self._records: RecordWriter | None = None
        self._journal: JournaledFile | None = None
        self._error: BaseException | None = None
        self._has_raised_error = self._is_ready = False
        self._queue, self._n_begun, self._n_complete, self._commit_time = CallQueue(_WRITER), 0, 0, 0.0
        self.submit(self._resume if resume else self._create, resume or define)
        self._queue.finish()
        try:
            self.raise_on_all_ranks()
        except FilesError:
            self.close(collective=False)
            raise

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if self.is_draft and kind:
            self._error = self._error or error
        self.close(collective=kind is None)

    def begin(self, nbytes: int = 0) -> None:
        """Start a record whose values take up to `nbytes`."""
        self._n_begun += 1
        self.require_disk_space(nbytes + MAX_RECORD_METADATA_BYTES)
        self.submit(RecordWriter.begin)

    def complete(self, step: int, seconds: float) -> None:
        """Complete the record: `step` steps after the start, at the time `seconds`, s."""
        self.submit(self._complete, {"step": [step], "time": [seconds]})
        self.raise_on_all_ranks()

    def append(self, values: dict) -> None:
        """Append complete records; `values`: {name of a variable in time: its values [record, ...]}."""
        self._n_begun += 1
        nbytes = sum(array.nbytes for array in values.values())
        self.require_disk_space(2 * nbytes + MAX_RECORD_METADATA_BYTES)
        self.submit(RecordWriter.begin, len(values["step"]))
        self.submit(self._complete, values, nbytes=nbytes)
        self.raise_on_all_ranks()

    def require_disk_space(self, nbytes: int) -> None:
        self.submit(self._require_disk_space, nbytes)

    def flush(self) -> None:
        """Make all complete records durable: they survive the end of the process and a power cut."""
        self.submit(self._commit)
        self._queue.finish()
        self.raise_on_all_ranks()

    def submit(self, function, *arguments, nbytes: int = 0) -> None:
        """On rank 0, queue `function(RecordWriter, *arguments)`; `nbytes`: size of arguments that are not arrays."""
        if self.transport.rank:
            return
        nbytes += sum(getattr(argument, "nbytes", 0) for argument in arguments)
        self._queue.submit(self._call_unless_failed, function, arguments, nbytes=nbytes)

    def has_failed(self) -> bool:
        """Whether only this process knows of a failure: never, because each record ends with `raise_on_all_ranks`."""
        return False

    def raise_on_all_ranks(self) -> None:
        """Raise the first error of rank 0 on all ranks, once."""
        error = self.transport.broadcast(self._error)
        if error is not None and not self._has_raised_error:
            self._has_raised_error = True
            raise error

    def close(self, collective: bool = True) -> None:
        """Finish the queued calls and close the file; `collective=False` if the ranks can no longer communicate."""
        if self.transport.rank == 0:
            self._queue.submit(self._close)
        self._queue.finish()
        if collective:
            self.raise_on_all_ranks()

    def _create(self, _, define) -> None:
        folder = self.path.parent
        if self.is_draft:
            folder.mkdir(parents=True, exist_ok=True)
        elif not folder.is_dir():
            raise FileNotFoundError(f"there is no folder {folder}")
        remove_with_journal(self._write_path)  # a killed writer may have left a journal
        # Write some bytes first, because errors of write_bytes, unlike those of netCDF4, give the system's reason.
        self._write_path.write_bytes(bytes(MAX_METADATA_BYTES))
        os.truncate(self._write_path, 0)
        if define:
            import netCDF4

            with NETCDF_LOCK, netCDF4.Dataset(self._write_path, "w", format="NETCDF4") as dataset:
                define(dataset)
        self._open("r+" if define else "w")
        self._is_ready = True

    def _resume(self, _, resume) -> None:
        if not self.path.is_file():
            raise FilesError(f"{self.path} cannot be continued: there is no such file")
        try:
            self._open("r+")
            resume(self._records)
        except (OSError, RuntimeError, LookupError, TypeError, ValueError, AttributeError) as error:  # foreign file
            raise FilesError(f"{self.path} cannot be continued: {getattr(error, 'strerror', None) or error}") from None
        self._is_ready = True
        self._commit(self._records)

    def _open(self, mode: str) -> None:
        import h5py

        try:
            self._journal = JournaledFile(self._write_path)
        except BlockingIOError:
            raise FilesError(f"{self.path}: another process is writing it") from None
        self._records = RecordWriter(h5py.File(self._journal, mode))

    def _require_disk_space(self, records, nbytes: int) -> None:
        if nbytes > (available := free_bytes(self.path)):
            self._commit(records)
            raise FilesError(f"{self.path}: disk full, {available} bytes free, {nbytes} may be needed")

    def _complete(self, records, values: dict) -> None:
        for name, array in values.items():
            records.write_variable(name, array)
        records.complete()
        self._n_complete += 1
        if self._n_begun == self._n_complete or time.monotonic() > self._commit_time + MAX_COMMIT_DELAY_SECONDS:
            self._commit(records)

    def _commit(self, records) -> None:
        assert self._journal is not None  # the file is open
        records.file.flush()
        self._journal.commit()
        self._commit_time = time.monotonic()

    def _call_unless_failed(self, function, arguments) -> None:
        try:
            if self._error is None:
                function(self._records, *arguments)
                if self._journal is not None:
                    self._journal.check()
        except BaseException as error:
            self._set_error(error)

    def _close(self) -> None:
        """Close the file with its complete records, and rename a draft unless there was an error."""
        if self._journal is not None:
            try:
                if self._records is not None and self._is_ready and not (self.is_draft and self._error):
                    self._records.drop_incomplete()
                    self._records.file.close()
                    self._journal.commit()
            except BaseException as error:
                self._set_error(error)
            finally:
                if self._records is not None:
                    self._records.file.close()
                self._journal.close()
        if self.is_draft:
            self._call_unless_failed(self._rename_draft, ())
            with contextlib.suppress(OSError):
                remove_with_journal(self._write_path)

    def _rename_draft(self, _) -> None:
        if self.check_draft:
            self.check_draft(self._write_path)
        self._write_path.replace(self.path)
        sync_path(self.path.parent)

    def _set_error(self, error: BaseException) -> None:
        """Keep the first error, without the local variables of its traceback, one of which may hold h5py's lock."""
        traceback.clear_frames(error.__traceback__)
        if self._error is None:
            self._error = as_files_error(error, self.path)


def as_files_error(error: BaseException, path: Path) -> BaseException:
    """Convert a failure to write a file to a FilesError; other errors are returned unchanged."""
    if not isinstance(error, (OSError, RuntimeError)):  # HDF5 raises one of the two if it cannot write
        return error
    return WriteError(f"{path} cannot be written: {write_failure_reason(error, path)}")
