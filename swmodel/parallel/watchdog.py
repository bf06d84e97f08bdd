"""The watchdog ends a run in which a rank is stuck or frozen.

MPI would wait for such a rank for ever. A thread in each rank watches the step number. If the number does not change
for the time `run.watchdog`, the thread writes the stacks of all threads into the folder `stuck` of the run folder. A
rank that has no file there about a minute later is frozen. The lowest of the other ranks reports the failure, and all
of them end themselves; then mpiexec or `spawn` kills the frozen ones. Ranks use files instead of messages, because MPI
itself may be stuck.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from ..errors import EXIT_INTERNAL
from . import spawn
from .abort import abort

STACKS_FOLDER = "stuck"
PACKAGE_FOLDER = Path(__file__).parents[1]
#: Smallest time limit for the first step, s, which includes imports, compilation and verification of files.
START_TIMEOUT_SECONDS = 600.0
#: Largest number of ranks that a message names.
MAX_RANKS_SHOWN = 8


@contextlib.contextmanager
def exit_if_start_hangs():
    """A context that prints the stacks of all threads and ends this process after START_TIMEOUT_SECONDS.

    It is for calls that block Python: MPI_Init, for example, waits for ever for a process that ended before MPI_Init.
    """
    faulthandler.dump_traceback_later(START_TIMEOUT_SECONDS, exit=True, file=2)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


@contextlib.contextmanager
def abort_after_timeout(timeout: float, message: str, rank: int):
    """A context that ends all processes, with a message on stderr, after `timeout` seconds; 0: never.

    Higher ranks wait a little longer, so that only the lowest of the waiting ranks prints the message.
    """

    def abort_run():
        os.write(2, f"Error: no answer for {timeout:g} s (run.watchdog): {message}\n".encode())
        abort(EXIT_INTERNAL)

    timer = threading.Timer(timeout + 2.0 * min(rank, 10), abort_run)
    timer.daemon = True
    if timeout:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


class Watchdog:
    """A context that ends the run after `timeout` s without a step; 0: never. One rank calls `report(message)`."""

    def __init__(self, rank: int, size: int, directory, timeout: float, report: Callable):
        self.rank, self.size, self.timeout, self.report = rank, size, timeout, report
        self.folder = Path(directory) / STACKS_FOLDER
        self.progress = lambda: None
        self.poll_interval = min(30.0, timeout / 20)
        self._main_thread = threading.get_ident()
        self._stop_event = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self):
        if self.rank == 0:
            shutil.rmtree(self.folder, ignore_errors=True)
        if self.timeout:
            self._thread.start()
        return self

    def __exit__(self, *error):
        """Wait for the thread, which may hold JAX arrays: they cannot be freed when Python ends."""
        self._stop_event.set()
        if self._thread.is_alive():
            self._thread.join()

    def watch(self, progress: Callable):
        """Watch the number that progress() returns, which changes as long as the run advances."""
        self.progress = progress

    def _watch(self):
        """End the run after `timeout` seconds without a step; at least START_TIMEOUT_SECONDS before the first one."""
        last_step, seconds_waited, timeout = None, 0.0, max(self.timeout, START_TIMEOUT_SECONDS)
        while not self._stop_event.wait(self.poll_interval):
            step = self.progress()
            seconds_waited = seconds_waited + self.poll_interval if step == last_step else 0.0
            if step != last_step and last_step is not None:
                timeout = self.timeout
            last_step = step
            if seconds_waited > timeout or (seconds_waited and self.folder.is_dir()):
                self._write_stacks_and_exit(last_step, seconds_waited)

    def _write_stacks_and_exit(self, step, seconds_waited: float):
        """Write this rank's stacks and, at most about a minute later, end the run unless it has ended by then."""
        with contextlib.suppress(OSError):
            self.folder.mkdir(exist_ok=True)
            with (self.folder / f"rank-{self.rank}.txt").open("w") as file:
                file.write(f"{innermost_function(self._main_thread)}\n")
                file.flush()
                faulthandler.dump_traceback(file, all_threads=True)
        if self._stop_event.wait(2 * self.poll_interval + 2.0):
            return
        functions_by_rank = {
            int(path.stem[5:]): path.read_text().partition("\n")[0] for path in self.folder.glob("rank-*.txt")
        }
        if self.rank == min(functions_by_rank, default=self.rank):
            silent_ranks = [f"rank {rank} did not answer" for rank in range(self.size) if rank not in functions_by_rank]
            stuck_ranks = [f"rank {rank} is in {functions_by_rank[rank]}" for rank in sorted(functions_by_rank)]
            ranks = "; ".join((silent_ranks + stuck_ranks)[:MAX_RANKS_SHOWN])
            self.report(f"no step for {seconds_waited:.0f} s (step {step}): {ranks}; stacks in {self.folder}")
        else:
            time.sleep(2.0)
        sys.stderr.flush()
        spawn.kill_other_ranks()
        os._exit(EXIT_INTERNAL)


def innermost_function(thread: int) -> str:
    """The innermost function of a thread, in this package if possible, with file and line."""
    innermost = sys._current_frames()[thread]
    frame: FrameType | None = innermost
    while frame is not None and not Path(frame.f_code.co_filename).is_relative_to(PACKAGE_FOLDER):
        frame = frame.f_back
    code = (frame or innermost).f_code
    return f"{code.co_name} ({Path(code.co_filename).name}:{(frame or innermost).f_lineno})"
