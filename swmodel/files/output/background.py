"""NetCDF files that rank 0 writes while the model goes on computing.

One thread writes all files, one call after the other: two threads must not use netCDF4 at once. A file is made with
netCDF4; its records are added with h5py, which can store chunks that were compressed elsewhere, leave the file
unlocked, so that other programs can read it during the run, and write through a JournaledFile, which keeps it intact.
"""

from __future__ import annotations

import os
import shutil
import time
import traceback
from collections import deque
from functools import partial
from pathlib import Path

from ...errors import FilesError
from ...parallel.worker import NETCDF, Worker
from ..journal import JournaledFile, remove
from .records import RECORD_METADATA_BYTES, Records

#: Most bytes of arrays that wait to be written to one file; with more, the model waits.
BUDGET = 64 << 20

#: A record is committed at once, unless the next one is waiting already; then after so many seconds at most.
COMMIT_SECONDS = 0.2


_WRITER = Worker("netcdf")


class BackgroundFile:
    """A NetCDF file with records. Made, used and closed by all ranks together; only rank 0 has a file.

    After a failure nothing more is written, and all ranks raise FilesError the next time they `agree`. The file keeps
    the records that were complete before.

    Args:
        path: that of the file; without `resume` an existing file is replaced.
        define: function of a netCDF4.Dataset that defines everything in a new file.
        resume: function of the Records that prepares an existing file for further records.
    """

    def __init__(self, path, transport, define, resume=None):
        self.path, self.transport = Path(path), transport
        self._opened = self._records = self._journal = self._error = None
        self._told = False
        self._pending, self._waiting, self._begun, self._done = deque(), 0, 0, 0
        self._ready, self._committed = False, 0.0
        self._whole = None  # number of complete records, while another one is begun
        self.put(partial(self._continue, resume) if resume else partial(self._create, define))
        self._finish()
        try:
            self.agree()
        except FilesError:
            self.close(agree=False)
            raise

    def begin(self, nbytes: int = 0) -> None:
        """Begin a record of up to `nbytes`, without metadata."""
        self._begun += 1
        self.put(self._begin, nbytes + RECORD_METADATA_BYTES)

    def complete(self, step: int, seconds: float) -> None:
        """Complete the record with its number of steps and its time, s."""
        self.put(self._complete, step, seconds)

    def append(self, values: dict) -> None:
        """Add whole records: {variable with time: its values, one record after the other}."""
        nbytes = sum(each.nbytes for each in values.values())
        self._begun += 1
        self.put(self._append, values, 2 * nbytes + RECORD_METADATA_BYTES, nbytes=nbytes)

    def flush(self) -> None:
        """Wait until all that was put is durably in the file."""
        self.put(self._commit)
        self._finish()
        self.agree()

    def put(self, function, *arguments, nbytes: int = 0) -> None:
        """Have `function(Records, *arguments)` called after what was put before; `nbytes` is the arguments' size."""
        if self.transport.rank:
            return
        while self._pending and (self._pending[0][0].done() or self._waiting + nbytes > BUDGET):
            self._wait_for_first()
        self._pending.append((_WRITER.submit(self._call, function, arguments), nbytes))
        self._waiting += nbytes

    def agree(self) -> None:
        """Raise on all ranks, once, the error of writing so far, if there was one."""
        error = self.transport.broadcast(self._error)
        if error is not None and not self._told:
            self._told = True
            raise error

    def close(self, agree: bool = True) -> None:
        """Write what is waiting and close the file; `agree=False` if the ranks may no longer act together."""
        if self.transport.rank == 0:
            self._pending.append((_WRITER.submit(self._close), 0))
        self._finish()
        if agree:
            self.agree()

    def _create(self, define, _) -> None:
        import netCDF4

        if not self.path.parent.is_dir():  # netCDF would say "permission denied"
            raise FileNotFoundError(f"there is no folder {self.path.parent}")
        remove(self.path)
        with NETCDF, netCDF4.Dataset(self.path, "w", format="NETCDF4") as dataset:
            define(dataset)
        self._open()
        self._ready = True

    def _continue(self, resume, _) -> None:
        if not self.path.is_file():
            raise FilesError(f"{self.path} cannot be continued: there is no such file")
        try:
            self._open()
            resume(self._records)
        except (OSError, RuntimeError, LookupError, TypeError, ValueError, AttributeError) as error:  # of an odd file
            raise FilesError(f"{self.path} cannot be continued: {getattr(error, 'strerror', None) or error}") from None
        self._ready = True
        self._commit(self._records)

    def _open(self) -> None:
        import h5py

        try:
            self._journal = JournaledFile(self.path)
        except BlockingIOError:
            raise FilesError(f"{self.path} is being written by another process") from None
        self._opened = h5py.File(self._journal, "r+")
        self._records = Records(self._opened)

    def _begin(self, records, nbytes: int) -> None:
        self._require_room(records, nbytes)
        self._whole = len(records)
        records.begin()

    def _append(self, records, values: dict, nbytes: int) -> None:
        self._require_room(records, nbytes)
        self._whole = len(records)
        records.append(values)
        self._written(records)

    def _complete(self, records, step: int, seconds: float) -> None:
        records.complete(step, seconds)
        self._written(records)

    def _require_room(self, records, nbytes: int) -> None:
        free = self._free()
        if nbytes > free:
            self._commit(records)
            raise FilesError(f"{self.path}: disk full, {free} bytes free of the {nbytes} that the next record may need")

    def _written(self, records) -> None:
        self._whole, self._done = None, self._done + 1
        if self._begun == self._done or time.monotonic() > self._committed + COMMIT_SECONDS:
            self._commit(records)

    def _commit(self, records) -> None:
        records.file.flush()
        self._journal.commit()
        self._committed = time.monotonic()

    def _call(self, function, arguments) -> None:
        try:
            if self._error is None:
                function(self._records, *arguments)
                if self._journal is not None:
                    self._journal.check()
        except BaseException as error:
            self._fail(error)

    def _close(self) -> None:
        """Close the file with its complete records, even after an error."""
        if self._journal is None:
            return
        try:
            if self._ready:
                if self._whole is not None:
                    self._records.set_length(self._whole)
                self._opened.close()
                self._journal.commit()
        except BaseException as error:
            self._fail(error)
        finally:
            if self._opened:
                self._opened.close()
            self._journal.close()

    def _fail(self, error: BaseException) -> None:
        """Keep the first error, in words if it is one of HDF5 or the system.

        The frames in its traceback are cleared, as one may hold an iteration with h5py's lock.
        """
        traceback.clear_frames(error.__traceback__)
        if self._error is not None:
            return
        if isinstance(error, (OSError, RuntimeError)):  # HDF5 raises either if writing fails
            number = getattr(error, "errno", None) or 0
            reason = os.strerror(number) if number > 0 else error
            error = FilesError(f"{self.path} cannot be written: {reason}; {self._free()} bytes free")
        self._error = error

    def _free(self) -> int:
        folder = self.path.parent
        return shutil.disk_usage(folder).free if folder.is_dir() else 0

    def _wait_for_first(self) -> None:
        future, nbytes = self._pending.popleft()
        future.result()
        self._waiting -= nbytes

    def _finish(self) -> None:
        while self._pending:
            self._wait_for_first()
