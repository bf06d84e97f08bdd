"""The watchdog ends a run in which a rank is stuck or frozen.

MPI would wait for ever for such a rank. A thread in each rank watches the step number. If that does not change for the
set time, the thread writes the stacks of all threads into the folder `stuck` of the run folder. A rank without a file
there some seconds later is frozen. The first other rank reports and records the failure, and each rank ends itself;
then mpiexec or `spawn` kills the frozen ones. Ranks use files instead of messages, as MPI itself may be stuck.
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

from ..errors import INTERNAL
from . import spawn
from .abort import abort

FOLDER = "stuck"
PACKAGE = Path(__file__).parents[1]
#: Least time for the first step, s, which includes imports, compilation, and verification of files.
START = 600.0
#: Most ranks in a message.
SHOWN = 8


@contextlib.contextmanager
def limited_start():
    """A context that ends this process, with the stacks of its threads, after START.

    It is for calls that block Python: MPI_Init waits for ever for a process that ended before calling it.
    """
    faulthandler.dump_traceback_later(START, exit=True, file=sys.__stderr__)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


@contextlib.contextmanager
def limited_wait(limit: float, words: str, rank: int):
    """A context that ends all processes, with a line on stderr, after a limit, s; 0: never.

    Higher ranks wait a little longer, so that only the first waiting one prints.
    """

    def end():
        os.write(2, f"Error: no answer for {limit:g} s (run.watchdog): {words}\n".encode())
        abort(INTERNAL)

    timer = threading.Timer(limit + 2.0 * min(rank, 10), end)
    timer.daemon = True
    if limit:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


class Watchdog:
    """A context that watches this rank; `report` receives the message for the user, on one rank.

    All ranks have the same run folder. After `limit` seconds without a step the run ends; 0: never.
    """

    def __init__(self, rank: int, size: int, directory, limit: float, report: Callable):
        self.rank, self.size, self.limit, self.report = rank, size, limit, report
        self.folder = Path(directory) / FOLDER
        self.progress = lambda: None
        self.tick = min(30.0, limit / 20)
        self._main = threading.get_ident()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self):
        if self.rank == 0:
            shutil.rmtree(self.folder, ignore_errors=True)
        if self.limit:
            self._thread.start()
        return self

    def __exit__(self, *error):
        """Wait for the thread, which may hold arrays of JAX that cannot be freed at the end of Python."""
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()

    def watch(self, progress: Callable):
        """Use the number from `progress()` as the rank's progress."""
        self.progress = progress

    def _watch(self):
        """End the run after `limit` seconds with the same step, at least START before the first one."""
        seen, waited, patience = None, 0.0, max(self.limit, START)
        while not self._end.wait(self.tick):
            now = self.progress()
            waited = waited + self.tick if now == seen else 0.0
            if now != seen and seen is not None:
                patience = self.limit
            seen = now
            if waited > patience or (waited and self.folder.is_dir()):
                self._answer(seen, waited)

    def _answer(self, step, waited: float):
        """Write this rank's stacks; some seconds later end the run, unless it has already ended."""
        with contextlib.suppress(OSError):
            self.folder.mkdir(exist_ok=True)
            with (self.folder / f"rank-{self.rank}.txt").open("w") as file:
                file.write(f"{innermost_function(self._main)}\n")
                file.flush()
                faulthandler.dump_traceback(file, all_threads=True)
        if self._end.wait(2 * self.tick + 2.0):
            return
        answers = {int(path.stem[5:]): path.read_text().partition("\n")[0] for path in self.folder.glob("rank-*.txt")}
        if self.rank == min(answers, default=self.rank):
            silent = [f"rank {rank} did not answer" for rank in range(self.size) if rank not in answers]
            where = "; ".join((silent + [f"rank {rank} is in {answers[rank]}" for rank in sorted(answers)])[:SHOWN])
            self.report(f"no step for {waited:.0f} s (step {step}): {where}; stacks in {self.folder}")
        else:
            time.sleep(2.0)
        sys.stderr.flush()
        spawn.fail()
        os._exit(INTERNAL)


def innermost_function(thread: int) -> str:
    """The innermost function of a thread, within the package if possible."""
    frame = innermost = sys._current_frames()[thread]
    while frame is not None and not Path(frame.f_code.co_filename).is_relative_to(PACKAGE):
        frame = frame.f_back
    code = (frame or innermost).f_code
    return f"{code.co_name} ({Path(code.co_filename).name}:{(frame or innermost).f_lineno})"
