"""The errors that users can meet, and the exit code of the program for each of them.

Exit codes: 0 success, 2 usage or configuration, 3 environment (MPI, JAX, device), 4 numerical, 5 files, 6 failed
verification test, 70 internal error, 75 stopped early, 141 standard output closed (`parallel.streams`).
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import os
import re
import traceback
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

__all__ = ["AnswerError", "ConfigError", "FilesError", "NumericalError", "SetupError", "Stopped", "UsageError"]

EXIT_INTERNAL = 70
EXIT_STOPPED = 75

#: Limits of a message: characters in a line, characters of a quoted value, and number of lines.
MAX_LINE_LENGTH, MAX_QUOTE_LENGTH, MAX_MESSAGE_LINES = 1000, 200, 20
#: The length of the note about omitted characters; a text that exceeds its limit by no more than this stays whole.
OMISSION_NOTE_LENGTH = 40


class UsageError(Exception):
    """The command line, or a configuration or input file, requests something impossible."""

    exit_code = 2


class ConfigError(ValueError):
    """The configuration cannot be used.

    Attributes:
        problems: one line per problem, which names the key or file; the message shows only the first MAX_MESSAGE_LINES.
    """

    exit_code = 2

    def __init__(self, problems: Iterable[str]):
        self.problems = tuple(problems)
        super().__init__("\n".join(as_message_lines(self.problems)))

    def __reduce__(self) -> tuple[type, tuple[tuple[str, ...]]]:
        return type(self), (self.problems,)


class SetupError(Exception):
    """MPI, JAX or a device is missing or does not work."""

    exit_code = 3


class NumericalError(Exception):
    """The solution blew up, derivatives are wrong, or a cost did not decrease. Raised on all processes together."""

    exit_code = 4


class FilesError(Exception):
    """A file or folder cannot be read or written."""

    exit_code = 5


class WriteError(FilesError):
    """A file cannot be written; the run can be continued from its last restart file."""


class AnswerError(Exception):
    """A verification test failed (`swmodel verify`)."""

    exit_code = 6


@contextlib.contextmanager
def translate_os_errors(path: object, operation: str) -> Iterator[None]:
    """A context that turns an OSError into a FilesError; `operation` is "read" or "written", for the message."""
    try:
        yield
    except OSError as error:
        if operation == "written":
            raise WriteError(f"{path} cannot be written: {write_failure_reason(error, path)}") from error
        raise FilesError(f"{path} cannot be {operation}: {error.strerror or error}") from error


def write_failure_reason(error: OSError | RuntimeError, path: object) -> str:
    """The reason why a file cannot be written, with the free space if the disk or quota may be full.

    HDF5 may raise a RuntimeError, or an OSError without a number, for any reason.
    """
    error_number = getattr(error, "errno", None) or 0
    message = os.strerror(error_number) if error_number > 0 else str(error)
    if error_number > 0 and error_number not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return message
    disk = os.statvfs(next(folder for folder in Path(str(path)).absolute().parents if folder.is_dir()))
    no_inodes = disk.f_files > 0 and disk.f_favail == 0
    return (
        f"{message}; {disk.f_bavail * disk.f_frsize} bytes free{', but no inodes for more files' if no_inodes else ''}"
    )


class Stopped(Exception):
    """The command ended early on request. Raised on all processes together.

    A run has written a restart file, and the message names the command that continues it
    (`parallel.stop.stopped_error`). Commands that cannot be continued say so.
    """

    exit_code = EXIT_STOPPED


def exit_code(error: BaseException) -> int:
    """The exit code for an exception: its attribute `exit_code` if it has one.

    Otherwise: 3 for a missing package or too little memory, 5 for OSError, 75 for an interrupt, 70 for anything else.
    """
    if isinstance(code := getattr(error, "exit_code", None), int):
        return code
    if isinstance(error, KeyboardInterrupt):
        return EXIT_STOPPED
    if isinstance(error, OSError):
        return FilesError.exit_code
    if is_out_of_memory(error):
        return SetupError.exit_code
    if isinstance(error, ModuleNotFoundError) and not (error.name or "").startswith("swmodel"):
        return SetupError.exit_code
    return EXIT_INTERNAL


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error of Python, NumPy or XLA means that memory has run out."""
    return isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in str(error)


def as_line(text: str) -> str:
    """The text as one line without control characters; a long text is shortened in the middle."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return shorten(text, MAX_LINE_LENGTH)


def shorten(text: str, max_length: int = MAX_QUOTE_LENGTH) -> str:
    """The text or, if it is too long, its two ends and the number of omitted characters."""
    n_omitted, half = len(text) - max_length, max_length // 2
    return (
        text if n_omitted <= OMISSION_NOTE_LENGTH else f"{text[:half]} [... {n_omitted} characters ...] {text[-half:]}"
    )


def as_message_lines(texts: Sequence[str]) -> list[str]:
    """Each text as one line; of many texts, the first MAX_MESSAGE_LINES and how many more there are."""
    n_omitted = len(texts) - MAX_MESSAGE_LINES
    return [as_line(text) for text in texts[:MAX_MESSAGE_LINES]] + (
        [f"... and {n_omitted} more"] if n_omitted > 0 else []
    )


def add_unknown_name(problems: list[str], context: str, kind: str, name: str, known_names: Iterable[str]) -> None:
    """Add an unknown section or key to the problems, with a suggestion unless there are already many problems."""
    hint = f"; {suggest(name, known_names)}" if len(problems) < MAX_MESSAGE_LINES else ""
    problems.append(f"{context}: no such {kind}{hint}")


def suggest(word: str, known_names: Iterable[str]) -> str:
    """The question 'did you mean "jet"?' if the word is similar to a known name, else the list of known names."""
    known_names = [str(name) for name in known_names]
    closest = difflib.get_close_matches(word, known_names, 1, cutoff=0.6 if len(word) > 2 else 0.5) or [
        name for name in known_names if name.lower() == word.lower()
    ]
    return f'did you mean "{closest[0]}"?' if closest else f"known are {join_names(known_names) or 'none'}"


def join_names(names: Iterable[str]) -> str:
    """The names, separated by commas; all elements of an array appear as one name, such as boundary_tide_level[...]."""
    return ", ".join(dict.fromkeys(re.sub(r"\[.*", "[...]", name) for name in names))


def describe_failure(error: BaseException, path: str, label: str = "") -> str:
    """Location and reason of a failure in a user's Python file, as `FILE:LINE: LABEL: ERROR, in: SOURCE LINE`."""
    if isinstance(error, SyntaxError) and error.filename == path:
        return f"{path}:{error.lineno or 1}: not valid Python: {error.msg}"
    message = ": ".join([*filter(None, [label]), type(error).__name__, *str(error).splitlines()[:1]])
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    if not frames:
        return f"{path}: {message}"
    return f"{path}:{frames[-1].lineno}: {message}" + (f", in: {frames[-1].line}" if frames[-1].line else "")
