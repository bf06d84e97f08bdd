"""Standard input, output and error of the program: always open, and never the cause of a run's end.

The reader of a run's output may leave (`swmodel run ... | head -1`), the disk of its log may be full, all three streams
may be closed. Output that cannot be written then is dropped. Where standard output is the result, as of `swmodel init`,
this is an error instead, unless the reader has left.
"""

from __future__ import annotations

import io
import os
import select
import signal
import sys

from ..errors import FilesError

#: The exit code of a program whose reader has left: as shells report an end by SIGPIPE.
UNREAD_CODE = 128 + signal.SIGPIPE


class Unread(FilesError):
    """The reader of standard output has left."""


class Standard(io.FileIO):
    """Standard output or error.

    Args:
        needed: whether what is written must arrive: then the first failure raises Unread if the reader has left, or
            else FilesError; later output is dropped.
    """

    def __init__(self, descriptor: int, needed: bool):
        super().__init__(descriptor, "w", closefd=False)
        self.needed = needed

    def write(self, data) -> int:
        """Write bytes; returns how many."""
        try:
            while (written := super().write(data)) is None:  # another process has made the descriptor non-blocking
                select.select((), (self,), ())
        except OSError as error:
            needed, self.needed = self.needed, False
            if needed:
                kind = Unread if isinstance(error, BrokenPipeError) else FilesError
                raise kind(f"standard output cannot be written: {error.strerror}") from error
            return memoryview(data).nbytes
        return written


def prepare():
    """Make this process's streams Standard ones, for any text, on open descriptors; call it first of all.

    A file that is opened while one of the three is closed would get its number, and the program's output.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest free number is this. What is written on standard output then fails, as it has to.
            opened = os.open(os.devnull, os.O_RDONLY if descriptor == 1 else os.O_RDWR)
            os.set_inheritable(opened, True)
    sys.stdout = text_stream(1, True, sys.stdout)
    sys.stderr = text_stream(2, False, sys.stderr)


def text_stream(descriptor: int, needed: bool, like) -> io.TextIOWrapper:
    """A Standard stream of text, encoded and buffered as `like`; characters that the encoding lacks are replaced."""
    return io.TextIOWrapper(
        io.BufferedWriter(Standard(descriptor, needed)),
        encoding="utf-8" if like is None else like.encoding,
        errors="backslashreplace" if descriptor == 2 else "replace",
        line_buffering=like is None or like.line_buffering or like.write_through,
    )


def standard_below(stream) -> Standard | None:
    """The Standard stream below a text stream; None if another one is there."""
    found = getattr(getattr(stream, "buffer", None), "raw", None)
    return found if isinstance(found, Standard) else None


def ignore_broken_stdout():
    """From now on drop what cannot be written on standard output: it only shows progress."""
    if standard := standard_below(sys.stdout):
        standard.needed = False


def move_stdout():
    """Have Python alone write on standard output: what C libraries print there is dropped from now on."""
    sys.stdout.flush()
    kept, standard = os.dup(1), standard_below(sys.stdout)
    sys.stdout = text_stream(kept, standard.needed, sys.stdout) if standard else os.fdopen(kept, "w", buffering=1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
