"""A thread that executes calls one after another while the time loop runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue

#: Lock for netCDF4, which crashes if two threads use it at the same time, even for different files.
NETCDF_LOCK = threading.RLock()


class Worker:
    """A thread, started by the first call. It is a daemon, so that the program can end even while a call hangs."""

    def __init__(self, name: str):
        self.name = name
        self._calls: SimpleQueue[tuple[Future, Callable, tuple] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def submit(self, function, *arguments) -> Future:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=self.name, daemon=True)
            self._thread.start()
        future: Future = Future()
        self._calls.put((future, function, arguments))
        return future

    @property
    def is_queue_empty(self) -> bool:
        """Whether no calls are waiting; one may still be running."""
        return self._calls.empty()

    def end(self) -> None:
        """End the thread after the queued calls; no others may follow."""
        self._calls.put(None)

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            future, function, arguments = call
            try:
                future.set_result(function(*arguments))
            except BaseException as error:
                future.set_exception(error)
            del call, future, function, arguments  # free arrays, also those that an error refers to
