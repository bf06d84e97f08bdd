"""Ending all processes of a run from one of them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import sys
import termios
import time

from . import environment, spawn

#: Longest time to wait until mpiexec has read the last output, s.
LONGEST_WAIT = 2.0


def abort(code: int):
    """End all ranks, as far as their launcher can be told to, and this one with `code`."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
            wait_until_read(stream.fileno())
    if environment.RANK in os.environ:
        spawn.fail()
    elif "mpi4py.MPI" in sys.modules:
        sys.modules["mpi4py.MPI"].COMM_WORLD.Abort(code)
    else:
        abort_mpich(code)
    os._exit(code)


def wait_until_read(file: int):
    """Wait until a pipe is empty, at most LONGEST_WAIT: mpiexec drops what it has not read when it ends the ranks."""
    end, left = time.monotonic() + LONGEST_WAIT, bytearray(4)
    while stat.S_ISFIFO(os.fstat(file).st_mode) and time.monotonic() < end:
        fcntl.ioctl(file, termios.FIONREAD, left)
        if not any(left):
            return
        time.sleep(0.01)


def abort_mpich(code: int):
    """Have MPICH's mpiexec end all ranks: before MPI_Init it would wait for the others; other launchers do not."""
    if "PMI_FD" in os.environ:
        with contextlib.suppress(OSError):
            os.write(int(os.environ["PMI_FD"]), f"cmd=abort exitcode={code}\n".encode())
