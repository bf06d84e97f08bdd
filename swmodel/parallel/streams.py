"""Standard output and error of the program, which never end a run.

The reader of a run's output may close it (`swmodel run ... | head -1`), the disk of its log may be full, streams may be
closed. The program drops output that cannot be written. Where standard output is the result, as of `swmodel init`, this
is an error, unless standard output was closed.
"""

from __future__ import annotations

import io
import os
import select
import signal
import sys

from ..errors import FilesError

#: The exit code of a program whose standard output was closed: that of SIGPIPE in shells.
UNREAD_CODE = 128 + signal.SIGPIPE


class Unread(FilesError):
    """Standard output was closed."""


class Standard(io.FileIO):
    """Standard output or error, which drops output that cannot be written, after an error if it is `needed`."""

    def __init__(self, descriptor: int, needed: bool):
        super().__init__(descriptor, "w", closefd=False)
        self.needed = needed

    def write(self, data) -> int:
        """Write bytes; returns their number."""
        try:
            while (written := super().write(data)) is None:  # another process has made the descriptor non-blocking
                select.select((), (self,), ())
            return written
        except OSError as error:
            needed, self.needed = self.needed, False
            if needed:
                kind = Unread if isinstance(error, BrokenPipeError) else FilesError
                raise kind(f"standard output cannot be written: {error.strerror}") from error
            return memoryview(data).nbytes


def prepare():
    """Make this process's streams Standard ones, for any text, on open descriptors, before anything else.

    A file that is opened while one of the three is closed would get its number and the program's output.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    sys.stdout = text_stream(Standard(1, needed=True), sys.stdout)
    sys.stderr = text_stream(Standard(2, needed=False), sys.stderr)


def text_stream(standard: Standard, like) -> io.TextIOWrapper:
    """A stream of text, encoded and buffered as `like`; characters that the encoding lacks are replaced."""
    return io.TextIOWrapper(
        io.BufferedWriter(standard),
        encoding="utf-8" if like is None else like.encoding,
        errors="replace",
        line_buffering=like is None or like.line_buffering or like.write_through,
    )


def ignore_broken_stdout():
    """Drop output that cannot be written on standard output, which only shows progress."""
    standard = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    if isinstance(standard, Standard):
        standard.needed = False


def move_stdout():
    """Let only Python write on standard output; output of C libraries is dropped."""
    sys.stdout.flush()
    sys.stdout = text_stream(Standard(os.dup(1), needed=False), sys.stdout)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
