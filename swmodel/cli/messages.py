"""Error messages for the user."""

from __future__ import annotations

import os
import sys
import traceback

from ..errors import INTERNAL, STOPPED, as_line, exit_code
from ..parallel import interrupt


def error_text(error: BaseException) -> str:
    """What went wrong, one line for each problem."""
    if isinstance(error, KeyboardInterrupt):
        return interrupt.MESSAGE
    if exit_code(error) in (0, STOPPED):  # no error: nothing to do, or stopped on request
        return str(error)
    if exit_code(error) == INTERNAL:
        return f"Internal error: {type(error).__name__}: {error} (swmodel --debug ... shows where)"
    return "\n".join(f"Error: {as_line(line)}" for line in str(error).splitlines())


def print_error(error: BaseException):
    """Say on stderr what went wrong; with SWMODEL_DEBUG, also where in the program."""
    if os.environ.get("SWMODEL_DEBUG"):
        traceback.print_exception(error)
    print(error_text(error), file=sys.stderr, flush=True)
