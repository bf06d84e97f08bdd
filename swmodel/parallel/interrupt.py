"""Handle Ctrl-C without a traceback, during imports and in commands; a run has its own handlers (`stop`)."""

from __future__ import annotations

import contextlib
import os
import signal

from ..errors import EXIT_STOPPED

INTERRUPT_MESSAGE = "Stopped by the user."


def exit_on_sigint(signal_number, frame):
    with contextlib.suppress(OSError):  # stderr may be closed
        os.write(2, f"{INTERRUPT_MESSAGE}\n".encode())
    os._exit(EXIT_STOPPED)


def install_sigint_handler():
    """Make SIGINT end this process, unless its parent made it ignore SIGINT."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, exit_on_sigint)


@contextlib.contextmanager
def raise_keyboard_interrupt():
    """A context in which SIGINT raises KeyboardInterrupt, if `install_sigint_handler` was called."""
    if signal.getsignal(signal.SIGINT) is not exit_on_sigint:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # another SIGINT must not change the exit code
