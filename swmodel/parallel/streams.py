"""Standard input, output and error of the program: always there, and never what ends a run.

Whoever reads what a run says may leave (`swmodel run ... | head -1`), the disk of its log may be full, the terminal may
be gone, all three may be closed. What cannot be said then is dropped. Where standard output is the result, as of
`swmodel init`, that is an error instead, unless the reader has left, who has had enough.
"""

from __future__ import annotations

import contextlib
import io
import os
import select
import signal
import sys

from ..errors import FilesError

#: The exit code, as shells say it, of a program whose reader has left: that of an end by SIGPIPE.
UNREAD_CODE = 128 + signal.SIGPIPE


class Unread(FilesError):
    """Whoever read standard output has left."""


class Standard(io.FileIO):
    """Standard output or error.

    Args:
        needed: whether what is written must arrive: then the first failure raises; what follows is dropped.
    """

    def __init__(self, descriptor: int, needed: bool):
        super().__init__(descriptor, "w", closefd=False)
        self.needed = needed

    def write(self, data) -> int:
        """Write bytes; how many were taken.

        Raises:
            Unread: they are needed, and nobody reads them.
            FilesError: they are needed, and cannot be written.
        """
        try:
            while (written := super().write(data)) is None:  # others have made the descriptor one that does not wait
                select.select((), (self,), ())
        except OSError as error:
            needed, self.needed = self.needed, False
            if needed:
                kind = Unread if isinstance(error, BrokenPipeError) else FilesError
                raise kind(f"standard output cannot be written: {error.strerror}") from error
            return memoryview(data).nbytes
        return written


def prepare():
    """Make this process's streams Standard ones, of any text, on descriptors that are open. To call first of all.

    A file that is opened while one of the three is closed would get its number, and with it what the program says.
    """
    for descriptor in range(3):
        with contextlib.suppress(OSError):
            os.fstat(descriptor)
            continue
        # Of standard output nothing can then be written: where it is the result, that is an error.
        nowhere = os.open(os.devnull, os.O_RDONLY if descriptor == 1 else os.O_RDWR)  # the lowest that is free: this
        os.set_inheritable(nowhere, True)
    sys.stdout = text(1, True, sys.stdout)
    sys.stderr = text(2, False, sys.stderr)


def text(descriptor: int, needed: bool, like) -> io.TextIOWrapper:
    """A Standard stream of text, encoded and buffered as the stream `like`; what the encoding lacks is replaced."""
    return io.TextIOWrapper(
        io.BufferedWriter(Standard(descriptor, needed)),
        encoding="utf-8" if like is None else like.encoding,
        errors="backslashreplace" if descriptor == 2 else "replace",
        line_buffering=like is None or like.line_buffering or like.write_through,
    )


def outlive():
    """From now on what cannot be written on standard output is dropped: it only tells how the work goes."""
    if standard := raw(sys.stdout):
        standard.needed = False


def copy(stream, descriptor: int):
    """A stream like standard output `stream` that writes to another descriptor, line by line."""
    if standard := raw(stream):
        return text(descriptor, standard.needed, stream)
    return os.fdopen(descriptor, "w", buffering=1)


def raw(stream) -> Standard | None:
    """The Standard stream below a text stream; None if another one is there."""
    found = getattr(getattr(stream, "buffer", None), "raw", None)
    return found if isinstance(found, Standard) else None
