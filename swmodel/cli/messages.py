"""Error messages for the user."""

from __future__ import annotations

import os
import sys
import traceback

from ..errors import INTERNAL, STOPPED, as_line, exit_code, is_out_of_memory
from ..parallel import interrupt


class Refused(Exception):
    """An error before the start that all ranks know of: the message to the user, and the exit code."""

    def __init__(self, message: str, code: int):
        super().__init__(message)
        self.exit_code = code


def error_text(error: BaseException) -> str:
    """What went wrong, one line for each problem."""
    if isinstance(error, KeyboardInterrupt):
        return interrupt.MESSAGE
    if isinstance(error, Refused) or exit_code(error) in (0, STOPPED):  # nothing to do, or stopped on request
        return str(error)
    if is_out_of_memory(error):
        words = first_line(error)
        return f"Error: not enough memory: {words}; run fewer cells or members, more nodes, or run.dtype=float32"
    if exit_code(error) == INTERNAL:
        return f"Internal error: {type(error).__name__}: {error} (swmodel --debug ... shows where)"
    return "\n".join(f"Error: {as_line(line)}" for line in str(error).splitlines())


def first_line(error: Exception) -> str:
    """The first line of an error's message, or its kind."""
    return (str(error) or type(error).__name__).splitlines()[0]


def print_error(error: BaseException):
    """Say on stderr what went wrong; with SWMODEL_DEBUG, also where in the program."""
    if os.environ.get("SWMODEL_DEBUG"):
        traceback.print_exception(error)
    print(error_text(error), file=sys.stderr, flush=True)
