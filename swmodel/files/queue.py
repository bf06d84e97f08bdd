"""A queue of calls for a thread, with a bound on the memory of their arguments."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future

from ..parallel.worker import Worker

#: Largest size of the arguments in the queue of one file, bytes; the model waits while the queue is full.
MAX_QUEUE_BYTES = 64 << 20


class CallQueue:
    """The calls of one file to a Worker, which several files may share. The functions called must not raise errors."""

    def __init__(self, worker: Worker):
        self.worker = worker
        self._pending: deque[tuple[Future, int]] = deque()
        self._queued_bytes, self._is_awaited = 0, False

    @property
    def is_idle(self) -> bool:
        """Whether the worker has no further call, and `submit` and `finish` do not wait for the current one."""
        return self.worker.is_queue_empty and not self._is_awaited

    def submit(self, function, *arguments, nbytes: int = 0) -> None:
        """Queue a call of `function(*arguments)` once the queue has room; `nbytes`: size of the arguments, bytes."""
        while self._pending and (self._pending[0][0].done() or self._queued_bytes + nbytes > MAX_QUEUE_BYTES):
            self._wait_for_first()
        self._pending.append((self.worker.submit(function, *arguments), nbytes))
        self._queued_bytes += nbytes

    def finish(self) -> None:
        while self._pending:
            self._wait_for_first()

    def _wait_for_first(self) -> None:
        future, nbytes = self._pending.popleft()
        self._is_awaited = True
        future.result()
        self._is_awaited = False
        self._queued_bytes -= nbytes
