"""A thread beside the time loop, which executes one call after the other."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from queue import SimpleQueue

#: Lock for netCDF4, which crashes if two threads use it at once, even for different files.
NETCDF_LOCK = threading.RLock()


class Worker:
    """A daemon thread, started by the first call, so that the program can end even while a call hangs."""

    def __init__(self, name: str):
        self.name = name
        self._calls, self._thread = SimpleQueue(), None

    def submit(self, function, *arguments) -> Future:
        """Queue a call of `function(*arguments)`."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=self.name, daemon=True)
            self._thread.start()
        future = Future()
        self._calls.put((future, function, arguments))
        return future

    @property
    def is_queue_empty(self) -> bool:
        """Whether no call waits behind the present one."""
        return self._calls.empty()

    def end(self) -> None:
        """End the thread after the queued calls; there may be no others."""
        self._calls.put(None)

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            future, function, arguments = call
            try:
                future.set_result(function(*arguments))
            except BaseException as error:
                future.set_exception(error)
            del call, future, function, arguments  # free arrays, and references of an error
