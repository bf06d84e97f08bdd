"""Ctrl-C without a traceback: while modules are imported it ends the program at once, a command gets KeyboardInterrupt.

A run has handlers of its own (`stop`).
"""

from __future__ import annotations

import contextlib
import os
import signal

from ..errors import STOPPED

MESSAGE = "Stopped by the user."


def end_at_once(number, frame):
    """Handle SIGINT: end this process, and say so."""
    with contextlib.suppress(OSError):  # nobody listens
        os.write(2, f"{MESSAGE}\n".encode())
    os._exit(STOPPED)


def install():
    """End this process on SIGINT from now on, unless its parent made it ignore SIGINT."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, end_at_once)


@contextlib.contextmanager
def as_exception():
    """A context in which SIGINT raises KeyboardInterrupt, if it ends the process at once outside."""
    if signal.getsignal(signal.SIGINT) is not end_at_once:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the exit code is decided
