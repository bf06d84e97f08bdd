"""The program that `guard` starts: examines files, one after the other, within limits, and prints a line for each."""

from __future__ import annotations

import contextlib
import importlib
import json
import resource
import signal
import sys
from functools import partial

from ...parallel.spawn import end_with_parent
from .guard import LIMIT

#: Most memory that the program may take, bytes; it takes some 100 MB, and reads in blocks.
MEMORY = 4 << 30

#: Least speed at which values are uncompressed and read, bytes per second of processor time.
SLOWEST_BYTES_PER_SECOND = 2e7

#: Limit of wall-clock time, as a multiple of the processor time: for a slow disk and a busy machine.
WALL = 6.0


def main(jobs: str) -> None:
    """Print what each of `jobs` (JSON, see `guard.Job`) finds, as JSON, and the time limits when they are set.

    Signals to a whole session or job are for the parent, with which this process ends.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    end_with_parent()
    restrict(resource.RLIMIT_CORE, 0)
    restrict(resource.RLIMIT_AS, MEMORY)
    for module, path, options, seconds in json.loads(jobs):
        limit(seconds)
        try:
            found = importlib.import_module(module).examine(path, allow=partial(allow, seconds), **options)
        except MemoryError:
            found = {"problem": f"cannot be read: it takes more than {MEMORY >> 30} GB of memory"}
        except Exception as error:
            words = " ".join(str(getattr(error, "strerror", None) or error).split())
            found = {"problem": f"cannot be read: {words or type(error).__name__}"}
        print(json.dumps(found), flush=True)


def allow(seconds: float, nbytes: int) -> None:
    """From now on allow this process `seconds`, and the time to read `nbytes` of values."""
    limit(seconds + nbytes / SLOWEST_BYTES_PER_SECOND)


def limit(seconds: float) -> None:
    """End this process when it has used so much processor time from now on, or after WALL times as long."""
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    restrict(resource.RLIMIT_CPU, int(used + seconds) + 1)
    signal.setitimer(signal.ITIMER_REAL, WALL * seconds)
    print(json.dumps({LIMIT: seconds}), flush=True)


def restrict(what: int, most: int) -> None:
    """Set a limit of this process, where the system can."""
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(what, (most, resource.getrlimit(what)[1]))


if __name__ == "__main__":
    main(sys.argv[1])
