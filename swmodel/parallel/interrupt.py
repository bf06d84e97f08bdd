"""Ctrl-C at any moment: without a traceback, whatever Python is just doing.

While the program itself is imported it leaves at once, since an exception might come up anywhere; a command gets
KeyboardInterrupt, and cleans up; a run has handlers of its own (`stop`); after it, only its exit code is left to give.
"""

from __future__ import annotations

import contextlib
import os
import signal

from ..errors import STOPPED

WORDS = "Stopped by the user."


def leave(number, frame):
    """Handle SIGINT: end this process, and say so."""
    with contextlib.suppress(OSError):  # nobody listens
        os.write(2, f"{WORDS}\n".encode())
    os._exit(STOPPED)


def leave_at_once():
    """End this process on SIGINT from now on, unless whoever started it has it ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, leave)


@contextlib.contextmanager
def as_exception():
    """Where SIGINT ends the process at once: make it KeyboardInterrupt within this context."""
    before = signal.getsignal(signal.SIGINT)
    if before is not leave:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, leave)


def only_hastens(code: int):
    """From now on SIGINT ends the process at once with the exit code that it would have had."""
    if signal.getsignal(signal.SIGINT) is leave:
        signal.signal(signal.SIGINT, lambda number, frame: os._exit(code))
