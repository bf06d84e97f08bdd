"""Early stops by signals and the wall-clock limit, on which all ranks agree between chunks of steps.

If a rank stopped alone, the others would wait for it. So a signal only sets a flag, and `Stop.reason`, which all ranks
call together, combines the flags.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np

from ..errors import STOPPED, Stopped
from .environment import started

log = logging.getLogger(__name__)

#: The signals that stop a run; the larger number counts if ranks got different ones. LATE: the limit is near. FAILED: a
#: rank cannot write its files.
SIGNALS = (signal.SIGINT, signal.SIGTERM)
LATE, FAILED = 1, 2**20
#: Signals within this time are one request, s: a terminal sends SIGINT to mpiexec and to the ranks, and mpiexec
#: forwards its own.
SAME_REQUEST = 1.0
#: Reserve before the wall-clock limit to write a restart, before one was timed, and to exit: as a fraction of the
#: limit, and at most, s.
RESTART, MOST_RESTART = 0.05, 30.0
LEAVE, MOST_LEAVE = 0.1, 10.0
#: Time for a task that saves nothing to stop, s.
SOON = 1.0
#: The recommended limit is this factor times the time of the job's steps so far.
MARGIN = 1.5


class Stop:
    """A context that collects requests to stop; a second signal ends the process at once.

    An inner Stop inherits the requests of the outer one. Outside the main thread, where Python delivers no signals,
    only the wall-clock limit counts, s from the start of the program. At least `least` chunks of steps are computed, so
    that each job of a chain makes progress. The writer of restarts sets `reserve`, the seconds for one.
    """

    def __init__(self, walltime_seconds: float | None = None, least: int = 0):
        self.walltime, self.least = walltime_seconds, least
        self.reserve = min(MOST_RESTART, RESTART * (walltime_seconds or 0))
        self.received, self._first = 0, 0.0
        self._last_call, self._longest = None, 0.0
        self._chunks, self._too_short = 0, False

    def __enter__(self):
        heard = SIGNALS if threading.current_thread() is threading.main_thread() else ()
        self._before = {number: signal.signal(number, self._receive) for number in heard}
        for handler in self._before.values():
            outer = getattr(handler, "__self__", None)
            if isinstance(outer, Stop):
                self.received, self._first = outer.received, outer._first
        return self

    def __exit__(self, *error):
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def reason(self, transport, failed: bool = False) -> str | None:
        """The reason to stop, as words after "stopped by", or None; all ranks call it together.

        `failed`: whether the files of this rank have failed; their `flush` then says more on all ranks.
        """
        late = transport.rank == 0 and self._late()
        mine = FAILED if failed else self.received or late * LATE
        number = int(transport.reduce(np.asarray(mine, np.int64), "max"))
        if number == FAILED:
            return "files that cannot be written"
        if number == LATE:
            return f"the wall-clock limit of {duration(self.walltime)}"
        return signal.Signals(number).name if number else None

    def _receive(self, number, frame):
        now = time.monotonic()
        if self.received and now - self._first > SAME_REQUEST:
            with contextlib.suppress(OSError):  # stderr is closed
                os.write(2, f"ended at once by a second {signal.Signals(number).name}\n".encode())
            os._exit(STOPPED)
        if not self.received:
            self.received, self._first = number, now

    def _late(self) -> bool:
        """Whether the longest chunk so far and a restart might exceed the limit, on rank 0."""
        if self.walltime is None:
            return False
        now = time.time()
        if self._last_call is not None:
            self._longest = max(self._longest, now - self._last_call)
        self._last_call = now
        needed = now - started() + self._longest
        kept_free = 2 * self.reserve + min(MOST_LEAVE, LEAVE * self.walltime)
        late = needed + kept_free > self.walltime
        enough = self._chunks >= self.least
        if late and enough and self._too_short:
            least = math.ceil(MARGIN * needed)
            log.warning("the wall-clock limit of %s is too short: give %d s at least", duration(self.walltime), least)
        self._too_short = late and not enough
        self._chunks += 1
        return late and enough


@contextlib.contextmanager
def ends_soon(stop: Stop, end: Callable[[int], None]) -> Iterator[None]:
    """A context in which a thread calls `end` with a signal, SOON seconds after it, unless the context ends before.

    Python calls handlers of signals between two lines of the main thread; compilation and steps may take far longer. If
    `stop` already has a signal, the thread calls `end` at once.
    """
    if stop.received:
        end(stop.received)
    (reader, writer), over = os.pipe(), threading.Event()
    os.set_blocking(writer, False)

    def wait():
        number = os.read(reader, 1)[0]
        if number and not over.wait(SOON):
            end(number)

    before = signal.set_wakeup_fd(writer)
    threading.Thread(target=wait, daemon=True).start()
    try:
        yield
    finally:
        over.set()
        signal.set_wakeup_fd(before)
        os.write(writer, bytes([0]))


def stopped(reason: str, simulation, go_on: str) -> Stopped:
    """The exception that ends a run early, with its message; `go_on` is the way to continue."""
    return Stopped(
        f"stopped by {reason} at step {simulation.step} (day {simulation.time / 86400:.3f}); continue with {go_on}"
    )


def duration(seconds: float) -> str:
    """A length of time, in the largest unit that makes it at least 1."""
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:g} s"
