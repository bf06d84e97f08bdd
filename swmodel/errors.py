"""Errors that users meet, and the exit code of the program for each.

0 done, 2 usage or configuration, 3 environment (MPI, JAX, device), 4 numerical, 5 files, 6 a known answer is missed,
70 internal, 75 stopped early.
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

INTERNAL = 70
STOPPED = 75

#: Longest line of a message and longest value quoted in it, characters, and most lines.
LONGEST_LINE, LONGEST_QUOTE, MOST_LINES = 1000, 200, 20
#: Longest note about omitted characters.
LONGEST_GAP = 40


class UsageError(Exception):
    """The command line or the configuration requests something impossible."""

    exit_code = 2


class ConfigError(ValueError):
    """The configuration cannot be used.

    Attributes:
        problems: one line for each problem, with its place and units; the message has the first ones.
    """

    exit_code = 2

    def __init__(self, problems: Iterable[str]):
        self.problems = tuple(problems)
        super().__init__("\n".join(as_lines(self.problems)))

    def __reduce__(self) -> tuple[type, tuple[tuple[str, ...]]]:
        """The form for messages to other processes."""
        return type(self), (self.problems,)


class SetupError(Exception):
    """MPI, JAX or a device is missing or does not work."""

    exit_code = 3


class NumericalError(Exception):
    """The solution blew up. Raised on all processes together."""

    exit_code = 4


class FilesError(Exception):
    """A file or folder cannot be read or written."""

    exit_code = 5


class WriteError(FilesError):
    """A file cannot be written: a run may continue from its last restart file."""


class AnswerError(Exception):
    """A known answer is missed (`swmodel verify`)."""

    exit_code = 6


@contextlib.contextmanager
def file_errors(path: object, use: str) -> Iterator[None]:
    """A context in which an OSError becomes a FilesError: the path cannot be `use`, "read" or "written"."""
    try:
        yield
    except OSError as error:
        if use == "written":
            raise WriteError(f"{path} cannot be written: {reason_of(error, path)}") from error
        raise FilesError(f"{path} cannot be {use}: {error.strerror or error}") from error


def reason_of(error: OSError | RuntimeError, path: object) -> str:
    """Why a file cannot be written; where a disk or quota is full, what is left on the disk.

    HDF5 may raise a RuntimeError, or an OSError without a number, for any reason.
    """
    number = getattr(error, "errno", None) or 0
    words = os.strerror(number) if number > 0 else str(error)
    if number > 0 and number not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return words
    disk = os.statvfs(next(folder for folder in Path(str(path)).absolute().parents if folder.is_dir()))
    no_inodes = disk.f_files > 0 and disk.f_favail == 0
    return f"{words}; {disk.f_bavail * disk.f_frsize} bytes free{', but no inodes for more files' if no_inodes else ''}"


class Stopped(Exception):
    """The run ended early on request and has written a restart. Raised on all processes together.

    The message has the reason, the time, and the command that continues (`stop.stopped`).
    """

    exit_code = STOPPED


def exit_code(error: BaseException) -> int:
    """The exit code for an exception.

    Its attribute `exit_code` if it has one; 3 for a missing package and too little memory, 5 for OSError, 75 for an
    interrupt, otherwise 70.
    """
    if isinstance(code := getattr(error, "exit_code", None), int):
        return code
    if isinstance(error, KeyboardInterrupt):
        return STOPPED
    if isinstance(error, OSError):
        return FilesError.exit_code
    if is_out_of_memory(error):
        return SetupError.exit_code
    if isinstance(error, ModuleNotFoundError) and not (error.name or "").startswith("swmodel"):
        return SetupError.exit_code
    return INTERNAL


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error, of Python, NumPy or XLA, says that memory has run out."""
    return isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in str(error)


def as_line(text: str) -> str:
    """The text as one line without control characters; a long one loses its middle."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return shortened(text, LONGEST_LINE)


def shortened(text: str, longest: int = LONGEST_QUOTE) -> str:
    """The text, or both ends of a longer one with the number of characters between them."""
    left_out, half = len(text) - longest, longest // 2
    return text if left_out <= LONGEST_GAP else f"{text[:half]} [... {left_out} characters ...] {text[-half:]}"


def as_lines(lines: Sequence[str]) -> list[str]:
    """Each text as one line; only the first of many, and the number of others."""
    more = len(lines) - MOST_LINES
    return [as_line(line) for line in lines[:MOST_LINES]] + ([f"... and {more} more"] if more > 0 else [])


def unknown(problems: list[str], place: str, what: str, word: str, known: Iterable[str]) -> None:
    """Add an unknown section or key to the problems, with a suggestion while they are few."""
    hint = f"; {suggest(word, known)}" if len(problems) < MOST_LINES else ""
    problems.append(f"{place}: no such {what}{hint}")


def suggest(word: str, known: Iterable[str]) -> str:
    """'did you mean "jet"?' for a word close to a known one, else the list of known ones."""
    known = [str(name) for name in known]
    close = difflib.get_close_matches(word, known, 1, cutoff=0.6 if len(word) > 2 else 0.5) or [
        name for name in known if name.lower() == word.lower()
    ]
    return f'did you mean "{close[0]}"?' if close else f"known are {listed(known) or 'none'}"


def listed(names: Iterable[str]) -> str:
    """Names with commas; an array stands for its elements, as outside_tide_level[...]."""
    return ", ".join(dict.fromkeys(re.sub(r"\[.*", "[...]", name) for name in names))


def failure(error: BaseException, path: str, what: str = "") -> str:
    """The place and the reason of a failure in a Python file: `file:line: what: the error, in: the line`."""
    if isinstance(error, SyntaxError) and error.filename == path:
        return f"{path}:{error.lineno or 1}: not valid Python: {error.msg}"
    words = ": ".join([*filter(None, [what]), type(error).__name__, *str(error).splitlines()[:1]])
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    if not frames:
        return f"{path}: {words}"
    return f"{path}:{frames[-1].lineno}: {words}" + (f", in: {frames[-1].line}" if frames[-1].line else "")
