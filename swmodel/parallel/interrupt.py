"""Ctrl-C without a traceback: it ends the program during imports, and raises KeyboardInterrupt in a command.

A run has its own handlers (`stop`).
"""

from __future__ import annotations

import contextlib
import os
import signal

from ..errors import STOPPED

MESSAGE = "Stopped by the user."


def end_at_once(number, frame):
    """Handle SIGINT: print MESSAGE and end this process."""
    with contextlib.suppress(OSError):  # stderr is closed
        os.write(2, f"{MESSAGE}\n".encode())
    os._exit(STOPPED)


def install():
    """End this process on SIGINT, unless its parent made it ignore SIGINT."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, end_at_once)


@contextlib.contextmanager
def as_exception():
    """A context in which SIGINT raises KeyboardInterrupt, if `install` was called."""
    if signal.getsignal(signal.SIGINT) is not end_at_once:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # keeps the exit code
