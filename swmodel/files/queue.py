"""A queue of calls for a thread, with a bound on the memory of their arguments."""

from __future__ import annotations

from collections import deque

from ..parallel.worker import Worker

#: Maximum bytes of arrays in the queue of one file; beyond that the model waits.
MAX_QUEUE_BYTES = 64 << 20


class CallQueue:
    """The calls of one file to a Worker, which several files may share. The functions raise no errors."""

    def __init__(self, worker: Worker):
        self.worker = worker
        self._pending, self._queued_bytes, self._is_awaited = deque(), 0, False

    @property
    def is_idle(self) -> bool:
        """Whether no call is queued after the current one, and nobody waits for that to end."""
        return self.worker.is_queue_empty and not self._is_awaited

    def submit(self, function, *arguments, nbytes: int = 0) -> None:
        """Queue a call of `function(*arguments)`; the arguments hold `nbytes`."""
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
