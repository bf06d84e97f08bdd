"""NetCDF files that rank 0 writes while the model computes on.

One thread writes all files, one call after the other: netCDF4 must not be used by two threads at once. A file is made
with netCDF4; its records are added through h5py, which can store chunks that were compressed elsewhere and leave the
file unlocked, so that other programs can read it during the run.
"""

from __future__ import annotations

import os
import shutil
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from ..errors import FilesError

#: Bytes of arrays that may wait to be written to one file; whoever has more waits.
BUDGET = 64 << 20

_THREAD = ThreadPoolExecutor(max_workers=1, thread_name_prefix="netcdf")


class BackgroundFile:
    """A new NetCDF file. Made, used and closed by all ranks together; only rank 0 has a file.

    After a failure nothing more is written to the file, and all ranks raise the error the next time they `agree`.

    Args:
        path: of the file, replaced if it exists.
        transport: how the ranks agree.
        define: function of a netCDF4.Dataset that defines everything.

    Raises:
        FilesError: the file cannot be written.
    """

    def __init__(self, path, transport, define):
        self.path, self.transport = Path(path), transport
        self._opened, self._error, self._told = None, None, False
        self._pending, self._waiting = deque(), 0
        self.put(partial(self._create, define))
        self._finish()
        self.agree()

    def put(self, function, *arguments, nbytes: int = 0) -> None:
        """Have `function(h5py.File, *arguments)` called after what was put before; `nbytes` is the arguments' size."""
        if self.transport.rank:
            return
        while self._pending and (self._pending[0][0].done() or self._waiting + nbytes > BUDGET):
            self._wait_for_first()
        self._pending.append((_THREAD.submit(self._call, function, arguments), nbytes))
        self._waiting += nbytes

    def agree(self) -> None:
        """Raise on all ranks, once, what has gone wrong in writing so far."""
        error = self.transport.broadcast(self._error)
        if error is not None and not self._told:
            self._told = True
            raise error

    def close(self, agree: bool = True) -> None:
        """Write what is waiting and close the file; without agreeing where the ranks may no longer do the same."""
        self.put(lambda file: file.close())
        self._finish()
        if agree:
            self.agree()

    def require(self, file, nbytes: int) -> None:
        """Make sure, before a record of up to `nbytes` is begun, that the disk has room for all of it.

        A NetCDF file whose metadata found no room may be unreadable, earlier records included.

        Raises:
            FilesError: it has not.
        """
        free = self._free()
        if nbytes > free:
            raise FilesError(f"{self.path}: disk full, {free} bytes free of the {nbytes} that the next record may need")

    def _create(self, define, _) -> None:
        import h5py
        import netCDF4

        if not self.path.parent.is_dir():  # of which netCDF would say "permission denied"
            raise FileNotFoundError(f"there is no folder {self.path.parent}")
        with netCDF4.Dataset(self.path, "w", format="NETCDF4") as dataset:
            define(dataset)
        self._opened = h5py.File(self.path, "r+", locking=False)

    def _call(self, function, arguments) -> None:
        if self._error is not None:
            return
        try:
            function(self._opened, *arguments)
        except (OSError, RuntimeError) as error:  # HDF5 raises either where writing fails
            number = getattr(error, "errno", None) or 0
            reason = os.strerror(number) if number > 0 else error
            self._error = FilesError(f"{self.path} cannot be written: {reason}; {self._free()} bytes free")
        except Exception as error:
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
