"""Stop early because of a signal or the wall-clock limit; all ranks agree on this between chunks of steps.

If a single rank stopped, the others would wait for it. So a signal is only stored, and `StopRequests.reason`, which all
ranks call together, combines the signals of all ranks.
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
from typing import TYPE_CHECKING

import numpy as np

from ..errors import EXIT_STOPPED, Stopped
from .environment import program_start_time

if TYPE_CHECKING:
    from .transport.transport import Transport

log = logging.getLogger(__name__)

#: The signals that stop a run, and the codes with which a rank reports that the wall-clock limit is near, or that the
#: rank cannot write its files. The largest of the numbers of all ranks counts, be it a signal or a code.
SIGNALS = (signal.SIGINT, signal.SIGTERM)
WALLTIME_CODE, FILES_FAILED_CODE = 1, 2**20
#: Signals within this time, s, count as one, because a terminal sends SIGINT to mpiexec and the ranks, and mpiexec
#: forwards it.
SAME_REQUEST_SECONDS = 1.0
#: Assumed time to write a restart file until one has been written, and time reserved for exiting: each is ..._FRACTION
#: of the wall-clock limit, but at most MAX_..._SECONDS.
RESTART_FRACTION, MAX_RESTART_SECONDS = 0.05, 30.0
EXIT_FRACTION, MAX_EXIT_SECONDS = 0.1, 10.0
#: Time, s, that a task with nothing to save gets to end after a signal.
SIGNAL_GRACE_SECONDS = 1.0
#: The suggested limit is this factor times the sum of the elapsed time and the time of the longest chunk.
SUGGESTED_LIMIT_FACTOR = 1.5


class StopRequests:
    """A context that collects requests to stop; a second signal ends the process at once.

    An inner context inherits the requests of the outer one. Outside the main thread it receives no signals, because
    Python delivers none there. The limit `walltime_seconds` is measured from the start of the program, and stops a run
    only after `min_chunks` chunks of steps, so that each job in a chain makes progress. The caller sets
    `restart_seconds` to the time that the last restart file took, s.
    """

    def __init__(self, walltime_seconds: float | None = None, min_chunks: int = 0):
        self.walltime_seconds, self.min_chunks = walltime_seconds, min_chunks
        self.restart_seconds = min(MAX_RESTART_SECONDS, RESTART_FRACTION * (walltime_seconds or 0))
        self.received_signal, self._first_signal_time = 0, 0.0
        self._last_check_time: float | None = None
        self._longest_chunk_seconds = 0.0
        self._n_checks, self._was_near_limit_too_early = 0, False

    def __enter__(self):
        signals = SIGNALS if threading.current_thread() is threading.main_thread() else ()
        self._previous_handlers = {number: signal.signal(number, self._handle_signal) for number in signals}
        for handler in self._previous_handlers.values():
            outer = getattr(handler, "__self__", None)
            if isinstance(outer, StopRequests):
                self.received_signal, self._first_signal_time = outer.received_signal, outer._first_signal_time
        return self

    def __exit__(self, *error):
        for number, handler in self._previous_handlers.items():
            signal.signal(number, handler)

    def reason(self, transport: Transport, files_failed: bool = False) -> str | None:
        """The reason to stop, to follow the words "stopped by", or None; all ranks call it together.

        `files_failed`: whether this rank cannot write its files; the `flush` of the files then raises the error on all
        ranks.
        """
        is_near_limit = transport.rank == 0 and self._check_limit()
        local_code = FILES_FAILED_CODE if files_failed else self.received_signal or is_near_limit * WALLTIME_CODE
        code = int(transport.reduce(np.asarray(local_code, np.int64), "max"))
        if code == FILES_FAILED_CODE:
            return "a failure to write files"
        if code == WALLTIME_CODE:
            assert self.walltime_seconds is not None  # only a limit gives this code
            return f"the wall-clock limit of {format_duration(self.walltime_seconds)}"
        return signal.Signals(code).name if code else None

    def _handle_signal(self, signal_number, frame):
        now = time.monotonic()
        if self.received_signal and now - self._first_signal_time > SAME_REQUEST_SECONDS:
            with contextlib.suppress(OSError):  # stderr may be closed
                os.write(2, f"ended at once by a second {signal.Signals(signal_number).name}\n".encode())
            os._exit(EXIT_STOPPED)
        if not self.received_signal:
            self.received_signal, self._first_signal_time = signal_number, now

    def _check_limit(self) -> bool:
        """Whether another chunk as long as the longest so far would not leave time for two restart files and the exit.

        False before `min_chunks` chunks. Only rank 0 calls it, once before each chunk.
        """
        if self.walltime_seconds is None:
            return False
        now = time.time()
        if self._last_check_time is not None:
            self._longest_chunk_seconds = max(self._longest_chunk_seconds, now - self._last_check_time)
        self._last_check_time = now
        seconds_needed = now - program_start_time() + self._longest_chunk_seconds
        seconds_reserved = 2 * self.restart_seconds + min(MAX_EXIT_SECONDS, EXIT_FRACTION * self.walltime_seconds)
        is_near_limit = seconds_needed + seconds_reserved > self.walltime_seconds
        has_min_chunks = self._n_checks >= self.min_chunks
        if is_near_limit and has_min_chunks and self._was_near_limit_too_early:
            suggested_limit = math.ceil(SUGGESTED_LIMIT_FACTOR * seconds_needed)
            log.warning(
                "the wall-clock limit of %s is too short: set it to at least %d s",
                format_duration(self.walltime_seconds),
                suggested_limit,
            )
        self._was_near_limit_too_early = is_near_limit and not has_min_chunks
        self._n_checks += 1
        return is_near_limit and has_min_chunks


@contextlib.contextmanager
def end_after_signal(stop_requests: StopRequests, end_process: Callable[[int], None]) -> Iterator[None]:
    """A context that calls `end_process(signal_number)` SIGNAL_GRACE_SECONDS after a signal, unless it has been left.

    A thread makes this call, because Python calls signal handlers only between two bytecode instructions of the main
    thread, and one such instruction may compile or compute for much longer. If `stop_requests` already has a signal,
    `end_process` is called at once. Only the main thread may enter the context.
    """
    if stop_requests.received_signal:
        end_process(stop_requests.received_signal)
    (reader, writer), has_left = os.pipe(), threading.Event()
    os.set_blocking(writer, False)

    def wait():
        number = os.read(reader, 1)[0]
        if number and not has_left.wait(SIGNAL_GRACE_SECONDS):
            end_process(number)

    previous_fd = signal.set_wakeup_fd(writer)
    threading.Thread(target=wait, daemon=True).start()
    try:
        yield
    finally:
        has_left.set()
        signal.set_wakeup_fd(previous_fd)
        os.write(writer, bytes([0]))


def stopped_error(reason: str, simulation, how_to_continue: str) -> Stopped:
    """The exception that ends a run early; its message includes `how_to_continue`, a command or Python calls."""
    return Stopped(
        f"stopped by {reason} at step {simulation.step} (day {simulation.time / 86400:.3f}); continue with "
        f"{how_to_continue}"
    )


def format_duration(seconds: float) -> str:
    """A length of time, such as 5.32 s, 12 min 5 s, 3 h 20 min or 2 h."""
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    parts = ((minutes, "min"), (rest, "s")) if minutes < 60 else ((minutes // 60, "h"), (minutes % 60, "min"))
    return " ".join(f"{number} {unit}" for number, unit in parts if number)
