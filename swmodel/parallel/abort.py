"""End all processes of a run from one of them."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import NoReturn

from . import environment, spawn

#: Wait before MPI ends the ranks, s, because mpiexec drops the output that it has not read by then.
OUTPUT_WAIT_SECONDS = 0.5


def abort(code: int) -> NoReturn:
    """End all ranks, as far as their launcher can, and this process with the exit code `code`."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    if environment.RANK_VARIABLE in os.environ:
        spawn.kill_other_ranks()
    elif "mpi4py.MPI" in sys.modules:
        time.sleep(OUTPUT_WAIT_SECONDS)
        sys.modules["mpi4py.MPI"].COMM_WORLD.Abort(code)
    else:
        abort_mpich(code)
    os._exit(code)


def abort_mpich(code: int):
    """Ask MPICH's mpiexec to end all ranks, which works without MPI_Init.

    If this rank ended alone before MPI_Init, the others would wait for it there, and mpiexec would wait for the others.
    """
    with contextlib.suppress(KeyError, OSError):
        os.write(int(os.environ["PMI_FD"]), f"cmd=abort exitcode={code}\n".encode())
