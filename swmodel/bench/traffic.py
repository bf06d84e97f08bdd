"""Messages and bytes of a step, counted in the log of mpi4jax, which names each message and its length."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import sys
import tempfile

#: Steps that are counted: a whole number of exchanges, if an executor takes several steps for each.
STEPS = 12
#: A log line of a message sent: "r0 | 4fca0000 | MPI_Sendrecv <- 1 (tag 7, 108 items) / -> 1 (tag 7, 108 items)".
SENT = re.compile(r"MPI_\w+ [^\n]*?-> \d+ \(tag \d+, (\d+) items\)|MPI_\w+ -> \d+[^\n]*?(\d+) items")


def count(advance, itemsize: int) -> dict[str, float] | None:
    """Messages and bytes that this process sends in a step, from a call of `advance` with a number of steps.

    None if this mpi4jax has no log.
    """
    try:
        from mpi4jax._src.xla_bridge import set_logging
    except ImportError:
        return None
    with captured() as text:
        set_logging(True)
        try:
            advance(STEPS)
        finally:
            set_logging(False)
    return parse(text[0], itemsize)


def parse(log: str, itemsize: int) -> dict[str, float]:
    """Messages and bytes of a step in the log of STEPS steps."""
    items = [int(one or other) for one, other in SENT.findall(log)]
    return {"messages": len(items) / STEPS, "bytes": sum(items) * itemsize / STEPS}


@contextlib.contextmanager
def captured():
    """A list that holds, after the context, what this process and its C libraries wrote to standard output."""
    text = []
    flush = ctypes.CDLL(None).fflush
    sys.stdout.flush()
    flush(None)
    kept = os.dup(1)
    with tempfile.TemporaryFile("w+", errors="replace") as file:
        os.dup2(file.fileno(), 1)
        try:
            yield text
        finally:
            flush(None)
            os.dup2(kept, 1)
            os.close(kept)
            file.seek(0)
            text.append(file.read())
