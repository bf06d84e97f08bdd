"""The program that `guard` starts: examines files, one after the other, within limits, and prints a line for each."""

from __future__ import annotations

import contextlib
import importlib
import json
import resource
import sys

#: Memory that the program may ask for, bytes; it takes some 100 MB, and reads in blocks.
MEMORY = 4 << 30


def main(jobs: str) -> None:
    """Print what each of `jobs`, JSON as of `guard.Job`, finds, as JSON."""
    restrict(resource.RLIMIT_CORE, 0)
    restrict(resource.RLIMIT_AS, MEMORY)
    for module, path, options, seconds in json.loads(jobs):
        used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
        restrict(resource.RLIMIT_CPU, int(used + seconds) + 1)
        try:
            found = importlib.import_module(module).examine(path, **options)
        except MemoryError:
            found = {"problem": f"cannot be read: it takes more than {MEMORY >> 30} GB of memory"}
        except Exception as error:
            words = " ".join(str(getattr(error, "strerror", None) or error).split())
            found = {"problem": f"cannot be read: {words or type(error).__name__}"}
        print(json.dumps(found), flush=True)


def restrict(what: int, most: int) -> None:
    """Set a limit of this process, where the system can."""
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(what, (most, resource.getrlimit(what)[1]))


if __name__ == "__main__":
    main(sys.argv[1])
