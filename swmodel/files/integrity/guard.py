"""Files examined by another process, as HDF5 may crash, hang or use up the memory on a damaged file."""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
from pathlib import Path
from subprocess import DEVNULL, run
from typing import NamedTuple

from ...errors import FilesError
from ..journal import journal_of, recover

#: Processor time that examining a file may take, s, apart from the time for reading values (`program`).
SECONDS = 10.0

#: Signals by which the program ends itself if it takes too long, or is ended by the system.
LATE = (-signal.SIGXCPU, -signal.SIGALRM, -signal.SIGKILL)

#: Signals meant for this process: if the program gets one before it ignores them, it is started again.
OURS = (-signal.SIGINT, -signal.SIGTERM, -signal.SIGHUP)

#: How many times a file is read that is being written.
ATTEMPTS = 3

#: How many damaged places are named.
NAMED = 3

ROOT = Path(__file__).parents[3]
PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]); from swmodel.files.integrity.program import main; main(sys.argv[2])"
)


#: How the program's line begins when it sets itself a time limit, s.
LIMIT = "limit"

#: The damaged part, if names and attributes or their checksum have changed.
HEADER = ["header", None]

#: What differs in a file that another program has rewritten, apart from the header: xarray rounds times.
WRITTEN_ANEW = ("header", "time", "time_bounds")

#: The module that examines a file of records.
EXAMINE = "swmodel.files.integrity.examine"


class Job(NamedTuple):
    """A file to examine, by `examine(path, **options)` of a module."""

    path: Path
    module: str = EXAMINE
    options: dict = {}  # noqa: RUF012  nobody changes it


def facts(jobs: list[Job]) -> list[dict]:
    """What one process finds in each file; with "problem", why the file cannot be used."""
    found = [why_no_file(job.path) for job in jobs]
    here = [place for place, problem in enumerate(found) if problem is None]
    found = [{"problem": problem} for problem in found]
    for _ in range(ATTEMPTS):
        for place in here:
            recover(jobs[place].path)
        for place, one in zip(here, examined([jobs[place] for place in here]), strict=True):
            found[place] = one | ({"problem": in_words(one)} if one.get("damaged") else {})
        here = [place for place in here if "problem" in found[place] and journal_of(jobs[place].path).exists()]
        if not here:
            break
    return found


def why_no_file(path) -> str | None:
    """Why there is no file to read at a path; None if there is one."""
    path = Path(path)
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return "cannot be read: it is a link to nothing" if path.is_symlink() else "there is no such file"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if stat.S_ISREG(mode):
        return None if os.access(path, os.R_OK) else "cannot be read: no permission"
    return f"cannot be read: it is {'a folder' if stat.S_ISDIR(mode) else 'no file'}"


def examined(jobs: list[Job]) -> list[dict]:
    """What the program finds in each file; if it ends at a file, another process goes on with the next.

    It has a session of its own, as signals to the processes of a terminal or a job say nothing about a file.
    """
    if not jobs:
        return []
    listed = json.dumps([(job.module, str(job.path), job.options, SECONDS) for job in jobs])
    line = [sys.executable, "-P", "-c", PROGRAM, str(ROOT), listed]
    environ = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = run(line, capture_output=True, text=True, stdin=DEVNULL, env=environ, start_new_session=True)
    said = [json.loads(each) for each in done.stdout.splitlines(keepends=True) if each.endswith("\n")]
    limits, found = [one[LIMIT] for one in said if LIMIT in one], [one for one in said if LIMIT not in one]
    if len(found) == len(jobs):
        return found
    if done.returncode in OURS:
        return [*found, *examined(jobs[len(found) :])]
    if done.returncode in LATE:
        problem = f"cannot be read within {limits[-1] if limits else SECONDS:.0f} s"
    else:
        problem = f"cannot be read: HDF5 crashed on it (exit code {done.returncode})"
    return [*found, {"problem": problem}, *examined(jobs[len(found) + 1 :])]


def warning_for(path, found: dict) -> str | None:
    """What the user must know of a file of which the intact values are read; None: nothing.

    FilesError: there is a "problem" other than changed names and attributes.
    """
    if "problem" not in found:
        return None
    places = found.get("damaged", ())
    if HEADER in places and all(name in WRITTEN_ANEW for name, _ in places):
        return f"{path}: {found['problem']}: names, units and times may not be those that the model wrote"
    raise FilesError(f"{path}: {found['problem']}")


def in_words(found: dict) -> str:
    """The damaged parts, in words."""
    places = found["damaged"]
    named = [damaged_part(name, record, found.get("steps", ())) for name, record in places[:NAMED]]
    more = [f"and {len(places) - NAMED} more"] if len(places) > NAMED else []
    return "damaged: " + ", ".join(named + more)


def damaged_part(name: str, record: int | None, steps=()) -> str:
    """A damaged part, in words."""
    where = name if name == "header" else f"variable {name}"
    if record is None:
        return where
    return f"{where} in record {record}" + (f" (step {steps[record]})" if record < len(steps) else "")
