"""Error messages for the user."""

from __future__ import annotations

import os
import sys
import traceback

from ..errors import EXIT_INTERNAL, EXIT_STOPPED, as_line, exit_code, is_out_of_memory
from ..parallel import interrupt


class FormattedError(Exception):
    """An error whose message for the user is complete ("Error: ..."), with its exit code."""

    def __init__(self, message: str, code: int):
        super().__init__(message)
        self.exit_code = code


def format_error(error: BaseException) -> str:
    """The message for the user, one line per problem."""
    if isinstance(error, KeyboardInterrupt):
        return interrupt.INTERRUPT_MESSAGE
    if isinstance(error, FormattedError) or exit_code(error) in (0, EXIT_STOPPED):
        return str(error)  # the message is complete, or the user stopped the run, or it had nothing left to compute
    if is_out_of_memory(error):
        reason = first_line(error)
        return f"Error: not enough memory: {reason}; use fewer cells or members, more nodes, or run.dtype=float32"
    if exit_code(error) == EXIT_INTERNAL:
        return f"Internal error: {type(error).__name__}: {error} (swmodel --debug ... shows where)"
    return "\n".join(f"Error: {as_line(line)}" for line in str(error).splitlines())


def first_line(error: BaseException) -> str:
    """The first line of an error's message, or its class name if the message is empty."""
    return (str(error) or type(error).__name__).splitlines()[0]


def print_error(error: BaseException):
    """Print the error on stderr, and its traceback if SWMODEL_DEBUG is set."""
    if os.environ.get("SWMODEL_DEBUG"):
        traceback.print_exception(error)
    print(format_error(error), file=sys.stderr, flush=True)
