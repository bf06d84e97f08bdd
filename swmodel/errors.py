"""Errors that users meet, and the exit code of the program for each.

0 done, 2 usage or configuration, 3 environment (MPI, JAX, device), 4 numerical, 5 files, 70 internal, 75 stopped early.
"""

from __future__ import annotations

INTERNAL = 70
STOPPED = 75


class UsageError(Exception):
    """The command line or the configuration asks for what cannot be done."""

    exit_code = 2


class SetupError(Exception):
    """MPI, JAX or a device is missing or does not work."""

    exit_code = 3


class NumericalError(Exception):
    """The solution blew up. Raised on all processes together."""

    exit_code = 4


class FilesError(Exception):
    """A file or folder cannot be read or written."""

    exit_code = 5


class Stopped(Exception):
    """The run was asked to end early and has written a restart. Raised on all processes together.

    The message says by what, when, and how to go on (`stop.stopped`).
    """

    exit_code = STOPPED


def exit_code(error: BaseException) -> int:
    """The exit code for an exception.

    Its attribute `exit_code` if it has one; 3 for a missing package, 5 for OSError, 75 for an interrupt, otherwise 70.
    """
    if hasattr(error, "exit_code"):
        return error.exit_code
    if isinstance(error, KeyboardInterrupt):
        return STOPPED
    if isinstance(error, OSError):
        return FilesError.exit_code
    if isinstance(error, ModuleNotFoundError) and not (error.name or "").startswith("swmodel"):
        return SetupError.exit_code
    return INTERNAL
