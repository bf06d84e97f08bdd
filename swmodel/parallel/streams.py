"""Standard output and error of the program; a failure to write to them never ends a run.

The reader of a run's output may close it (`swmodel run ... | head -1`), the disk with its log may be full, or streams
may be closed from the start. The program drops output that cannot be written. But if standard output carries the
result of a command, such as `swmodel init`, a failed write is an error.
"""

from __future__ import annotations

import io
import os
import select
import signal
import sys

from ..errors import FilesError

#: The exit code of a program whose standard output was closed: that of SIGPIPE in shells.
EXIT_STDOUT_CLOSED = 128 + signal.SIGPIPE


class StdoutClosedError(FilesError):
    """The reader of standard output has closed it."""


class StandardStream(io.FileIO):
    """Standard output or error, which drops what cannot be written; if `is_required`, the first failure is an error."""

    def __init__(self, descriptor: int, is_required: bool):
        super().__init__(descriptor, "w", closefd=False)
        self.is_required = is_required

    def write(self, data) -> int:
        try:
            while (written := super().write(data)) is None:  # another process has made the descriptor non-blocking
                select.select((), (self,), ())
            return written
        except OSError as error:
            was_required, self.is_required = self.is_required, False
            if was_required:
                kind = StdoutClosedError if isinstance(error, BrokenPipeError) else FilesError
                raise kind(f"cannot write to standard output: {error.strerror}") from error
            return memoryview(data).nbytes


def replace_standard_streams():
    """Make this process's streams StandardStreams that accept any text; call this before anything else.

    Closed descriptors are opened first: otherwise the next file would take such a number and get the program's output.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    sys.stdout = text_stream(StandardStream(1, is_required=True), sys.stdout)
    sys.stderr = text_stream(StandardStream(2, is_required=False), sys.stderr)


def text_stream(standard: StandardStream, original) -> io.TextIOWrapper:
    """A text stream with the encoding and buffering of `original`; characters that the encoding lacks are replaced."""
    return io.TextIOWrapper(
        io.BufferedWriter(standard),
        encoding="utf-8" if original is None else original.encoding,
        errors="replace",
        line_buffering=original is None or original.line_buffering or original.write_through,
    )


def ignore_broken_stdout():
    """Let standard output drop what cannot be written, because it only shows progress."""
    standard = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    if isinstance(standard, StandardStream):
        standard.is_required = False


def silence_stdout_of_libraries():
    """Let only Python write to standard output; output of C libraries is dropped."""
    sys.stdout.flush()
    sys.stdout = text_stream(StandardStream(os.dup(1), is_required=False), sys.stdout)
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 1)
    os.close(devnull)
