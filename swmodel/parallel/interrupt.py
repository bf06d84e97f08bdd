"""Ctrl-C at any moment, without a traceback.

While the program is imported, Ctrl-C ends it at once, since an exception could be raised anywhere. A command gets
KeyboardInterrupt, and cleans up. A run has handlers of its own (`stop`); after it, only the exit code remains.
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
    """End this process on SIGINT from now on, unless its parent made it ignore SIGINT."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, leave)


@contextlib.contextmanager
def as_exception():
    """A context in which SIGINT raises KeyboardInterrupt, if it ends the process at once outside."""
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
    """From now on SIGINT ends the process at once, with the exit code that it would have had anyway."""
    if signal.getsignal(signal.SIGINT) is leave:
        signal.signal(signal.SIGINT, lambda number, frame: os._exit(code))
