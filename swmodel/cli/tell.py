"""What commands share: their options, and error messages for the user."""

from __future__ import annotations

import os
import sys
import traceback

from ..errors import INTERNAL, STOPPED, as_line, exit_code
from ..parallel.interrupt import WORDS


def together(*options):
    """A decorator that adds these options of click to a command, in this order."""

    def decorate(command):
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def words(error: BaseException) -> str:
    """What went wrong, one line for each problem."""
    if isinstance(error, KeyboardInterrupt):
        return WORDS
    if exit_code(error) in (0, STOPPED):  # no error: nothing to do, or stopped on request
        return str(error)
    if exit_code(error) == INTERNAL:
        return f"Internal error: {type(error).__name__}: {error} (swmodel --debug ... shows where)"
    return "\n".join(f"Error: {as_line(line)}" for line in str(error).splitlines())


def tell(error: BaseException):
    """Say on stderr what went wrong; with SWMODEL_DEBUG, also where in the program."""
    if os.environ.get("SWMODEL_DEBUG"):
        traceback.print_exception(error)
    print(words(error), file=sys.stderr, flush=True)
